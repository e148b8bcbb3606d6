#include "host/mapreduce/rows/flat_table.hpp"

#include <cstring>

namespace actorhost {

namespace {

// The tags of the encoding in host/wire/value_check.hpp.
enum Tag : uint8_t {
  kNil = 0x00,
  kFalse = 0x01,
  kTrue = 0x02,
  kInteger = 0x06,
  kDouble = 0x07,
  kEmpty = 0x08,
  kPairs = 0x09,
  kArray = 0x0c,
  kBoth = 0x0d,
  kFirstText = 0x20
};

constexpr int kDepth = 8;
constexpr uint32_t kShortArray = 4;   // longer arrays are lists, whose shape does not depend on their length
constexpr size_t kMostShapes = 1000;  // each has a function in Lua
constexpr uint32_t kLongestKey = 64;

}  // namespace

bool FlatReader::count(uint32_t& value) {
  if (at_ == end_) return false;
  const auto first = static_cast<uint8_t>(*at_++);
  if (first < 0xe0) return value = first, true;
  if (first == 0xff) {
    if (static_cast<size_t>(end_ - at_) < sizeof value) return false;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return true;
  }
  if (at_ == end_) return false;
  value = 0xe0U + ((first & 0x1fU) << 8) + static_cast<uint8_t>(*at_++);
  return true;
}

/// Reads a value that is not a table.
bool FlatReader::plain(RowValue& value, char& kind) {
  if (at_ == end_) return false;
  const auto tag = static_cast<uint8_t>(*at_);
  const auto left = static_cast<size_t>(end_ - at_) - 1;
  if (tag == kDouble) {
    if (left < sizeof(double)) return false;
    value.tag = static_cast<uint32_t>(RowTag::number);
    std::memcpy(&value.number, at_ + 1, sizeof(double));
    at_ += 1 + sizeof(double);
    return kind = 'n', true;
  }
  if (tag == kInteger) {
    int32_t number = 0;
    if (left < sizeof number) return false;
    std::memcpy(&number, at_ + 1, sizeof number);
    value.tag = static_cast<uint32_t>(RowTag::number);
    value.number = number;
    at_ += 1 + sizeof number;
    return kind = 'n', true;
  }
  if (tag >= kFirstText) {
    uint32_t size = 0;
    if (!count(size) || size < kFirstText || size - kFirstText > static_cast<size_t>(end_ - at_)) return false;
    value.tag = static_cast<uint32_t>(RowTag::text);
    value.bytes = at_;
    value.size = size - kFirstText;
    at_ += value.size;
    return kind = 's', true;
  }
  ++at_;
  value.number = tag == kTrue ? 1 : 0;
  switch (tag) {
    case kNil: value.tag = static_cast<uint32_t>(RowTag::nil); return kind = 'z', true;
    case kFalse: value.tag = static_cast<uint32_t>(RowTag::no); return kind = 'f', true;
    case kTrue: value.tag = static_cast<uint32_t>(RowTag::yes); return kind = 't', true;
    default: return false;
  }
}

bool FlatReader::add(const RowValue& value) {
  if (out_->count == kFlatValues) return false;
  out_->values[out_->count++] = value;
  return true;
}

bool FlatReader::item(int depth) {
  if (at_ == end_) return false;
  const auto tag = static_cast<uint8_t>(*at_);
  if (tag >= kEmpty && tag <= kBoth) {
    ++at_;
    return table(tag, depth + 1);
  }
  RowValue value;
  char kind = 0;
  if (!plain(value, kind)) return false;
  text_ += kind;
  return (kind != 'n' && kind != 's') || add(value);
}

/// Reads a list. The items are in list_items_, which may still move: until `read` ends the value has their place there.
bool FlatReader::list(uint32_t count) {
  RowValue value;
  value.number = static_cast<double>(list_items_.size());
  value.size = count;
  value.tag = static_cast<uint32_t>(RowTag::value);
  for (uint32_t i = 0; i < count; ++i) {
    RowValue one;
    char kind = 0;
    if (!plain(one, kind) || kind == 'z') return false;
    list_items_.push_back(one);
  }
  text_ += 'l';
  return add(value);
}

bool FlatReader::items(uint32_t count, int depth) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!item(depth)) return false;
  }
  return true;
}

bool FlatReader::table(uint8_t tag, int depth) {
  if (depth > kDepth) return false;
  uint32_t array = 0;
  uint32_t pairs = 0;
  if (tag == kArray || tag == kBoth) {
    if (!count(array) || array == 0) return false;
    --array;
  }
  if ((tag == kPairs || tag == kBoth) && !count(pairs)) return false;
  if (tag != kEmpty && tag != kPairs && tag != kArray && tag != kBoth) return false;
  if (tag == kArray && array > kShortArray) return list(array);
  text_ += '{';
  if (!items(array, depth)) return false;
  if (pairs > 0) text_ += '|';
  for (uint32_t i = 0; i < pairs; ++i) {
    uint32_t size = 0;
    if (!count(size) || size < kFirstText || size - kFirstText > static_cast<size_t>(end_ - at_)) return false;
    size -= kFirstText;
    if (size > kLongestKey) return false;
    text_ += std::to_string(size);
    text_ += ':';
    text_.append(at_, size);
    at_ += size;
    if (!item(depth)) return false;
  }
  text_ += '}';
  return true;
}

uint32_t FlatReader::read(std::string_view bytes, FlatTable& out) {
  at_ = bytes.data();
  end_ = at_ + bytes.size();
  out_ = &out;
  out.shape = out.count = 0;
  text_.clear();
  list_items_.clear();
  if (bytes.empty()) return 0;
  const auto tag = static_cast<uint8_t>(*at_);
  if (tag < kEmpty || tag > kBoth || !item(0) || at_ != end_) return 0;
  for (uint32_t i = 0; i < out.count && !list_items_.empty(); ++i) {
    RowValue& value = out.values[i];
    if (value.kind() != RowTag::value) continue;
    value.bytes = reinterpret_cast<const char*>(list_items_.data() + static_cast<size_t>(value.number));
  }
  if (last_ != 0 && shapes_[last_ - 1] == text_) return out.shape = last_;
  const auto [at, fresh] = numbers_.try_emplace(text_, 0);
  if (fresh) {
    if (shapes_.size() == kMostShapes) {
      numbers_.erase(at);
      return 0;
    }
    shapes_.push_back(at->first);
    at->second = static_cast<uint32_t>(shapes_.size());
  }
  return out.shape = last_ = at->second;
}

}  // namespace actorhost
