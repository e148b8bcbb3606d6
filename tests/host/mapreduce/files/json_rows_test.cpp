// Rows of JSON lines: their values, the round trip through save, and the errors of malformed lines.

#include "host/mapreduce/files/json_rows.hpp"

#include <nlohmann/json.hpp>

#include "host/mapreduce/files/value_text.hpp"
#include "host/wire/value_check.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace {

using TextLines = std::vector<std::string>;

/// The rows as JSON again; the last text is the error, if any.
TextLines read_json_rows(const std::string& text, const SkipRow& skip = {}) {
  const TempDir dir;
  const auto path = dir.write("t.jsonl", text);
  auto input = required(TextInput::open_part(path, 0, text.size(), text.size()));
  const auto source = json_rows(std::move(*input), "t.jsonl", skip);
  RowBatch batch;
  TextLines rows;
  for (;;) {
    if (const Status status = source->next(batch); !status) {
      rows.push_back("error: " + status.error().message);
      return rows;
    }
    if (batch.count == 0) return rows;
    for (uint32_t i = 0; i < batch.count; ++i) {
      const RowValue& value = batch.first[i];
      if (value.kind() == RowTag::value) REQUIRE(check_value(value.text()));
      REQUIRE(append_json(rows.emplace_back(), value));
    }
  }
}

std::string error_of(const std::string& line) {
  const TextLines rows = read_json_rows("1\n" + line + "\n");
  return rows.back();
}

nlohmann::json random_value(std::mt19937& random, int depth) {
  switch (random() % (depth > 0 ? 9 : 6)) {
    case 0: return static_cast<int>(random()) >> (random() % 32);
    case 1: return std::ldexp(static_cast<double>(random()) - 2e9, static_cast<int>(random() % 200) - 100);
    case 2: return random() % 2 == 0;
    case 3: return std::string(random() % 300, static_cast<char>('a' + random() % 26));
    case 4: return "\xc3\xa9\"\\\n\x01\xf0\x9f\x98\x80/";
    case 5:
      return static_cast<int64_t>(random() | 1ULL << 53 | static_cast<uint64_t>(random()) << 32) >> (random() % 10);
    case 6:
    case 7: {
      auto list = nlohmann::json::array();
      for (size_t i = random() % (random() % 20 == 0 ? 400 : 5); i > 0; --i)
        list.push_back(random_value(random, depth - 1));
      return list;
    }
    default: {
      auto table = nlohmann::json::object();
      for (size_t i = random() % 4; i > 0; --i) table["k" + std::to_string(i)] = random_value(random, depth - 1);
      return table.empty() ? nlohmann::json::array() : table;
    }
  }
}

}  // namespace

TEST_CASE("values of JSON lines survive a round trip") {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    TextLines wanted;
    for (int i = 0; i < 10; ++i) {
      const nlohmann::json value = random_value(random, 4);
      text += value.dump(-1, ' ', round % 2 == 0) + (i % 3 == 0 ? " \r\n" : "\n");
      wanted.push_back(value.dump());
    }
    const TextLines rows = read_json_rows(text);
    REQUIRE(rows.size() == wanted.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      INFO(round << ": " << wanted[i]);
      REQUIRE(nlohmann::json::parse(rows[i]) == nlohmann::json::parse(wanted[i]));
    }
  }
}

TEST_CASE("each kind of JSON value becomes a value of its type") {
  CHECK(read_json_rows(" 1 \n-0\n\n \r\n\"x\"\ntrue\nfalse\n[]\n{}") ==
        TextLines{"1", "-0", "\"x\"", "true", "false", "[]", "[]"});
  CHECK(read_json_rows("[1,null,3]\n{\"a\":null,\"b\":1e-400}\n") == TextLines{"[1,null,3]", R"({"b":0})"});
  CHECK(read_json_rows("[9007199254740993,18446744073709551615,1152921504606846976]") ==
        TextLines{"[9007199254740993,18446744073709551615,1152921504606846976]"});
  CHECK(read_json_rows(R"("\u00e9\ud83d\ude00\/\b")") == TextLines{"\"\xc3\xa9\xf0\x9f\x98\x80/\\u0008\""});
  CHECK(read_json_rows(std::string(64, '[') + std::string(64, ']')).back()[0] == '[');
  CHECK(read_json_rows("").empty());
  CHECK(read_json_rows("\xef\xbb\xbf[1]\n[2]\n") == TextLines{"[1]", "[2]"});
  CHECK(error_of("\xef\xbb\xbf[1]") == "error: t.jsonl, line 2: column 1: byte 239 where a value should be");
}

TEST_CASE("malformed JSON lines are errors with the file, the line and the place, or are skipped") {
  const std::string at = "error: t.jsonl, line 2: column ";
  CHECK(error_of("{\"a\":1") == at + "7: the line ends where ',' or '}' should be");
  CHECK(error_of("[1,2") == at + "5: the line ends where ',' or ']' should be");
  CHECK(error_of("\"abc") == at + "5: the line ends within a text");
  CHECK(error_of("{\"a\":1,\"a\":2}") == at + "11: the key \"a\" appears twice");
  CHECK(error_of("null") == at + "5: null as a whole is no row");
  CHECK(error_of("1]") == at + "2: ']' where the line's end should be");
  CHECK(error_of("\"\xff\"") == at + "2: a text that is not UTF-8");
  CHECK(error_of(std::string(65, '[')) == at + "65: more than 64 arrays and objects within each other");
  CHECK(error_of("1e999") == at + "6: 1e999 is too large for a number");
  for (const char* line : {"nul",         "NaN",
                           "01",          "1.",
                           "-",           ".5",
                           "1e",          "[1,]",
                           "[,1]",        "{a:1}",
                           "{\"a\"}",     "{\"a\":}",
                           "{,}",         "\"\\x\"",
                           "\"\\ud800\"", "\"\\ud800\\u0041\"",
                           "\"\\u12g4\"", "\"\\u1\"",
                           "\"a\tb\"",    "[1 2]",
                           "'a'",         "1180591620717411303425",
                           "\\",          "\"\\"}) {
    INFO(line);
    CHECK(error_of(line).starts_with(at));
  }
  size_t left_out = 0;
  CHECK(read_json_rows("1\n[\n{\"a\":2}\nx\n", [&left_out](const Error&) { return ++left_out > 0; }) ==
        TextLines{"1", R"({"a":2})"});
  CHECK(left_out == 2);
}
