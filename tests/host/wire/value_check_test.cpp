#include "host/wire/value_check.hpp"

#include "tests/test.hpp"

namespace {

std::string bytes(std::initializer_list<int> values) {
  std::string result;
  for (int value : values) result.push_back(static_cast<char>(value));
  return result;
}

std::string number(double value) {
  std::string result(sizeof value, '\0');
  std::memcpy(result.data(), &value, sizeof value);
  return result;
}

std::string error_of(const std::string& text, uint32_t tensors = 0, const ValueLimits& limits = {}) {
  const auto status = check_value(text, tensors, limits);
  return status.ok() ? "accepted" : status.error().message;
}

}  // namespace

TEST_CASE("every allowed kind of value passes") {
  for (int tag : {0x00, 0x01, 0x02}) CHECK(check_value(bytes({tag})).ok());
  CHECK(check_value(bytes({0x06, 1, 2, 3, 4})).ok());
  CHECK(check_value(bytes({0x07}) + number(1.5)).ok());
  CHECK(check_value(bytes({0x10}) + number(0)).ok());
  CHECK(check_value(bytes({0x11}) + number(0)).ok());
  CHECK(check_value(bytes({0x23, 'a', 'b', 'c'})).ok());
  CHECK(check_value(bytes({0x08})).ok());
  CHECK(check_value(bytes({0x09, 1, 0x21, 'a', 0x02})).ok());
  CHECK(check_value(bytes({0x0a, 1, 0x02})).ok());
  CHECK(check_value(bytes({0x0c, 3, 0x01, 0x02})).ok());
  CHECK(check_value(bytes({0x0d, 2, 1, 0x02, 0x21, 'k', 0x08})).ok());
}

TEST_CASE("strings and tables may use each length of count") {
  const std::string text(300, 'x');  // 300 + 0x20 = 0xe0 + 0x6c
  CHECK(check_value(bytes({0xe0, 0x6c}) + text).ok());
  CHECK(check_value(bytes({0xff, 0x4c, 1, 0, 0}) + text).ok());
  CHECK(check_value(bytes({0x0a, 0xe0, 0x6c - 0x20 - 0xc}) + std::string(256 + 32, '\1')).ok());
}

TEST_CASE("an invalid value is refused with its offset") {
  for (int tag : {0x03, 0x04, 0x05, 0x0e, 0x0f, 0x13, 0x18, 0x1f}) {
    INFO("tag " << tag);
    CHECK_THAT(error_of(bytes({0x0c, 2, tag, 0, 0, 0, 0, 0, 0, 0, 0})),
               Contains("not allowed") && Contains("at offset 3"));
  }
  CHECK_THAT(error_of(""), Contains("end where a value should begin, at offset 0"));
  CHECK_THAT(error_of(bytes({0x01, 0x01})), Contains("bytes after the value, at offset 1"));
  CHECK_THAT(error_of(bytes({0x0c, 0})), Contains("lacks slot 0"));
}

TEST_CASE("table keys are numbers, strings and booleans, and not NaN") {
  CHECK(check_value(bytes({0x09, 1, 0x02, 0x02})).ok());
  CHECK(check_value(bytes({0x09, 1, 0x06, 1, 0, 0, 0, 0x02})).ok());
  CHECK_THAT(error_of(bytes({0x09, 1, 0x00, 0x02})), Contains("no number, string or boolean"));
  CHECK_THAT(error_of(bytes({0x09, 1, 0x08, 0x02})), Contains("no number, string or boolean"));
  CHECK_THAT(error_of(bytes({0x09, 1, 0x10}) + number(1) + bytes({0x02})), Contains("no number, string or boolean"));
  CHECK_THAT(error_of(bytes({0x09, 1, 0x07}) + number(std::nan("")) + bytes({0x02})), Contains("NaN as a table key"));
}

TEST_CASE("a count that the bytes cannot hold is refused before any allocation") {
  CHECK_THAT(error_of(bytes({0x0a, 0xff, 0, 0, 0, 0x10})), Contains("larger than the remaining bytes"));
  CHECK_THAT(error_of(bytes({0x09, 0xff, 0xff, 0xff, 0xff, 0xff})), Contains("larger than the remaining bytes"));
  CHECK_THAT(error_of(bytes({0x0d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})),
             Contains("larger than the remaining bytes"));
  CHECK_THAT(error_of(bytes({0xff, 0xff, 0xff, 0xff, 0xff, 'x'})), Contains("end within a value"));
}

TEST_CASE("nesting, slots and size have limits") {
  ValueLimits limits{.depth = 3};
  CHECK(check_value(bytes({0x0c, 2, 0x0c, 2, 0x08}), 0, limits).ok());
  CHECK_THAT(error_of(bytes({0x0c, 2, 0x0c, 2, 0x0c, 2, 0x08}), 0, limits), Contains("nested too deeply, at offset 7"));
  limits.slots = 10;
  CHECK(check_value(bytes({0x0c, 10}) + std::string(9, '\1'), 0, limits).ok());
  CHECK_THAT(error_of(bytes({0x0c, 11}) + std::string(10, '\1'), 0, limits), Contains("too many tables"));
  CHECK_THAT(error_of(bytes({0x0c, 6}) + std::string(5, '\x08'), 0, limits), Contains("too many tables"));
  limits.bytes = 4;
  CHECK_THAT(error_of(bytes({0x24, 'a', 'b', 'c', 'd'}), 0, limits), Contains("5 bytes, the limit is 4"));
  CHECK_THAT(error_of(std::string(100000, '\x0c')), Contains("encoded value"));
}

TEST_CASE("a value may refer only to its tensors") {
  const auto tensor = [](double index, double zero) { return bytes({0x12}) + number(index) + number(zero); };
  CHECK(check_value(tensor(0, 0), 1).ok());
  CHECK(check_value(tensor(2, 0), 3).ok());
  for (double index : {-1.0, 3.0, 0.5, std::nan(""), std::numeric_limits<double>::infinity()}) {
    CHECK_THAT(error_of(tensor(index, 0), 3), Contains("a reference to a missing tensor"));
  }
  CHECK_THAT(error_of(tensor(0, 1), 1), Contains("a reference to a missing tensor"));
  CHECK_THAT(error_of(tensor(0, 0)), Contains("a reference to a missing tensor"));
}

TEST_CASE("every truncation of a value is refused") {
  const std::string whole =
      bytes({0x0d, 3, 2, 0x07}) + number(2) + bytes({0x23, 'a', 'b', 'c', 0x21, 'k', 0x08, 0x02, 0x06, 1, 0, 0, 0});
  REQUIRE(check_value(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    INFO("first " << size << " bytes");
    CHECK_FALSE(check_value(std::string_view(whole).substr(0, size)).ok());
  }
}
