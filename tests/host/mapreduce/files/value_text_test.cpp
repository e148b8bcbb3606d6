// Values as text: numbers that read back unchanged, JSON that a parser accepts, fields of CSV.

#include "host/mapreduce/files/value_text.hpp"

#include <nlohmann/json.hpp>

#include "tests/test.hpp"

namespace {

RowValue row_number(double x) {
  RowValue value{.tag = static_cast<uint32_t>(RowTag::number), .number = x};
  return value;
}

RowValue bytes(RowTag tag, std::string_view text) {
  RowValue value{.tag = static_cast<uint32_t>(tag), .bytes = text.data(), .size = text.size()};
  return value;
}

std::string json(const RowValue& value) {
  std::string out;
  const Status status = append_json(out, value);
  return status.ok() ? out : "error: " + status.error().message;
}

std::string encoded(std::initializer_list<int> list) {
  std::string out;
  for (const int byte : list) out += static_cast<char>(byte);
  return out;
}

}  // namespace

TEST_CASE("a number as text reads back as the same number") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    double x = 0;
    const uint64_t bits = random();
    std::memcpy(&x, &bits, sizeof x);
    if (i % 2 == 0) x = static_cast<double>(static_cast<int64_t>(bits) >> (bits % 60));
    if (!std::isfinite(x)) continue;
    std::string text;
    REQUIRE(append_text(text, row_number(x)));
    CHECK(std::strtod(text.c_str(), nullptr) == x);
  }
  std::string text;
  for (const double x : {100000.0, 1e14, -0.5, -0.0, -std::nan("")}) {
    REQUIRE(append_text(text, row_number(x)));
    text += ' ';
  }
  CHECK(text == "100000 100000000000000 -0.5 -0 nan ");
  CHECK(json(row_number(INFINITY)).find("JSON has no number 'inf'") != std::string::npos);
  CHECK(json(row_number(NAN)).find("JSON has no number 'nan'") != std::string::npos);
}

TEST_CASE("UTF-8 texts survive JSON, other texts are refused with the offset of the bad byte") {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (size_t k = random() % 12; k > 0; --k) {
      static constexpr std::string_view kLikely = "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"\\\n\x80\xed\xa0";
      text += random() % 3 == 0 ? static_cast<char>(random()) : kLikely[random() % kLikely.size()];
    }
    const std::string out = json(bytes(RowTag::text, text));
    INFO(out);
    // nlohmann checks UTF-8 itself when it writes.
    bool valid = true;
    try {
      static_cast<void>(nlohmann::json(text).dump());
    } catch (const nlohmann::json::exception&) {
      valid = false;
    }
    if (valid)
      CHECK(nlohmann::json::parse(out, nullptr, false) == nlohmann::json(text));
    else
      CHECK(out.starts_with("error: JSON's texts are UTF-8, and byte "));
  }
  CHECK(json(bytes(RowTag::text, "ab\xff\"")).find("byte 3 of this text is not: \"ab\\xff\"\"; save it") !=
        std::string::npos);
}

TEST_CASE("tables are read as the codec writes them") {
  CHECK(json(bytes(RowTag::value, encoded({0x08}))) == "[]");
  // {1, "a"}, with and without the missing slot 0
  CHECK(json(bytes(RowTag::value, encoded({0x0a, 2, 0x06, 1, 0, 0, 0, 0x21, 'a'}))) == "[1,\"a\"]");
  CHECK(json(bytes(RowTag::value, encoded({0x0c, 3, 0x06, 1, 0, 0, 0, 0x21, 'a'}))) == "[1,\"a\"]");
  // {b = true, a = nil...}: keys in order
  CHECK(json(bytes(RowTag::value, encoded({0x09, 2, 0x21, 'b', 0x02, 0x21, 'a', 0x08}))) == "{\"a\":[],\"b\":true}");
  // {[2] = "y", [1] = "x"} is an array
  CHECK(json(bytes(RowTag::value, encoded({0x09, 2, 0x06, 2, 0, 0, 0, 0x21, 'y', 0x06, 1, 0, 0, 0, 0x21, 'x'}))) ==
        "[\"x\",\"y\"]");
  CHECK(json(bytes(RowTag::value, encoded({0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}))) ==
        "9223372036854775807");
}

TEST_CASE("malformed bytes are an error, cut anywhere") {
  const std::string whole = encoded({0x0d, 3, 1, 0x06, 1, 0, 0, 0, 0x21, 'a', 0x21, 'k', 0x0a, 1, 0x02});
  CHECK(json(bytes(RowTag::value, whole)) == "{\"1\":1,\"2\":\"a\",\"k\":[true]}");
  for (size_t size = 0; size < whole.size(); ++size) {
    CHECK(json(bytes(RowTag::value, std::string_view(whole).substr(0, size))).starts_with("error: "));
  }
  CHECK(json(bytes(RowTag::value, whole + "x")).starts_with("error: "));
  CHECK(json(bytes(RowTag::value, encoded({0x0a, 0xff, 0xff, 0xff, 0xff, 0xff}))).starts_with("error: "));
  CHECK(json(bytes(RowTag::value, std::string(100, '\x0a'))).starts_with("error: "));
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    std::string garbage;
    for (size_t k = random() % 30; k > 0; --k) garbage += static_cast<char>(random() % (k % 2 == 0 ? 256 : 0x22));
    const std::string out = json(bytes(RowTag::value, garbage));
    if (!out.starts_with("error: ")) CHECK(nlohmann::json::accept(out));
  }
}
