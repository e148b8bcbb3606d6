#include "host/data/content/csv.hpp"
#include "host/data/content/libsvm.hpp"
#include "host/data/content/text_number.hpp"
#include "tests/host/data/packed.hpp"
#include "tests/host/data/scratch.hpp"
#include "tests/test.hpp"

namespace {

template <typename T = float>
std::vector<T> tensor_values(const Tensor& array) {
  const auto* values = reinterpret_cast<const T*>(array.data.data());
  return {values, values + array.shape.elements()};
}

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
    CHECK(parse_number(text, value) == NumberFault::none);
    return value;
  };
  CHECK(parse("1") == 1);
  CHECK(parse("+2.5") == 2.5F);
  CHECK(parse("-1e-3") == -1e-3F);
  CHECK(parse("1e-60") == 0);
  CHECK(parse("1e-400") == 0);
  CHECK(parse("1e-40") == 1e-40F);
  CHECK(std::isinf(parse("-inf")));
  CHECK(std::isnan(parse("nan")));
  float value = 0;
  for (const char* text : {"", "+", "-", "1x", "0x10", "1 2", "+-1", "e5", "--1"}) {
    INFO(text);
    CHECK(parse_number(text, value) == NumberFault::no_number);
  }
  CHECK(parse_number("1e39", value) == NumberFault::too_large);
  CHECK(parse_number("-1e400", value) == NumberFault::too_large);
}

TEST_CASE("a number with all digits before its point keeps them or is refused") {
  const auto fault = [](const char* text) {
    float value = 0;
    return parse_number(text, value);
  };
  for (const char* text : {"16777216", "-016777218", "1700000000", "16777216.9", "1.70000001e9", "0.1", "6.02214076e23",
                           "00.0017e12", "1.677721600000000000e+07", "9.999999e7"}) {
    INFO(text);
    CHECK(fault(text) == NumberFault::none);
  }
  for (const char* text : {"16777217", "-16777217", "+0016777217.0", "1700000037", "1700000037.25", "1.7000000371e9",
                           "-1.677721700000000000e+07", "0.0170000003700E+11", "99999999e0"}) {
    INFO(text);
    CHECK(fault(text) == NumberFault::inexact);
  }
  double wide = 0;
  CHECK(parse_number("1700000037.25", wide) == NumberFault::none);
  CHECK(wide == 1700000037.25);
  CHECK(parse_number("9007199254740993", wide) == NumberFault::inexact);
  CHECK(parse_number("1.234567890123456768e+18", wide) == NumberFault::none);  // as written by numpy.savetxt
  CHECK(parse_number("1.234567890123456789e+18", wide) == NumberFault::inexact);
  CHECK(parse_number("100000000000000000000000", wide) == NumberFault::inexact);
  CHECK(parse_number("147573952589676412928", wide) == NumberFault::none);  // 2^67
}

TEST_CASE("a time stamp is read as float64 or refused with its place") {
  const Scratch scratch;
  CHECK(csv_failure(scratch, "1,2\n3,1700000037\n") ==
        ", line 2, column 2: '1700000037' would become 1700000000 in float32; use dtype = \"float64\"; `columns` "
        "reads "
        "some columns only");
  auto csv = required(read_csv(scratch.file("t.csv", "1,1700000037\n"), {.dtype = Dtype::f64}));
  CHECK(tensor_values<double>(csv->values) == std::vector<double>{1, 1700000037});
  CHECK(contains(csv_failure(scratch, "9007199254740993\n", {.dtype = Dtype::f64}),
                 "'9007199254740993' would become 9007199254740992 in float64;"));
  CHECK(svm_failure(scratch, "1 1:2\n1700000037 1:3\n") ==
        ", line 2, column 1: '1700000037' would become 1700000000 in float32; use dtype = \"float64\"");
  CHECK(contains(svm_failure(scratch, "1 1:2 4:16777217\n"), ", line 1, column 7: '16777217' would become 16777216"));
  auto svm = required(read_libsvm(scratch.file("t.svm", "16777217 2:1700000037\n"), {.dtype = Dtype::f64}));
  CHECK(tensor_values<double>(svm->features) == std::vector<double>{0, 1700000037});
  CHECK(tensor_values<double>(svm->labels) == std::vector<double>{16777217});
}

TEST_CASE("a CSV file becomes a matrix, with or without header, quotes, CRLF and compression") {
  const Scratch scratch;
  const std::string text = "\xef\xbb\xbf\"a\",b , c\r\n1,2,3\r\n\r\n \"-4.5\" , +5e1,6";
  for (const std::string& bytes : {text, packed(text, "gzip"), packed(text, "xz")}) {
    auto table = required(read_csv(scratch.file("t.csv", bytes), {.header = true}));
    CHECK(table->names == std::vector<std::string>{"a", "b", "c"});
    CHECK(table->values.shape == Shape{2, 3});
    CHECK(tensor_values(table->values) == std::vector<float>{1, 2, 3, -4.5F, 50, 6});
  }
  auto blanks = required(read_csv(scratch.file("t.txt", "  1 \t 2\n3    4  \n"), {.delimiter = ' '}));
  CHECK(tensor_values(blanks->values) == std::vector<float>{1, 2, 3, 4});
  auto gaps = read_csv(scratch.file("t.csv", "1;;3\n;5;\n"), {.delimiter = ';', .missing = -1.0F});
  REQUIRE(gaps.ok());
  CHECK(tensor_values(gaps->values) == std::vector<float>{1, -1, 3, -1, 5, -1});
  CHECK(read_csv(scratch.file("t.csv", ""))->values.shape[0] == 0);
  CHECK(read_csv(scratch.file("t.csv", "\n\n\n"))->values.shape[0] == 0);
}

TEST_CASE("a byte order mark is dropped, and a carriage return within a line is an error") {
  const Scratch scratch;
  const std::string mark = "\xef\xbb\xbf";
  for (const std::string& bytes : {mark + "1 1:2\n-1 2:3\n", packed(mark + "1 1:2\n-1 2:3\n", "gzip")}) {
    const auto svm = required(read_libsvm(scratch.file("t.svm", bytes)));
    CHECK(tensor_values<float>(svm->labels) == std::vector<float>{1, -1});
  }
  CHECK(read_libsvm(scratch.file("t.svm", mark))->labels.shape[0] == 0);
  CHECK(contains(svm_failure(scratch, "1 1:2\n" + mark + "1 1:2\n"), ", line 2, column 1"));
  const std::string lone = "a carriage return (CR) without a line feed";
  CHECK(contains(csv_failure(scratch, "1,2\n3\r,4\n"), "line 2, column 1: " + lone));
  CHECK(contains(csv_failure(scratch, "1,2\r3,4\r"), "line 1, column 2: " + lone));
  CHECK(contains(csv_failure(scratch, "1,2\r\r\n"), "line 1, column 2: " + lone));
  CHECK(contains(csv_failure(scratch, "a,b\rc\n1,2\n", {.header = true}), "line 1, column 2: " + lone));
  CHECK(contains(csv_failure(scratch, "1,x\ry\n", {.columns = {size_t{1}}}), "line 1, column 2: " + lone));
  CHECK(read_csv(scratch.file("t.csv", "1,\"x\ry\"\r\n2,z\r"), {.columns = {size_t{1}}})->values.shape[0] == 2);
}

TEST_CASE("selected columns of a CSV file are read in the requested order") {
  const Scratch scratch;
  const auto path = scratch.file("t.csv", "time,who,x\n1,\"a, \"\"b\"\"\n c\",3\n4,d\"e,6\n");
  auto named = required(read_csv(path, {.header = true, .columns = {"x", "time"}}));
  CHECK(named->names == std::vector<std::string>{"x", "time"});
  CHECK(tensor_values(named->values) == std::vector<float>{3, 1, 6, 4});
  auto numbered = required(read_csv(path, {.skip = 1, .columns = {size_t{3}}}));
  CHECK(numbered->names.empty());
  CHECK(numbered->values.shape == Shape{2, 1});
  CHECK(tensor_values(numbered->values) == std::vector<float>{3, 6});
  const auto failure = [&](const CsvOptions& options) {
    return read_csv(path, options).error().message.substr(path.string().size());
  };
  CHECK(failure({.header = true, .columns = {"y"}}) ==
        ": `columns` has 'y', which is not in the header ('time', 'who', 'x')");
  CHECK(contains(failure({.columns = {"x"}}), "there is no header"));
  CHECK(failure({.header = true, .columns = {size_t{4}}}) == ": `columns` has column 4, but lines have 3 fields");
  CHECK(failure({.skip = 1, .columns = {size_t{4}}}) == ": `columns` has column 4, but lines have 3 fields");
  CHECK(failure({.header = true, .columns = {size_t{1}, "time"}}) == ": `columns` has column 1 twice");
  CHECK(failure({.header = true, .columns = {"who"}}) == ", line 2, column 2: 'a, \"\"b\"\"? c' is not a number");
}

TEST_CASE("quoted names of a CSV file hold delimiters, quotes and line ends, as save writes them") {
  const Scratch scratch;
  auto table = required(
      read_csv(scratch.file("t.csv", "\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\"\r\n1,2,3\n"), {.header = true}));
  CHECK(table->names == std::vector<std::string>{"a,b", "say \"hi\"", "two\nlines"});
  CHECK(csv_failure(scratch, "\"a\nb\",c\n1,x\n", {.header = true}).starts_with(", line 3, column 2: 'x'"));
  CHECK(csv_failure(scratch, "1,2\n3,\"4\n5,6\n") == ", line 2, column 2: a quote that does not end");
  CHECK(csv_failure(scratch, "1,\"2\" 3\n").starts_with(", line 1, column 2: '\"2\" 3' is not a number"));
}

TEST_CASE("lines before a CSV file's rows, comments and a delimiter at the end of lines are skipped") {
  const Scratch scratch;
  auto table = required(read_csv(scratch.file("t.csv", "made by \"us\n\n# units\na,b,\n# m\n1,2, # first\n3,4\n"),
                                 {.header = true, .skip = 2, .comment = '#'}));
  CHECK(table->names == std::vector<std::string>{"a", "b"});
  CHECK(tensor_values(table->values) == std::vector<float>{1, 2, 3, 4});
  CHECK(tensor_values(read_csv(scratch.file("t.csv", "1,2,\n3,4,\n"))->values) == std::vector<float>{1, 2, 3, 4});
  auto gaps = read_csv(scratch.file("t.csv", "1,2,\n3,,\n"), {.missing = 9});
  CHECK(tensor_values(gaps->values) == std::vector<float>{1, 2, 9, 3, 9, 9});
  CHECK(contains(csv_failure(scratch, "1,2\n3,4,,\n"), "column 3: empty field"));
  CHECK(csv_failure(scratch, "1,2\n# no\n3,x\n", {.comment = '#'}).starts_with(", line 3, column 2: 'x'"));
  CHECK(read_csv(scratch.file("t.csv", "1\n2\n"), {.skip = 9})->values.shape[0] == 0);
  CHECK(read_csv(scratch.file("t.csv", "1\n"), {.comment = '-'}).error().message ==
        "comment '-' cannot separate numbers");
}

TEST_CASE("an error in a CSV file is named by line, column and text") {
  const Scratch scratch;
  CHECK(csv_failure(scratch, "1,2\n3,x y\n") ==
        ", line 2, column 2: 'x y' is not a number; `columns` reads some columns only");
  CHECK(csv_failure(scratch, "a,b\n1,2\n") ==
        ", line 1, column 1: 'a' is not a number; `columns` reads some columns only");
  CHECK(csv_failure(scratch, "1,2\n\n3\n") == ", line 3: 1 fields found, 2 expected as in the lines before");
  CHECK(csv_failure(scratch, "a,b,c\n1,2\n", {.header = true}) ==
        ", line 2: 2 fields found, 3 expected as in the lines before");
  CHECK(contains(csv_failure(scratch, "1,,3\n"), "column 2: empty field"));
  CHECK(csv_failure(scratch, "1e99\n") ==
        ", line 1, column 1: '1e99' is too large for float32; use dtype = \"float64\"");
  CHECK(contains(csv_failure(scratch, std::string(100, 'z') + "\x01"), "zzz...' is not a number"));
  CHECK(read_csv(scratch.file("t.csv", "1\n"), {.delimiter = '.'}).error().code == Code::bad_argument);
  CHECK(read_csv(scratch / "none.csv").error().code == Code::io);
  CHECK(read_csv(scratch.path()).error().code == Code::io);
}

TEST_CASE("a LIBSVM file becomes dense rows and labels") {
  const Scratch scratch;
  const std::string text = "+1 1:0.5 3:-2 # first\n\n-1 qid:7 2:1e1\r\n0\n";
  for (const std::string& bytes : {text, packed(text, "bzip2")}) {
    auto data = required(read_libsvm(scratch.file("t.svm", bytes)));
    CHECK(data->features.shape == Shape{3, 3});
    CHECK(tensor_values(data->features) == std::vector<float>{0.5F, 0, -2, 0, 10, 0, 0, 0, 0});
    CHECK(tensor_values(data->labels) == std::vector<float>{1, -1, 0});
  }
  auto wide = required(read_libsvm(scratch.file("t.svm", "1 0:1 4:2\n"), {.features = 6, .zero_based = true}));
  CHECK(tensor_values(wide->features) == std::vector<float>{1, 0, 0, 0, 2, 0});
  CHECK(read_libsvm(scratch.file("t.svm", ""))->features.shape[0] == 0);
}

TEST_CASE("a LIBSVM file with one large index stays sparse, for any lengths of its lines") {
  const Scratch scratch;
  std::string text = "1 2:5 4294967295:-2\n\n-1\n0 ";
  for (int i = 1; i <= 200000; ++i) text += std::to_string(i) + ":1 ";  // over several pieces
  auto data = required(read_libsvm(scratch.file("t.svm", text), {.sparse = true, .max_bytes = 16 << 20}));
  CHECK(data->rows == 3);
  CHECK(data->width == 4294967295);
  CHECK(tensor_values(data->labels) == std::vector<float>{1, -1, 0});
  CHECK(tensor_values<int64_t>(data->starts) == std::vector<int64_t>{1, 3, 3, 200003});
  const std::vector<int64_t> columns = tensor_values<int64_t>(data->columns);
  CHECK(std::vector<int64_t>(columns.begin(), columns.begin() + 4) == std::vector<int64_t>{2, 4294967295, 1, 2});
  CHECK(columns.back() == 200000);
  CHECK(tensor_values(data->features)[1] == -2);
  CHECK(data->features.shape == Shape{200002});
}

TEST_CASE("an error in a LIBSVM file is named by line, column and text") {
  const Scratch scratch;
  CHECK(svm_failure(scratch, "1 1:1\nx 1:1\n") == ", line 2, column 1: 'x' is not a label (a number)");
  CHECK(svm_failure(scratch, "1 1:1  2\n") == ", line 1, column 8: '2' is not INDEX:VALUE");
  CHECK(svm_failure(scratch, "1 a:1\n") == ", line 1, column 3: 'a:1' has no index (a whole number) before ':'");
  CHECK(svm_failure(scratch, "1 1:\n") == ", line 1, column 3: '1:' has no number after ':'");
  CHECK(contains(svm_failure(scratch, "1 2:1 2:2\n"), "'2:2' has an index below 3: they must rise"));
  CHECK(contains(svm_failure(scratch, "1 0:1\n"), "zero_based"));
  CHECK(contains(svm_failure(scratch, "1 5:1\n", {.features = 4}), "beyond the 4 features"));
  CHECK(svm_failure(scratch, "1 4294967295:1\n1\n", {.max_bytes = 1 << 20}) ==
        ": 2 rows of 4294967295 features (sparse = true stores only the values of the file) need more than the 1048576 "
        "bytes that a node may use (--memory)");
  std::string many;
  for (int i = 0; i < 60000; ++i) many += "1 1:2 7:3\n";
  CHECK(
      contains(svm_failure(scratch, many, {.max_bytes = 1 << 20}), "the data read so far needs more than the 1048576"));
  CHECK(contains(svm_failure(scratch, std::string(1 << 21, ' '), {.max_bytes = 1 << 20}), "more than the 1048576"));
  CHECK(contains(svm_failure(scratch, "1 99999999999:1\n"), "no index"));
}

TEST_CASE("mutated tables never crash") {
  const Scratch scratch;
  const uint64_t seed = 31337;
  INFO("seed " << seed);
  Rng rng(seed);
  for (int round = 0; round < 2000; ++round) {
    auto csv = read_csv(scratch.file("m.csv", mutate("1,2.5,-3e4\n\"4\",,6\r\n7,8,9\n", rng)), {.missing = 0.0F});
    if (csv.ok()) CHECK(csv->values.data.size() == csv->values.bytes());
    auto svm = read_libsvm(scratch.file("m.svm", mutate("1 1:2 3:4.5\n-1 2:1e3 # x\n", rng)), {.max_bytes = 1 << 20});
    if (svm.ok()) CHECK(svm->features.data.size() <= 1 << 20);
  }
}
