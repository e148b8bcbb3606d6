// Tables of plain values read by their shape.

#include "host/mapreduce/rows/flat_table.hpp"

#include "tests/host/mapreduce/rows.hpp"
#include "tests/test.hpp"

namespace {

template <typename T>
std::string raw(char tag, T value) {
  std::string out(1, tag);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
  return out;
}

std::string whole(int32_t n) { return raw('\x06', n); }
std::string number_bytes(double n) { return raw('\x07', n); }
std::string text(const std::string& s) { return static_cast<char>(0x20 + s.size()) + s; }
std::string array(size_t count, const std::string& items) {
  return std::string("\x0c") + static_cast<char>(count + 1) + items;
}
std::string pairs(size_t count, const std::string& entries) {
  return std::string("\x09") + static_cast<char>(count) + entries;
}

struct Read {
  FlatReader reader;
  FlatTable table;
  std::string shape(const std::string& bytes) {
    const uint32_t found = reader.read(bytes, table);
    return found == 0 ? "" : std::string(reader.shape(found));
  }
};

}  // namespace

TEST_CASE("a table's shape is all but its numbers, texts and booleans") {
  Read read;
  CHECK(read.shape(array(2, number_bytes(1.5) + whole(-3))) == "{nn}");
  REQUIRE(read.table.count == 2);
  CHECK(read.table.values[0].number == 1.5);
  CHECK(read.table.values[1].number == -3);
  const std::string record = pairs(2, text("x") + number_bytes(2) + text("name") + text("ab"));
  CHECK(read.shape(record) == "{|1:xn4:names}");
  CHECK(read.table.values[1].text() == "ab");
  CHECK(read.shape("\x08") == "{}");
  CHECK(read.shape(array(3, std::string("\x01\x02") + std::string(1, '\0'))) == "{bbz}");
  REQUIRE(read.table.count == 2);
  CHECK(read.table.values[0].number == 0);
  CHECK(read.table.values[1].number == 1);
  CHECK(read.shape(array(2, array(1, whole(7)) + pairs(1, text("k") + "\x08"))) == "{{n}{|1:k{}}}");
  CHECK(read.shape(std::string("\x0d\x02\x01") + whole(4) + text("n") + text("")) == "{n|1:ns}");
}

TEST_CASE("the same shape has the same number, whatever its values") {
  Read read;
  const uint32_t point = read.reader.read(array(2, whole(1) + whole(2)), read.table);
  const uint32_t other = read.reader.read(array(1, whole(1)), read.table);
  CHECK(point != 0);
  CHECK(other != point);
  CHECK(read.reader.read(array(2, number_bytes(0.5) + whole(9)), read.table) == point);
}

TEST_CASE("longer arrays are lists") {
  Read read;
  const std::string five = whole(1) + text("b") + "\x02" + number_bytes(4) + whole(5);
  const std::string bytes = array(2, array(5, five) + array(6, five + whole(6)));
  CHECK(read.shape(bytes) == "{ll}");
  REQUIRE(read.table.count == 2);
  for (size_t i = 0; i < 2; ++i) {
    const RowValue& list = read.table.values[i];
    REQUIRE(list.size == 5 + i);
    const auto* items = reinterpret_cast<const RowValue*>(list.bytes);
    CHECK(items[0].number == 1);
    CHECK(items[1].text() == "b");
    CHECK(items[2].kind() == RowTag::yes);
    CHECK(items[4 + i].number == static_cast<double>(5 + i));
  }
}

TEST_CASE("other values than tables of plain values are left to the codec") {
  Read read;
  CHECK(read.shape(number_bytes(1)).empty());
  CHECK(read.shape("").empty());
  CHECK(read.shape(pairs(1, whole(5) + whole(6))).empty());                          // a key other than a text
  CHECK(read.shape(array(1, raw('\x10', int64_t{1}))).empty());                      // a 64-bit integer
  CHECK(read.shape(array(1, std::string("\x12") + std::string(16, '\0'))).empty());  // a tensor
  CHECK(read.shape(array(1, whole(1)) + "x").empty());                               // more than one value
  CHECK(read.shape(array(6, whole(1) + whole(2) + std::string(1, '\0') + whole(4) + whole(5) + whole(6))).empty());
  std::string deep = "\x08";
  for (int i = 0; i < 20; ++i) deep = array(1, deep);
  CHECK(read.shape(deep).empty());
  std::string wide;
  for (int i = 0; i < 70; ++i) wide += text("k" + std::to_string(i)) + whole(i);
  CHECK(read.shape(pairs(70, wide)).empty());
}

TEST_CASE("the number of shapes is limited") {
  Read read;
  for (int i = 0; i < 1200; ++i) {
    const bool known = read.reader.read(pairs(1, text("k" + std::to_string(i)) + whole(i)), read.table) != 0;
    CHECK(known == (i < 1000));
  }
  CHECK(read.shape(pairs(1, text("k7") + whole(1))) == "{|2:k7n}");
}

TEST_CASE("damaged bytes are refused or read within their bounds") {
  const uint64_t seed = Catch::rngSeed();
  INFO("seed " << seed);
  Rng rng(seed);
  Read read;
  const std::string good =
      array(3, pairs(2, text("x") + number_bytes(2) + text("name") + text("abcdef")) +
                   array(5, whole(1) + whole(2) + whole(3) + text("list") + number_bytes(5)) + "\x01");
  REQUIRE(!read.shape(good).empty());
  for (size_t size = 0; size < good.size(); ++size) CHECK(read.shape(good.substr(0, size)).empty());
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good;
    for (int k = 0; k < 3; ++k) bad[rng.below(bad.size())] = static_cast<char>(rng.below(256));
    bad.shrink_to_fit();
    if (read.reader.read(bad, read.table) == 0) continue;
    for (uint32_t v = 0; v < read.table.count; ++v) {
      const RowValue& value = read.table.values[v];
      if (value.kind() == RowTag::text) {
        CHECK((value.bytes >= bad.data() && value.bytes + value.size <= bad.data() + bad.size()));
      }
    }
  }
}
