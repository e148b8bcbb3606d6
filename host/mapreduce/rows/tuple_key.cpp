#include "host/mapreduce/rows/tuple_key.hpp"

#include <bit>
#include <cmath>
#include <vector>

#include "host/mapreduce/rows/plain_value.hpp"
#include "host/mapreduce/rows/sort_key.hpp"
#include "host/wire/carried_value.hpp"

namespace actorhost {

namespace {

constexpr char kFalseElement = 1;
constexpr char kTrueElement = 2;
constexpr char kNumberElement = 3;
constexpr char kTextElement = 4;
constexpr char kEscaped = '\xff';  // after a zero byte of a text

void append_element(std::string& out, const RowValue& value) {
  if (value.kind() == RowTag::number) {
    const uint64_t rank = __builtin_bswap64(number_rank(value.number));
    char bytes[1 + sizeof rank] = {kNumberElement};
    std::memcpy(bytes + 1, &rank, sizeof rank);
    out.append(bytes, sizeof bytes);
  } else if (value.kind() == RowTag::text) {
    out += kTextElement;
    for (std::string_view left = value.text();;) {
      const size_t zero = left.find('\0');
      out.append(left.substr(0, zero)).push_back('\0');
      if (zero == std::string_view::npos) return;
      out += kEscaped;
      left.remove_prefix(zero + 1);
    }
  } else {
    out += value.kind() == RowTag::yes ? kTrueElement : kFalseElement;
  }
}

double number_of_rank(uint64_t rank) noexcept {
  return std::bit_cast<double>(rank >> 63 != 0 ? rank ^ uint64_t{1} << 63 : ~rank);
}

/// The elements of an array, wherever the encoding has them.
class ArrayElements {
 public:
  /// Null, or why the value is no array of plain values.
  const char* read(std::string_view encoded) {
    ValueReader in(encoded);
    TableHead head;
    if (!in.table(head)) return kDamaged;
    for (uint32_t i = 0; i < head.items; ++i) {
      RowValue value;
      const uint32_t tag = in.tag();
      if (!read_plain(in, value)) return fault_of(tag);
      if (const char* fault = place(static_cast<double>(head.first) + i, value)) return fault;
    }
    for (uint32_t i = 0; i < head.pairs; ++i) {
      RowValue key;
      RowValue value;
      if (!read_plain(in, key)) return kNoArray;
      const uint32_t tag = in.tag();
      if (!read_plain(in, value)) return fault_of(tag);
      if (key.kind() != RowTag::number) return kNoArray;
      if (const char* fault = place(key.number, value)) return fault;
    }
    if (count_ == 0) return "it is empty";
    return count_ == elements_.size() && in.left() == 0 ? nullptr : "it has a nil between its elements";
  }
  const std::vector<RowValue>& elements() const noexcept { return elements_; }

 private:
  static constexpr const char* kDamaged = "it is damaged";
  static constexpr const char* kNoArray = "its keys are not 1 to n";
  static constexpr double kMostElements = 1 << 16;

  /// For a value with this tag.
  static const char* fault_of(uint32_t tag) noexcept {
    if (value_tag::is_table(tag)) return "it has a table in it";
    if (tag == value_tag::kTensor) return "it has a tensor in it";
    const bool whole = tag == value_tag::kSigned || tag == value_tag::kUnsigned;
    return whole ? "it has a 64-bit integer in it (tonumber() or tostring() makes a key of it)" : kDamaged;
  }

  const char* place(double key, const RowValue& value) {
    if (value.kind() == RowTag::nil) return nullptr;
    if (key != std::floor(key) || key < 1) return kNoArray;
    if (key > kMostElements) return "it has more than 65536 elements";
    const auto at = static_cast<size_t>(key);
    if (elements_.size() < at) elements_.resize(at);
    elements_[at - 1] = value;
    ++count_;
    return nullptr;
  }

  std::vector<RowValue> elements_;
  size_t count_ = 0;
};

}  // namespace

const char* encode_tuple(std::string_view encoded, std::string& out) {
  if (is_packed_row(encoded)) return "it has a tensor in it";
  ArrayElements array;
  if (const char* fault = array.read(encoded)) return fault;
  for (const RowValue& element : array.elements()) append_element(out, element);
  return nullptr;
}

bool decode_tuple(std::string_view tuple, std::string& encoded) {
  const size_t begin = value_writer::begin_table(encoded);
  uint32_t count = 0;
  std::string text;
  for (; !tuple.empty(); ++count) {
    const char tag = tuple.front();
    tuple.remove_prefix(1);
    if (tag == kFalseElement || tag == kTrueElement) {
      value_writer::boolean(encoded, tag == kTrueElement);
    } else if (tag == kNumberElement) {
      uint64_t rank = 0;
      if (tuple.size() < sizeof rank) return false;
      std::memcpy(&rank, tuple.data(), sizeof rank);
      value_writer::number(encoded, number_of_rank(__builtin_bswap64(rank)));
      tuple.remove_prefix(sizeof rank);
    } else if (tag == kTextElement) {
      text.clear();
      for (bool more = true; more;) {
        const size_t zero = tuple.find('\0');
        if (zero == std::string_view::npos) return false;
        text.append(tuple.substr(0, zero));
        tuple.remove_prefix(zero + 1);
        more = tuple.starts_with(kEscaped);
        if (!more) continue;
        text.push_back('\0');
        tuple.remove_prefix(1);
      }
      value_writer::text(encoded, text);
    } else {
      return false;
    }
  }
  value_writer::end_table(encoded, begin, count, 0);
  return true;
}

const RowValue& TupleOf::made(const RowValue& key) {
  bytes_.clear();
  if (encode_tuple(key.text(), bytes_) != nullptr) return key;
  tuple_.tag = static_cast<uint32_t>(RowTag::tuple);
  tuple_.bytes = bytes_.data();
  tuple_.size = bytes_.size();
  return tuple_;
}

RowValue array_of(const RowValue& tuple, std::string& bytes) {
  bytes.clear();
  if (!decode_tuple(tuple.text(), bytes)) {
    bytes.clear();
    value_writer::end_table(bytes, value_writer::begin_table(bytes), 0, 0);
  }
  RowValue array;
  array.tag = static_cast<uint32_t>(RowTag::value);
  array.bytes = bytes.data();
  array.size = bytes.size();
  return array;
}

}  // namespace actorhost
