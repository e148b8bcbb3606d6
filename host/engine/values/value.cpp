#include "host/engine/values/value.hpp"

#include <bit>
#include <cmath>
#include <cstdio>

#include <xxhash.h>

namespace actorhost {

namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;

// Maps doubles to unsigned numbers in the same order: positive numbers above all negative numbers.
uint64_t ordered_bits(double number) noexcept {
  const auto bits = std::bit_cast<uint64_t>(number == 0 ? 0.0 : number);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

double from_ordered_bits(uint64_t bits) noexcept {
  return std::bit_cast<double>((bits & kSign) != 0 ? bits & ~kSign : ~bits);
}

}  // namespace

Result<ParamKey> ParamKey::of(double number) {
  if (std::isnan(number)) return Error{Code::bad_argument, "a key must not be NaN"};
  const uint64_t bits = ordered_bits(number);
  ParamKey key;
  key.bytes_.resize(9);
  key.bytes_[0] = kNumber;
  for (size_t i = 0; i < 8; ++i) key.bytes_[1 + i] = static_cast<char>(bits >> (56 - 8 * i));
  return key;
}

Result<ParamKey> ParamKey::of(std::string_view text) {
  if (text.size() > kMaxText) {
    return Error{Code::bad_argument,
                 "a key of " + std::to_string(text.size()) + " bytes, the limit is " + std::to_string(kMaxText)};
  }
  ParamKey key;
  key.bytes_.reserve(text.size() + 1);
  key.bytes_.push_back(kText);
  key.bytes_.append(text);
  return key;
}

ParamKey ParamKey::of_part(const ParamKey& key, uint32_t writer, uint64_t number, uint32_t index) {
  ParamKey part;
  part.bytes_.push_back(kPart);
  const auto put = [&part](uint64_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) part.bytes_.push_back(static_cast<char>(value >> (8 * i)));
  };
  put(writer, 4);
  put(number, 8);
  put(index, 4);
  part.bytes_ += key.bytes_;
  return part;
}

ParamKey ParamKey::whole() const {
  ParamKey key;
  key.bytes_ = bytes_.substr(kPartHead);
  return key;
}

uint32_t ParamKey::part() const noexcept {
  uint32_t index = 0;
  for (size_t i = kPartHead - 4; i < kPartHead; ++i) index = index << 8 | static_cast<uint8_t>(bytes_[i]);
  return index;
}

Result<ParamKey> ParamKey::from_canonical(std::string_view bytes) {
  ParamKey key;
  key.bytes_ = bytes;
  if (key.is_part()) {
    const auto whole = from_canonical(bytes.substr(std::min(kPartHead, bytes.size())));
    if (whole.ok() && !whole->is_part()) return key;
    return Error{Code::bad_data, "malformed key of a part"};
  }
  const bool number = bytes.size() == 9 && bytes[0] == kNumber;
  const bool text = !bytes.empty() && bytes[0] == kText && bytes.size() <= kMaxText + 1;
  // Refuses NaN and -0: a key with two encodings would have two entries.
  if (text || (number && of(key.number()).ok() && of(key.number()).value().bytes_ == key.bytes_)) return key;
  return Error{Code::bad_data, "malformed key"};
}

double ParamKey::number() const noexcept {
  uint64_t bits = 0;
  for (size_t i = 0; i < 8; ++i) bits = bits << 8 | static_cast<uint8_t>(bytes_[1 + i]);
  return from_ordered_bits(bits);
}

std::string ParamKey::print() const {
  if (bytes_.empty()) return "(no key)";
  if (is_part()) return whole().print() + ", part " + std::to_string(part() + 1);
  if (is_number()) {
    char out[32];
    std::snprintf(out, sizeof out, "%.17g", number());
    return out;
  }
  constexpr size_t kShown = 60;
  std::string out = "\"";
  for (char c : text().substr(0, kShown)) out += std::isprint(static_cast<unsigned char>(c)) != 0 ? c : '?';
  return out + (text().size() > kShown ? "...\"" : "\"");
}

uint64_t ParamKey::hash() const noexcept { return XXH3_64bits(bytes_.data(), bytes_.size()); }

ParamTensor ParamTensor::whole(const TensorLayout& layout, Blob data) {
  return {layout, 0, static_cast<uint64_t>(layout.shape.elements()), std::move(data)};
}

size_t payload_bytes(const ParamValue& value) noexcept {
  if (const auto* tensor = std::get_if<ParamTensor>(&value)) return tensor->bytes();
  const auto* lua = std::get_if<LuaValue>(&value);
  if (lua == nullptr) return 0;
  size_t bytes = lua->encoded.size();
  for (const Tensor& t : lua->tensors) bytes += t.bytes();
  return bytes;
}

uint32_t owner_of(const ParamKey& key, uint32_t shards) noexcept {
  // The high bits of the product spread keys evenly for every number of shards, without a division.
  return static_cast<uint32_t>((static_cast<unsigned __int128>(key.hash()) * shards) >> 64);
}

ElementRange split_range(uint64_t elements, uint32_t shard, uint32_t shards) noexcept {
  constexpr uint64_t kAlign = 16;
  const uint64_t each = ((elements + shards - 1) / shards + kAlign - 1) / kAlign * kAlign;
  const uint64_t first = std::min(elements, each * shard);
  return {first, std::min(elements - first, each)};
}

ParamTensor cut(const ParamTensor& part, const ElementRange& range) {
  ParamTensor out = part;
  out.first = range.first;
  out.count = range.count;
  if (!part.data.empty()) out.data = part.data.slice((range.first - part.first) * dtype_size(part.dtype), out.bytes());
  return out;
}

}  // namespace actorhost
