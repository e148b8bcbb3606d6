#include "host/base/printable.hpp"

#include "host/base/log.hpp"
#include "tests/test.hpp"

TEST_CASE("control characters are escaped, other text is unchanged") {
  CHECK(printable("boom at job.lua:3: C:\\x") == "boom at job.lua:3: C:\\x");
  CHECK(printable("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80") ==
        "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
  CHECK(printable("\x1b[2J\x1b]0;title\x07") == "\\x1b[2J\\x1b]0;title\\x07");
  CHECK(printable("one\r\ntwo\tthree") == "one\\x0d\\ntwo\\tthree");
  CHECK(printable(std::string_view("a\0b\x7f", 4)) == "a\\x00b\\x7f");
  CHECK(printable("\xc2\x9b"
                  "2J") == "\\xc2\\x9b2J");  // the control sequence introducer as UTF-8, and as one byte
  CHECK(printable("\x9b"
                  "2J") == "\\x9b2J");
  CHECK(printable("\xe2\x82") == "\\xe2\\x82");
  CHECK(printable("\xff\xc0\xaf") == "\\xff\\xc0\\xaf");
  CHECK(printable("error\n\tjob.lua:1\x1b", Lines::kept) == "error\n\tjob.lua:1\\x1b");
}

TEST_CASE("a message cannot start a new log line or send a command to the terminal") {
  std::vector<std::string> lines;
  Log log(LogLevel::info, [&lines](const LogLine& line) { lines.push_back(line.words()); });
  log.warn("net", "refused a\x1b[2J\n[12:00:00.000 info] all is well");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == "net: refused a\\x1b[2J\\n[12:00:00.000 info] all is well");
}
