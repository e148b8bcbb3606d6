#include "host/mapreduce/rows/flat_table.hpp"

#include "host/mapreduce/rows/plain_value.hpp"

namespace actorhost {

namespace {

constexpr int kFlatDepth = 8;
constexpr uint32_t kShortArray = 4;   // longer arrays are lists, whose shape does not depend on their length
constexpr size_t kMostShapes = 1000;  // each shape has a function in Lua
constexpr uint32_t kLongestKey = 64;

/// The letter of a plain value in a shape, in the order of RowTag.
char kind_of(const RowValue& value) { return "zbbns"[value.tag]; }

}  // namespace

bool FlatReader::add(const RowValue& value) {
  if (out_->count == kFlatValues) return false;
  out_->values[out_->count++] = value;
  return true;
}

bool FlatReader::item(int depth) {
  if (value_tag::is_table(in_.tag())) return table(depth + 1);
  RowValue value;
  if (!read_plain(in_, value)) return false;
  text_ += kind_of(value);
  return value.kind() == RowTag::nil || add(value);
}

/// Reads a list. list_items_ may still reallocate, so the value has the index of its first item until `read` ends.
bool FlatReader::list(uint32_t count) {
  RowValue value;
  value.number = static_cast<double>(list_items_.size());
  value.size = count;
  value.tag = static_cast<uint32_t>(RowTag::value);
  for (uint32_t i = 0; i < count; ++i) {
    RowValue one;
    if (!read_plain(in_, one) || one.kind() == RowTag::nil) return false;
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

bool FlatReader::table(int depth) {
  TableHead head;
  if (depth > kFlatDepth || !in_.table(head) || (value_tag::has_items(head.tag) && head.first == 0)) return false;
  if (head.tag == value_tag::kItems && head.items > kShortArray) return list(head.items);
  text_ += '{';
  if (!items(head.items, depth)) return false;
  if (head.pairs > 0) text_ += '|';
  for (uint32_t i = 0; i < head.pairs; ++i) {
    std::string_view key;
    if (!in_.text(key) || key.size() > kLongestKey) return false;
    text_ += std::to_string(key.size());
    text_ += ':';
    text_ += key;
    if (!item(depth)) return false;
  }
  text_ += '}';
  return true;
}

uint32_t FlatReader::read(std::string_view bytes, FlatTable& out) {
  in_ = ValueReader(bytes);
  out_ = &out;
  out.shape = out.count = 0;
  text_.clear();
  list_items_.clear();
  if (!value_tag::is_table(in_.tag()) || !item(0) || in_.left() != 0) return 0;
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
