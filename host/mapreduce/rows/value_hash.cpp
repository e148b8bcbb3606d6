#include "host/mapreduce/rows/value_hash.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "host/mapreduce/rows/key.hpp"
#include "host/wire/carried_value.hpp"
#include "host/wire/message.hpp"
#include "host/wire/value_bytes.hpp"

namespace actorhost {

namespace {

constexpr uint64_t kTableSeed = 0x7461626c65;
constexpr int kHashedDepth = 256;  // of tables in tables; more than the codec writes

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
      : in_(bytes), tensors_(std::move(tensors)) {}

  uint64_t value(int depth = 0);
  bool ok() const noexcept { return ok_ && in_.left() == 0; }

 private:
  /// Reads the number after the next tag.
  template <typename T>
  T take() {
    T number{};
    if (!in_.take_tagged(number)) ok_ = false;
    return number;
  }
  uint64_t table(int depth);

  ValueReader in_;
  std::vector<uint64_t> tensors_;
  bool ok_ = true;
};

uint64_t Walk::value(int depth) {
  using namespace value_tag;
  if (!ok_ || depth > kHashedDepth) {
    ok_ = false;
    return 0;
  }
  const uint32_t tag = in_.tag();
  if (is_table(tag)) return table(depth + 1);
  switch (tag) {
    case kNil:
    case kFalse:
    case kTrue: in_.skip(1); return both(tag, 0);
    case kInteger: return number_hash(take<int32_t>());
    case kDouble: return number_hash(take<double>());
    case kSigned:
    case kUnsigned: return both(tag, take<uint64_t>());
    case kTensor: {
      const double index = take<std::array<double, 2>>()[0];
      const bool exists = index >= 0 && index < static_cast<double>(tensors_.size());
      return exists ? tensors_[static_cast<size_t>(index)] : 0;
    }
    default: {
      std::string_view text;
      ok_ = in_.text(text);
      return text_hash(text);
    }
  }
}

/// The hash of a table is a sum, so it does not depend on the order of the entries.
uint64_t Walk::table(int depth) {
  TableHead head;
  ok_ = in_.table(head);
  uint64_t sum = kTableSeed;
  for (uint32_t i = 0; i < head.items && ok_; ++i) {
    const bool hole = in_.tag() == value_tag::kNil;
    const uint64_t item = value(depth);
    if (!hole) sum += both(number_hash(head.first + i), item);
  }
  for (uint32_t i = 0; i < head.pairs && ok_; ++i) {
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
