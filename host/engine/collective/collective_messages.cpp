#include "host/engine/collective/collective_messages.hpp"

namespace actorhost {

std::string ranks_text(const std::vector<uint32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

Error late_error(const std::string& name, const std::vector<uint32_t>& late, const std::string& lines) {
  return {Code::timeout, name + ": " + ranks_text(late) + (late.size() == 1 ? " has" : " have") +
                             " not answered in time" + (lines.empty() ? "" : " (last collective: " + lines + ")")};
}

Blob pack_parcels(const std::vector<std::optional<Parcel>>& parcels) {
  Packer out;
  for (const std::optional<Parcel>& parcel : parcels) {
    out.put(static_cast<uint8_t>(parcel.has_value()));
    if (parcel) out.put(parcel->about).put(parcel->body.view());
  }
  return Blob::copy_of(out.bytes());
}

Result<std::vector<std::optional<Parcel>>> unpack_parcels(std::string_view bytes, size_t count) {
  Unpacker in(bytes);
  std::vector<std::optional<Parcel>> parcels(count);
  for (std::optional<Parcel>& parcel : parcels) {
    if (in.get<uint8_t>() == 0) continue;
    std::string about(in.text());
    parcel = Parcel{std::move(about), Blob::copy_of(in.text())};
  }
  if (!in.done()) return Error{Code::bad_data, "what the ranks have given is not what it claims to be"};
  return parcels;
}

}  // namespace actorhost
