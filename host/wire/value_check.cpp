#include "host/wire/value_check.hpp"

#include <cmath>
#include <cstring>
#include <string>

namespace actorhost {

namespace {

enum Tag : uint32_t {
  kNil = 0x00,
  kTrue = 0x02,
  kInt = 0x06,
  kNumber = 0x07,
  kTable = 0x08,
  kTableArray = 0x0a,     // from this tag on with an array count
  kTableOneBased = 0x0c,  // from this tag on the count includes the missing slot 0
  kTableLast = 0x0d,
  kInt64 = 0x10,
  kUint64 = 0x11,
  kComplex = 0x12,
  kString = 0x20
};

class Checker {
 public:
  Checker(std::string_view bytes, uint32_t tensors, const ValueLimits& limits)
      : at_(reinterpret_cast<const uint8_t*>(bytes.data())),
        end_(at_ + bytes.size()),
        slots_(limits.slots),
        tensors_(tensors) {}

  /// Checks one value, and moves at_ behind it.
  bool value(uint32_t depth);

  const uint8_t* at() const { return at_; }
  const char* what() const { return what_; }

 private:
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  bool fail(const char* what) {
    what_ = what;
    return false;
  }
  bool skip(size_t bytes) {
    if (left() < bytes) return fail("the bytes end within a value");
    at_ += bytes;
    return true;
  }
  bool count(uint32_t& result);
  bool key();
  bool tensor();
  bool table(uint32_t tag, uint32_t depth);

  const uint8_t* at_;
  const uint8_t* end_;
  uint64_t slots_;
  uint32_t tensors_;
  const char* what_ = "";
};

bool Checker::count(uint32_t& result) {
  if (at_ == end_) return fail("the bytes end where a value should begin");
  const uint32_t first = *at_++;
  if (first < 0xe0) {
    result = first;
    return true;
  }
  if (first != 0xff) {
    if (at_ == end_) return fail("the bytes end within a count");
    result = ((first & 0x1fU) << 8) + *at_++ + 0xe0;
    return true;
  }
  if (left() < sizeof result) return fail("the bytes end within a count");
  std::memcpy(&result, at_, sizeof result);
  at_ += sizeof result;
  return true;
}

bool Checker::value(uint32_t depth) {
  uint32_t tag = 0;
  if (!count(tag)) return false;
  if (tag >= kString) return skip(tag - kString);
  if (tag >= kTable && tag <= kTableLast) return table(tag, depth);
  if (tag == kNumber || tag == kInt64 || tag == kUint64) return skip(8);
  if (tag == kInt) return skip(4);
  if (tag <= kTrue) return true;
  if (tag == kComplex) return tensor();
  return fail("a value of a kind that is not allowed (light userdata, dictionary or unknown)");
}

bool Checker::key() {
  uint32_t tag = 0;
  if (!count(tag)) return false;
  if (tag >= kString) return skip(tag - kString);
  if (tag == kInt) return skip(4);
  if (tag == kNumber) {
    double number = 0;
    if (left() < sizeof number) return fail("the bytes end within a value");
    std::memcpy(&number, at_, sizeof number);
    at_ += sizeof number;
    return !std::isnan(number) || fail("NaN as a table key");
  }
  if (tag > kNil && tag <= kTrue) return true;
  return fail("a table key that is no number, string or boolean");
}

bool Checker::tensor() {
  double index = 0;
  double zero = 0;
  if (left() < 16) return fail("the bytes end within a value");
  std::memcpy(&index, at_, 8);
  std::memcpy(&zero, at_ + 8, 8);
  at_ += 16;
  if (!(index >= 0 && index < tensors_) || index != std::floor(index) || zero != 0) {
    return fail("a tensor that does not stand beside the value");
  }
  return true;
}

bool Checker::table(uint32_t tag, uint32_t depth) {
  if (depth == 0) return fail("tables nested too deeply");
  uint32_t items = 0;
  uint32_t pairs = 0;
  if (tag >= kTableArray && !count(items)) return false;
  if ((tag & 1U) != 0 && !count(pairs)) return false;
  if (tag >= kTableOneBased) {
    if (items == 0) return fail("an array from 1 whose count lacks slot 0");
    --items;
  }
  // An item takes at least a byte and a pair two, so a count that the bytes cannot hold never leads to an allocation.
  const uint64_t smallest = uint64_t{items} + 2 * uint64_t{pairs};
  if (smallest > left()) return fail("a table larger than the bytes that are left");
  const uint64_t cost = 1 + uint64_t{items} + pairs;
  if (cost > slots_) return fail("too many tables, items and pairs");
  slots_ -= cost;
  for (uint32_t i = 0; i < items; ++i) {
    if (!value(depth - 1)) return false;
  }
  for (uint32_t i = 0; i < pairs; ++i) {
    if (!key() || !value(depth - 1)) return false;
  }
  return true;
}

}  // namespace

Status check_value(std::string_view bytes, uint32_t tensors, const ValueLimits& limits) {
  if (bytes.size() > limits.bytes) {
    return Error{Code::bad_data, "encoded value of " + std::to_string(bytes.size()) + " bytes, the limit is " +
                                     std::to_string(limits.bytes)};
  }
  Checker checker(bytes, tensors, limits);
  const auto* begin = reinterpret_cast<const uint8_t*>(bytes.data());
  const char* what = "bytes left over after the value";
  if (!checker.value(limits.depth)) {
    what = checker.what();
  } else if (checker.at() == begin + bytes.size()) {
    return {};
  }
  return Error{Code::bad_data,
               std::string("encoded value: ") + what + ", at offset " + std::to_string(checker.at() - begin)};
}

}  // namespace actorhost
