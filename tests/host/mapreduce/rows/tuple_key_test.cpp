#include "host/mapreduce/rows/tuple_key.hpp"

#include "host/base/random.hpp"
#include "host/mapreduce/rows/key.hpp"
#include "host/mapreduce/rows/sort_key.hpp"
#include "host/wire/value_bytes.hpp"
#include "tests/test.hpp"

namespace {

/// The encoding of an array; each element is written by a function.
template <typename... Write>
std::string array(Write... write) {
  std::string out;
  const size_t begin = value_writer::begin_table(out);
  (write(out), ...);
  value_writer::end_table(out, begin, sizeof...(write), 0);
  return out;
}
auto num(double value) {
  return [value](std::string& out) { value_writer::number(out, value); };
}
auto txt(const std::string& value) {
  return [value](std::string& out) { value_writer::text(out, value); };
}
auto truth(bool value) {
  return [value](std::string& out) { value_writer::boolean(out, value); };
}

std::string tuple_of(const std::string& encoded) {
  std::string out;
  const char* fault = encode_tuple(encoded, out);
  INFO((fault != nullptr ? fault : ""));
  REQUIRE(fault == nullptr);
  return out;
}

std::string fault_of(const std::string& encoded) {
  std::string out;
  const char* fault = encode_tuple(encoded, out);
  return fault != nullptr ? fault : "";
}

RowValue value_with(RowTag tag, std::string_view bytes) {
  RowValue value;
  value.tag = static_cast<uint32_t>(tag);
  value.bytes = bytes.data();
  value.size = bytes.size();
  return value;
}

}  // namespace

TEST_CASE("the bytes of tuples have the order of their elements, and give the elements back") {
  const double nan = std::nan("");
  const std::vector<std::string> ordered = {
      array(truth(false)),
      array(truth(false), num(5)),
      array(truth(true)),
      array(num(-HUGE_VAL)),
      array(num(-2e9)),
      array(num(-1)),
      array(num(0)),
      array(num(0), txt("")),
      array(num(1e-300)),
      array(num(1), num(-1)),
      array(num(1), txt("a")),
      array(num(1), txt(std::string("a\0", 2))),
      array(num(1), txt(std::string("a\0\xff", 3))),
      array(num(1), txt("a\x01")),
      array(num(1), txt("b")),
      array(num(HUGE_VAL)),
      array(num(nan)),
      array(txt("")),
      array(txt(""), num(1)),
      array(txt(std::string("\0", 1))),
      array(txt("\xff")),
  };
  for (size_t i = 0; i < ordered.size(); ++i) {
    INFO(i);
    const std::string tuple = tuple_of(ordered[i]);
    std::string back;
    REQUIRE(decode_tuple(tuple, back));
    CHECK(back == ordered[i]);
    if (i == 0) continue;
    const std::string before = tuple_of(ordered[i - 1]);
    CHECK(before < tuple);
    const RowValue a = value_with(RowTag::tuple, before);
    const RowValue b = value_with(RowTag::tuple, tuple);
    const bool by_rank = key_rank(a) < key_rank(b);
    CHECK((by_rank || (key_rank(a) == key_rank(b) && compare_ties(a, b, SortOrder::ascending) < 0)));
    CHECK(key_hash(a) != key_hash(b));
  }
}

TEST_CASE("0 and -0 are one element, and elements in pairs are the elements of an array") {
  CHECK(tuple_of(array(num(0))) == tuple_of(array(num(-0.0))));
  std::string pairs;
  const size_t begin = value_writer::begin_table(pairs);
  for (const double key : {2.0, 1.0}) {
    value_writer::number(pairs, key);
    value_writer::text(pairs, key == 1 ? "a" : "b");
  }
  value_writer::end_table(pairs, begin, 0, 2);
  CHECK(tuple_of(pairs) == tuple_of(array(txt("a"), txt("b"))));
}

TEST_CASE("a table that is no tuple is described") {
  const auto inner = [](std::string& out) { out += array(num(1)); };
  CHECK(fault_of(array(num(1), inner)) == "it has a table in it");
  CHECK(fault_of(array()) == "it is empty");
  CHECK(fault_of(array(
            num(1), [](std::string& out) { value_writer::nil(out); }, num(3))) == "it has a nil between its elements");
  CHECK(fault_of(array([](std::string& out) { value_writer::whole(out, 1); })).starts_with("it has a 64-bit"));
  for (const auto& key : {std::string("\x21x", 2), std::string("\x06\0\0\0\0", 5)}) {  // "x", 0
    std::string record;
    const size_t begin = value_writer::begin_table(record);
    record += key;
    value_writer::boolean(record, true);
    value_writer::end_table(record, begin, 0, 1);
    CHECK(fault_of(record) == "its keys are not 1 to n");
  }
  CHECK(fault_of("") == "it is damaged");
}

TEST_CASE("damaged tuples are refused, and become an empty table") {
  const std::string good = tuple_of(array(num(1), txt(std::string("a\0b", 3)), truth(true)));
  std::string out;
  for (size_t size : {size_t{1}, size_t{8}, size_t{10}, size_t{11}, size_t{14}}) {
    out.clear();
    CHECK_FALSE(decode_tuple(good.substr(0, size), out));
  }
  out.clear();
  CHECK_FALSE(decode_tuple("\x05", out));
  std::string bytes;
  CHECK(array_of(value_with(RowTag::tuple, "\x03"), bytes).text() == array());
  Rng rng(7);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = good;
    damaged[rng.below(damaged.size())] = static_cast<char>(rng.next());
    out.clear();
    if (!decode_tuple(damaged, out)) continue;
    std::string again;
    CHECK(encode_tuple(out, again) == nullptr);
  }
}
