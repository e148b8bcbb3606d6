#include "host/wire/value_check.hpp"

#include <array>
#include <cmath>
#include <string>

#include "host/wire/value_bytes.hpp"

namespace actorhost {

namespace {

class Checker {
 public:
  Checker(std::string_view bytes, uint32_t tensors, const ValueLimits& limits)
      : in_(bytes), slots_(limits.slots), tensors_(tensors) {}

  /// Checks and skips one value.
  bool value(uint32_t depth);

  size_t left() const { return in_.left(); }
  const char* problem() const { return problem_; }

 private:
  bool fail(const char* problem) {
    problem_ = problem;
    return false;
  }
  bool skip(size_t bytes) { return in_.skip(bytes) || fail("the bytes end within a value"); }
  bool count(uint32_t& result);
  bool key();
  bool tensor();
  bool table(uint32_t tag, uint32_t depth);

  ValueReader in_;
  uint64_t slots_;
  uint32_t tensors_;
  const char* problem_ = "";
};

bool Checker::count(uint32_t& result) {
  const bool has_bytes = left() > 0;
  return in_.count(result) ||
         fail(has_bytes ? "the bytes end within a count" : "the bytes end where a value should begin");
}

bool Checker::value(uint32_t depth) {
  using namespace value_tag;
  uint32_t tag = 0;
  if (!count(tag)) return false;
  if (tag >= kText) return skip(tag - kText);
  if (is_table(tag)) return table(tag, depth);
  if (tag == kDouble || tag == kSigned || tag == kUnsigned) return skip(8);
  if (tag == kInteger) return skip(4);
  if (tag <= kTrue) return true;
  if (tag == kTensor) return tensor();
  return fail("a value of a kind that is not allowed (light userdata, dictionary or unknown)");
}

bool Checker::key() {
  using namespace value_tag;
  uint32_t tag = 0;
  if (!count(tag)) return false;
  if (tag >= kText) return skip(tag - kText);
  if (tag == kInteger) return skip(4);
  if (tag == kDouble) {
    double number = 0;
    if (!in_.take(number)) return fail("the bytes end within a value");
    return !std::isnan(number) || fail("NaN as a table key");
  }
  if (tag > kNil && tag <= kTrue) return true;
  return fail("a table key that is no number, string or boolean");
}

bool Checker::tensor() {
  std::array<double, 2> place{};
  if (!in_.take(place)) return fail("the bytes end within a value");
  const double index = place[0];
  if (!(index >= 0 && index < tensors_) || index != std::floor(index) || place[1] != 0) {
    return fail("a reference to a missing tensor");
  }
  return true;
}

bool Checker::table(uint32_t tag, uint32_t depth) {
  using namespace value_tag;
  if (depth == 0) return fail("tables nested too deeply");
  uint32_t items = 0;
  uint32_t pairs = 0;
  if (has_items(tag) && !count(items)) return false;
  if (has_pairs(tag) && !count(pairs)) return false;
  if (tag >= kItems) {
    if (items == 0) return fail("an array from 1 whose count lacks slot 0");
    --items;
  }
  // An item takes at least one byte and a pair two, so a count above the remaining bytes never causes an allocation.
  const uint64_t smallest = uint64_t{items} + 2 * uint64_t{pairs};
  if (smallest > left()) return fail("a table larger than the remaining bytes");
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
  const char* problem = "bytes after the value";
  if (!checker.value(limits.depth)) {
    problem = checker.problem();
  } else if (checker.left() == 0) {
    return {};
  }
  return Error{Code::bad_data, std::string("encoded value: ") + problem + ", at offset " +
                                   std::to_string(bytes.size() - checker.left())};
}

}  // namespace actorhost
