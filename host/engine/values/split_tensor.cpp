#include "host/engine/values/split_tensor.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr char kMark = kPackedRow;  // no value of the codec begins with it
constexpr uint64_t kMostParts = uint64_t{1} << 24;

}  // namespace

bool SplitTensor::is_valid() const noexcept {
  const auto elements = static_cast<uint64_t>(layout.shape.elements());
  return each > 0 && elements > 0 && (elements - 1) / each < kMostParts;
}

uint32_t SplitTensor::parts() const noexcept {
  return static_cast<uint32_t>((static_cast<uint64_t>(layout.shape.elements()) - 1) / each + 1);
}

ElementRange SplitTensor::range(uint32_t part) const noexcept {
  const uint64_t first = part * each;
  return {first, std::min(each, static_cast<uint64_t>(layout.shape.elements()) - first)};
}

LuaValue SplitTensor::as_lua() const { return {Blob::copy_of(kMark + pack(*this)), {}}; }

std::optional<SplitTensor> SplitTensor::of(const LuaValue& value) {
  if (!value.encoded.view().starts_with(kMark)) return std::nullopt;
  Unpacker in(value.encoded.view().substr(1));
  const auto split = unpack_head<SplitTensor>(in);
  return split.ok() ? std::optional(*split) : std::nullopt;
}

std::optional<SplitTensor> SplitTensor::of(const ParamValue& value) {
  const auto* lua = std::get_if<LuaValue>(&value);
  return lua != nullptr ? of(*lua) : std::nullopt;
}

void add_parts(const ParamKey& key, const SplitTensor& split, const ParamTensor* tensor,
               std::vector<ParamEntry>& entries) {
  for (uint32_t i = 0; i < split.parts(); ++i) {
    ParamEntry& entry = entries.emplace_back();
    entry.key = split.part_key(key, i);
    if (tensor == nullptr) continue;
    const ElementRange range = split.range(i);
    const TensorLayout layout{tensor->dtype, Shape({static_cast<int64_t>(range.count)})};
    const size_t size = dtype_size(tensor->dtype);
    entry.value = ParamTensor::whole(layout, tensor->data.slice(range.first * size, range.count * size));
  }
}

}  // namespace actorhost
