#include "host/engine/collective/collective_messages.hpp"

namespace actorhost {

Blob own_body(Blob body) { return body.unique() ? std::move(body) : Blob::copy_of(body.data(), body.size()); }

std::string ranks_text(const std::vector<uint32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

Error late_error(const std::string& name, const std::vector<uint32_t>& late, const std::string& lines) {
  return {Code::timeout, name + ": " + ranks_text(late) + (late.size() == 1 ? " has" : " have") +
                             " not answered in time" + (lines.empty() ? "" : " (last collective: " + lines + ")")};
}

Blob pack_parcels(const std::vector<std::optional<PackedValue>>& parcels) { return Blob::copy_of(pack(parcels)); }

Result<std::vector<std::optional<PackedValue>>> unpack_parcels(std::string_view bytes, size_t count) {
  auto parcels = unpack<std::vector<std::optional<PackedValue>>>(bytes);
  if (parcels && parcels->size() == count) return parcels;
  return Error{Code::bad_data, "the parcels of the ranks are malformed"};
}

}  // namespace actorhost
