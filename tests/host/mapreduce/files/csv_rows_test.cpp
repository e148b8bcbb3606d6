// Rows of CSV: the values of fields, files cut anywhere, and the errors of malformed records.

#include "host/mapreduce/files/csv_rows.hpp"

#include "host/mapreduce/files/value_text.hpp"
#include "host/wire/value_check.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace {

using TextLines = std::vector<std::string>;

std::string without_folder(const Error& error) {
  return "error: " + error.message.substr(error.message.rfind('/', error.message.find(".csv, line")) + 1);
}

/// The rows as JSON; the last text is the error, if any.
TextLines row_texts(RowSource& source) {
  RowBatch batch;
  TextLines rows;
  for (;;) {
    if (const Status status = source.next(batch); !status) {
      rows.push_back(without_folder(status.error()));
      return rows;
    }
    if (batch.count == 0) return rows;
    for (uint32_t i = 0; i < batch.count; ++i) {
      REQUIRE(check_value(batch.first[i].text()));
      std::string text;
      const Status written = append_text(text, batch.first[i]);
      rows.push_back(written ? text : "error: " + written.error().message);
    }
  }
}

TextLines read_csv_part(const std::filesystem::path& path, uint64_t begin, uint64_t end, const CsvFormat& format = {},
                        const SkipRow& skip = {}) {
  const uint64_t size = std::filesystem::file_size(path);
  auto input = required(TextInput::open_part(path, begin, end, size));
  std::unique_ptr<TextInput> start;
  if (begin > 0) start = *TextInput::open_part(path, 0, size, size);
  auto rows = csv_rows(std::move(*input), path.string(), format, std::move(start), skip);
  if (!rows) return {without_folder(rows.error())};
  return row_texts(**rows);
}

TextLines read_csv(const TempDir& dir, const std::string& text, const CsvFormat& format = {},
                   const SkipRow& skip = {}) {
  return read_csv_part(dir.write("t.csv", text), 0, text.size(), format, skip);
}

CsvFormat with_header() {
  CsvFormat format;
  format.header = true;
  return format;
}

}  // namespace

TEST_CASE("each kind of CSV field becomes a value of its type") {
  const TempDir dir;
  CHECK(read_csv(dir, "1,-2.5,+3e2, 4 ,.5,007\n") == TextLines{"[1,-2.5,300,4,0.5,7]"});
  CHECK(read_csv(dir, "\"1\",\"\",true,False,TRUE\n") == TextLines{R"(["1","",true,false,true])"});
  CHECK(read_csv(dir, "a,,\"say \"\"x\"\"\",\"b,c\"\n") == TextLines{R"(["a",null,"say \"x\"","b,c"])"});
  CHECK(read_csv(dir, "nan,NaN\n,inf\n-inf,Inf\n,nanny\n").size() == 4);
  CHECK(read_csv(dir, "nan\n") ==
        TextLines{"error: JSON has no number 'nan'; save it as text or CSV, or change it before"});
  CHECK(read_csv(dir, "9007199254740993,1e999,0x10,1_000,--1,1e,infinity\n") ==
        TextLines{R"(["9007199254740993","1e999","0x10","1_000","--1","1e","infinity"])"});
  CHECK(read_csv(dir,
                 "\xef\xbb\xbf"
                 "a\r\n\r\n\n b \r\n\"\"\r\n") == TextLines{R"(["a"])", R"([" b "])", R"([""])"});
  CHECK(read_csv(dir, "a,b,\n1,2,\n") == TextLines{R"(["a","b",null])", "[1,2,null]"});
  CHECK(read_csv(dir, "a,b\n1,2,\n") == TextLines{R"(["a","b"])", "[1,2]"});
  CHECK(read_csv(dir, "a\"b,\"x\ny\"\r\nc,d") == TextLines{R"(["a\"b","x\ny"])", R"(["c","d"])"});
  CHECK(read_csv(dir, "").empty());
  CsvFormat format = with_header();
  CHECK(read_csv(dir, "x,y\n1,\n,2\n", format) == TextLines{R"({"x":1})", R"({"y":2})"});
  CHECK(read_csv(dir, "x,y\n", format).empty());
  CHECK(read_csv(dir, "", format).empty());
  format.missing = std::string("\x06\0\0\0\0", 5);
  CHECK(read_csv(dir, "x,y\n1,\n", format) == TextLines{R"({"x":1,"y":0})"});
  format.names = {"a", "b"};
  format.separator = ';';
  CHECK(read_csv(dir, "x;y\n1;2,5\n", format) == TextLines{R"({"a":1,"b":"2,5"})"});
  format.header = false;
  format.kind = CsvKind::text;
  format.kinds = {{"b", CsvKind::number}};
  CHECK(read_csv(dir, "7;\"8\"\n;nan\n", format)[0] == R"({"a":"7","b":8})");
  CHECK(read_csv(dir, ";3\n", format) == TextLines{R"({"a":"","b":3})"});
}

TEST_CASE("a carriage return without a line feed is an error in CSV, but not within quotes") {
  const TempDir dir;
  for (const std::string text : {"a,b\rc,d\r", "a\rb,c\n", "a,\"b\"\rc\n", "a,b\r\r\n"}) {
    INFO(text);
    CHECK_THAT(read_csv(dir, "x,y\n" + text).back(),
               Catch::Contains("t.csv, line 2: a carriage return (CR) without a line feed"));
  }
  CHECK(read_csv(dir, "a,\"b\rc\"\r\n1,2\r\n3,\"4\"\r") == TextLines{R"(["a","b\rc"])", "[1,2]", R"([3,"4"])"});
  size_t left_out = 0;
  const SkipRow skip = [&left_out](const Error&) { return ++left_out > 0; };
  CHECK(read_csv(dir, "1,2\n3\r4,5\n6,7\n", {}, skip) == TextLines{"[1,2]", "[6,7]"});
  CHECK(left_out == 1);
}

TEST_CASE("a byte order mark is dropped from CSV, but not within quotes") {
  const TempDir dir;
  const std::string mark = "\xef\xbb\xbf";
  CHECK(read_csv(dir, mark + "a,b\n" + mark + "c,d\n") == TextLines{R"(["a","b"])", "[\"" + mark + "c\",\"d\"]"});
  CHECK(read_csv(dir, "\"" + mark + "a\",b\n") == TextLines{"[\"" + mark + "a\",\"b\"]"});
  CHECK(read_csv(dir, mark + "\"a\",b\n") == TextLines{R"(["a","b"])"});
  CHECK(csv_header({mark + "n", mark}, ',') == "\"" + mark + "n\"," + mark + "\n");
}

TEST_CASE("malformed records of CSV are errors with the file and the line, or are skipped") {
  const TempDir dir;
  const CsvFormat plain;
  CHECK(read_csv(dir, "a,b\n\n\"x\ny\",1\n1,2,3\n").back() ==
        "error: t.csv, line 5: 3 fields, 2 expected as in the file's first line");
  CHECK_THAT(read_csv(dir, "a\n\"b\nc\n").back(), Catch::Contains("t.csv, line 2: a quote that does not end"));
  CHECK_THAT(read_csv(dir, "a\n\"b\"c\n").back(), Catch::Contains("t.csv, line 2: text behind a closing quote"));
  CsvFormat format = with_header();
  CHECK_THAT(read_csv(dir, "x,x\n", format).back(), Catch::Contains("t.csv, line 1: two columns have the name 'x'"));
  format.kinds = {{"y", CsvKind::boolean}, {"x", CsvKind::number}};
  CHECK(read_csv(dir, "x,y\n1,true\nz,true\n", format).back() ==
        "error: t.csv, line 3: column 1 ('x'): 'z' is not a number");
  CHECK(read_csv(dir, "x,y\n1,2\n", format).back() ==
        "error: t.csv, line 2: column 2 ('y'): '2' is neither true nor false");
  CHECK_THAT(read_csv(dir, "x,y\n9007199254740993,true\n", format).back(), Catch::Contains("would become"));
  CHECK_THAT(read_csv(dir, "x\n", format).back(), Catch::Contains("`types` has 'y', and there are the columns 'x'"));
  format.header = false;
  CHECK_THAT(read_csv(dir, "x\n", format).back(), Catch::Contains("there are 1 columns without names"));
  format.names = {"x"};
  format.header = true;
  CHECK_THAT(read_csv(dir, "x,y\n", format).back(), Catch::Contains("the header has 2 names, `names` has 1"));

  TextLines left_out;
  const SkipRow skip = [&left_out](const Error& error) {
    const std::string text = without_folder(error);
    left_out.push_back(text.substr(7, text.find(": ", 7) - 7));
    return true;
  };
  CHECK(read_csv(dir, "1,2\n3\n\"x\"y,4\n5,6\n\"7", plain, skip) == TextLines{"[1,2]", "[5,6]"});
  CHECK(left_out == TextLines{"t.csv, line 2", "t.csv, line 3", "t.csv, line 5"});
}

TEST_CASE("parts of CSV cut anywhere have each record once, or report quotes that span the cut") {
  const TempDir dir;
  std::mt19937 random(5);
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    std::string text = round % 3 == 0 ? "\xef\xbb\xbfn,t\n" : "n,t\n";
    const bool over_lines = round % 4 == 0;
    for (size_t i = random() % 12; i > 0; --i) {
      const char* texts[] = {"a", "", "\"b,\"\"c\"", "\"\"", over_lines ? "\"x\ny\"" : "\"x y\"", "\"\"\"\""};
      text += std::to_string(i) + "," + texts[random() % 6] + (random() % 5 == 0 ? "\r\n" : "\n");
      if (random() % 6 == 0) text += "\n";
    }
    const auto path = dir.write("cut.csv", text);
    const TextLines wanted = read_csv_part(path, 0, text.size(), with_header());
    for (size_t cut = 0; cut <= text.size(); ++cut) {
      TextLines rows = read_csv_part(path, 0, cut, with_header());
      const TextLines rest = read_csv_part(path, cut, text.size(), with_header());
      const bool reported = !rows.empty() && rows.back().find("multiline = true") != std::string::npos;
      rows.insert(rows.end(), rest.begin(), rest.end());
      INFO(round << " " << cut << "\n" << text);
      if (reported) {
        REQUIRE(over_lines);
        ++refused;
      } else {
        REQUIRE(rows == wanted);
      }
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("line numbers are right in later parts, and in quotes longer than a read") {
  const TempDir dir;
  std::string text;
  for (int i = 1; i <= 1000; ++i) text += i == 900 ? "x\n" : std::to_string(i) + ",1\n";
  const auto path = dir.write("lines.csv", text);
  const TextLines rows = read_csv_part(path, text.size() / 2, text.size());
  CHECK_THAT(rows.back(), Catch::Contains("lines.csv, line 900: 1 fields, 2 expected"));
  const std::string long_text = "1,\"" + std::string(3 << 20, 'x') + "\n" + std::string(2 << 20, 'y') + "\"\n2,b\n";
  const TextLines longs = read_csv(dir, long_text);
  REQUIRE(longs.size() == 2);
  CHECK(longs[0].size() > (5 << 20));
  CHECK(longs[1] == R"([2,"b"])");
  CHECK_THAT(read_csv(dir, long_text + "3\n").back(), Catch::Contains("line 4: 1 fields"));
}
