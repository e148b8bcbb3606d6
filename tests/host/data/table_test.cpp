#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include "host/data/csv.hpp"
#include "host/data/libsvm.hpp"
#include "tests/host/data/packed.hpp"
#include "tests/host/data/scratch.hpp"

using namespace actorhost;

namespace {

std::vector<float> values_of(const FloatMatrix& m) { return {m.values(), m.values() + m.rows * m.cols}; }

std::string csv_failure(const Scratch& scratch, const std::string& text, const CsvOptions& options = {}) {
  auto read = read_csv(scratch.file("t.csv", text), options);
  REQUIRE(!read.ok());
  CHECK(read.error().code == Code::bad_data);
  return read.error().message.substr((scratch / "t.csv").string().size());
}

std::string svm_failure(const Scratch& scratch, const std::string& text, const LibsvmOptions& options = {}) {
  auto read = read_libsvm(scratch.file("t.svm", text), options);
  REQUIRE(!read.ok());
  CHECK(read.error().code == Code::bad_data);
  return read.error().message.substr((scratch / "t.svm").string().size());
}

}  // namespace

TEST_CASE("numbers are read as the nearest float32 in every notation") {
  const auto parse = [](const char* text) {
    float value = -77;
    CHECK(parse_float(text, value) == NumberFault::none);
    return value;
  };
  CHECK(parse("1") == 1);
  CHECK(parse("+2.5") == 2.5F);
  CHECK(parse("-1e-3") == -1e-3F);
  CHECK(parse("16777217") == 16777216);
  CHECK(parse("1e-60") == 0);
  CHECK(parse("1e-400") == 0);
  CHECK(parse("1e-40") == 1e-40F);
  CHECK(std::isinf(parse("-inf")));
  CHECK(std::isnan(parse("nan")));
  float value = 0;
  for (const char* text : {"", "+", "-", "1x", "0x10", "1 2", "+-1", "e5", "--1"}) {
    INFO(text);
    CHECK(parse_float(text, value) == NumberFault::no_number);
  }
  CHECK(parse_float("1e39", value) == NumberFault::too_large);
  CHECK(parse_float("-1e400", value) == NumberFault::too_large);
}

TEST_CASE("a CSV file becomes a matrix, with or without header, quotes, CRLF and compression") {
  const Scratch scratch;
  const std::string text = "\xef\xbb\xbf\"a\",b , c\r\n1,2,3\r\n\r\n \"-4.5\" , +5e1,6";
  for (const std::string& bytes : {text, packed(text, "gzip"), packed(text, "xz")}) {
    auto table = read_csv(scratch.file("t.csv", bytes), {.header = true});
    REQUIRE(table.ok());
    CHECK(table->names == std::vector<std::string>{"a", "b", "c"});
    CHECK(table->values.rows == 2);
    CHECK(table->values.cols == 3);
    CHECK(values_of(table->values) == std::vector<float>{1, 2, 3, -4.5F, 50, 6});
  }
  auto blanks = read_csv(scratch.file("t.txt", "  1 \t 2\n3    4  \n"), {.delimiter = ' '});
  REQUIRE(blanks.ok());
  CHECK(values_of(blanks->values) == std::vector<float>{1, 2, 3, 4});
  auto gaps = read_csv(scratch.file("t.csv", "1;;3\n;5;\n"), {.delimiter = ';', .missing = -1.0F});
  REQUIRE(gaps.ok());
  CHECK(values_of(gaps->values) == std::vector<float>{1, -1, 3, -1, 5, -1});
  CHECK(read_csv(scratch.file("t.csv", ""))->values.rows == 0);
  CHECK(read_csv(scratch.file("t.csv", "\n\n\n"))->values.rows == 0);
}

TEST_CASE("what is wrong in a CSV file is named by line, column and text") {
  const Scratch scratch;
  CHECK(csv_failure(scratch, "1,2\n3,x y\n") == ", line 2, column 2: 'x y' is not a number");
  CHECK(csv_failure(scratch, "a,b\n1,2\n") == ", line 1, column 1: 'a' is not a number");
  CHECK(csv_failure(scratch, "1,2\n\n3\n") == ", line 3: 1 fields found, 2 expected as in the lines before");
  CHECK(csv_failure(scratch, "a,b,c\n1,2\n", {.header = true}) ==
        ", line 2: 2 fields found, 3 expected as in the lines before");
  CHECK(contains(csv_failure(scratch, "1,,3\n"), "column 2: empty field"));
  CHECK(csv_failure(scratch, "1e99\n") == ", line 1, column 1: '1e99' is too large for float32");
  CHECK(contains(csv_failure(scratch, std::string(100, 'z') + "\x01"), "zzz...' is not a number"));
  CHECK(read_csv(scratch.file("t.csv", "1\n"), {.delimiter = '.'}).error().code == Code::bad_argument);
  CHECK(read_csv(scratch / "none.csv").error().code == Code::io);
  CHECK(read_csv(scratch.path()).error().code == Code::io);
}

TEST_CASE("a LIBSVM file becomes dense rows and labels") {
  const Scratch scratch;
  const std::string text = "+1 1:0.5 3:-2 # first\n\n-1 qid:7 2:1e1\r\n0\n";
  for (const std::string& bytes : {text, packed(text, "bzip2")}) {
    auto data = read_libsvm(scratch.file("t.svm", bytes));
    REQUIRE(data.ok());
    CHECK(data->features.rows == 3);
    CHECK(data->features.cols == 3);
    CHECK(values_of(data->features) == std::vector<float>{0.5F, 0, -2, 0, 10, 0, 0, 0, 0});
    CHECK(values_of(data->labels) == std::vector<float>{1, -1, 0});
  }
  auto wide = read_libsvm(scratch.file("t.svm", "1 0:1 4:2\n"), {.features = 6, .zero_based = true});
  REQUIRE(wide.ok());
  CHECK(values_of(wide->features) == std::vector<float>{1, 0, 0, 0, 2, 0});
  CHECK(read_libsvm(scratch.file("t.svm", ""))->features.rows == 0);
}

TEST_CASE("what is wrong in a LIBSVM file is named by line, column and text") {
  const Scratch scratch;
  CHECK(svm_failure(scratch, "1 1:1\nx 1:1\n") == ", line 2, column 1: 'x' is not a label (a number)");
  CHECK(svm_failure(scratch, "1 1:1  2\n") == ", line 1, column 8: '2' is not INDEX:VALUE");
  CHECK(svm_failure(scratch, "1 a:1\n") == ", line 1, column 3: 'a:1' has no index (a whole number) before ':'");
  CHECK(svm_failure(scratch, "1 1:\n") == ", line 1, column 3: '1:' has no number after ':'");
  CHECK(contains(svm_failure(scratch, "1 2:1 2:2\n"), "'2:2' has an index below 3: they must rise"));
  CHECK(contains(svm_failure(scratch, "1 0:1\n"), "zero_based"));
  CHECK(contains(svm_failure(scratch, "1 5:1\n", {.features = 4}), "beyond the 4 features"));
  CHECK(contains(svm_failure(scratch, "1 4294967295:1\n1\n", {.max_bytes = 1 << 20}), "2 rows of 4294967295 features"));
  CHECK(contains(svm_failure(scratch, "1 99999999999:1\n"), "no index"));
}

TEST_CASE("mutated tables never crash") {
  const Scratch scratch;
  const uint64_t seed = 31337;
  INFO("seed " << seed);
  Rng rng(seed);
  for (int round = 0; round < 2000; ++round) {
    auto csv = read_csv(scratch.file("m.csv", mutate("1,2.5,-3e4\n\"4\",,6\r\n7,8,9\n", rng)), {.missing = 0.0F});
    if (csv.ok()) CHECK(csv->values.data.size() == csv->values.rows * csv->values.cols * sizeof(float));
    auto svm = read_libsvm(scratch.file("m.svm", mutate("1 1:2 3:4.5\n-1 2:1e3 # x\n", rng)), {.max_bytes = 1 << 20});
    if (svm.ok()) CHECK(svm->features.data.size() <= 1 << 20);
  }
}
