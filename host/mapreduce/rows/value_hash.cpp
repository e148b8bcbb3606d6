#include "host/mapreduce/rows/value_hash.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <vector>

#include "host/mapreduce/rows/key.hpp"
#include "host/wire/carried_value.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

namespace {

constexpr unsigned char kTensor = 0x12;
constexpr unsigned char kFirstText = 0x20;
constexpr uint64_t kTableSeed = 0x7461626c65;
constexpr int kDepth = 256;  // of tables in tables; more than the codec writes

uint64_t both(uint64_t a, uint64_t b) noexcept {
  const std::array<uint64_t, 2> pair = {a, b};
  return XXH3_64bits(pair.data(), sizeof pair);
}

uint64_t number_hash(double number) noexcept {
  RowValue value;
  value.tag = static_cast<uint32_t>(RowTag::number);
  value.number = canonical(number);
  return key_hash(value);
}

uint64_t tensor_hash(const Tensor& tensor) {
  return both(row_hash(pack(static_cast<const TensorLayout&>(tensor))), row_hash(tensor.data.view()));
}

class Walk {
 public:
  explicit Walk(std::string_view bytes, std::vector<uint64_t> tensors = {})
      : bytes_(bytes), tensors_(std::move(tensors)) {}

  uint64_t value(int depth = 0);
  bool ok() const noexcept { return ok_ && bytes_.empty(); }

 private:
  std::string_view take_bytes(uint64_t size) {
    if (size > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  template <typename T>
  T take() {
    T number{};
    const std::string_view bytes = take_bytes(sizeof number);
    if (bytes.size() == sizeof number) std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  }
  uint32_t count() {
    const auto first = take<uint8_t>();
    if (first < 0xe0) return first;
    if (first == 0xff) return take<uint32_t>();
    return 0xe0U + ((first & 0x1fU) << 8) + take<uint8_t>();
  }
  uint64_t table(unsigned char tag, int depth);

  std::string_view bytes_;
  std::vector<uint64_t> tensors_;
  bool ok_ = true;
};

uint64_t Walk::value(int depth) {
  if (bytes_.empty() || depth > kDepth) {
    ok_ = false;
    return 0;
  }
  const auto tag = static_cast<unsigned char>(bytes_.front());
  if (tag >= kFirstText) {
    const uint32_t size = count();
    return text_hash(take_bytes(size < kFirstText ? UINT64_MAX : size - kFirstText));
  }
  bytes_.remove_prefix(1);
  if (tag >= 0x08 && tag <= 0x0d) return table(tag, depth + 1);
  switch (tag) {
    case 0x00:
    case 0x01:
    case 0x02: return both(tag, 0);
    case 0x06: return number_hash(take<int32_t>());
    case 0x07: return number_hash(take<double>());
    case kTensor: {
      const auto index = take<double>();
      take<double>();
      const bool is_there = index >= 0 && index < static_cast<double>(tensors_.size());
      return is_there ? tensors_[static_cast<size_t>(index)] : 0;
    }
    default: return both(tag, take<uint64_t>());  // 64-bit integers
  }
}

/// The hash of a table is a sum, so that it does not depend on the order of the entries.
uint64_t Walk::table(unsigned char tag, int depth) {
  const uint32_t items = tag >= 0x0a ? count() : 0;
  const uint32_t pairs = (tag & 1) != 0 ? count() : 0;
  uint64_t sum = kTableSeed;
  for (uint32_t i = tag >= 0x0c ? 1 : 0; i < items && ok_; ++i) {  // an array with or without a slot 0
    const bool hole = !bytes_.empty() && bytes_.front() == 0;
    const uint64_t item = value(depth);
    if (!hole) sum += both(number_hash(i), item);
  }
  for (uint32_t i = 0; i < pairs && ok_; ++i) {
    const uint64_t key = value(depth);
    sum += both(key, value(depth));
  }
  return both(sum, kTableSeed);
}

}  // namespace

uint64_t value_hash(std::string_view encoded) noexcept {
  const auto carried = is_packed_row(encoded) ? unpack_row(encoded) : CarriedValue();
  if (!carried) return row_hash(encoded);
  if (const auto* tensor = std::get_if<Tensor>(&*carried)) return tensor_hash(*tensor);
  std::vector<uint64_t> tensors;
  const auto* lua = std::get_if<LuaValue>(&*carried);
  if (lua != nullptr)
    std::transform(lua->tensors.begin(), lua->tensors.end(), std::back_inserter(tensors), tensor_hash);
  Walk walk(lua != nullptr ? lua->encoded.view() : encoded, std::move(tensors));
  const uint64_t hash = walk.value();
  return walk.ok() ? hash : row_hash(encoded);
}

}  // namespace actorhost
