#include "host/data/content/npy.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "host/data/content/npz.hpp"
#include "tests/host/data/scratch.hpp"
#include "tests/test.hpp"

namespace {

Tensor counting(const Shape& shape) {
  Tensor array{{Dtype::f32, shape}, {}};
  const auto n = static_cast<size_t>(shape.elements());
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0F);
  array.data = Blob::copy_of(values.data(), n * sizeof(float));
  return array;
}

Status write_npz(const std::filesystem::path& path, const std::vector<NamedArray>& arrays) {
  auto writer = NpzWriter::create(path);
  if (!writer) return std::move(writer).error();
  for (const NamedArray& item : arrays) AH_TRY(writer->add(item.name, item.array));
  return writer->close();
}

std::string npy_file(const std::string& dict, const std::string& data) {
  std::string head("\x93NUMPY\x01\x00", 8);
  head.push_back(static_cast<char>(dict.size() & 0xff));
  head.push_back(static_cast<char>(dict.size() >> 8));
  return head + dict + data;
}

Error npy_failure(const Scratch& scratch, const std::string& bytes) {
  auto read = read_npy(scratch.file("a.npy", bytes));
  REQUIRE(!read.ok());
  return read.error();
}

}  // namespace

TEST_CASE("an .npy file preserves every element type and shape") {
  const Scratch scratch;
  for (Dtype type : {Dtype::f32, Dtype::f64, Dtype::i32, Dtype::i64, Dtype::u8, Dtype::b8}) {
    for (const Shape& shape : {Shape{}, {5}, {0}, {3, 0, 2}, {2, 3, 4}, {1, 1, 1, 1, 1, 1, 1, 7}}) {
      Tensor array{{type, shape}, {}};
      array.data = Blob::allocate(array.bytes());
      const size_t most = type == Dtype::b8 ? 2 : 256;
      for (size_t i = 0; i < array.data.size(); ++i) array.data.data()[i] = static_cast<std::byte>((i * 37 + 1) % most);
      const auto path = scratch / "a.npy";
      REQUIRE(write_npy(path, array).ok());
      auto read = required(read_npy(path));
      CHECK(read->dtype == type);
      CHECK(read->shape == shape);
      CHECK(read->data.view() == array.data.view());
    }
  }
}

TEST_CASE("the header is the same as NumPy's, and the data is aligned to 64 bytes") {
  const std::string header = npy_header({Dtype::f32, {3, 4}});
  CHECK(header.size() % 64 == 0);
  CHECK(header.substr(0, 10) == std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  CHECK(contains(header, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }"));
  CHECK(contains(npy_header({Dtype::u8, {3}}), "'descr': '|u1', 'fortran_order': False, 'shape': (3,), }"));
  CHECK(contains(npy_header({Dtype::i64, {}}), "'shape': (), }"));
  CHECK(header.back() == '\n');
}

TEST_CASE("headers of versions 2 and 3 and in another layout are read") {
  const Scratch scratch;
  const std::string dict = "{\"shape\":(2L,),'fortran_order':False ,\n 'descr':'<i4'}";
  for (char major : {'\x02', '\x03'}) {
    std::string bytes("\x93NUMPY", 6);
    bytes.append({major, '\0', static_cast<char>(dict.size()), '\0', '\0', '\0'}).append(dict);
    bytes.append("\x01\0\0\0\xff\xff\xff\xff", 8);
    auto read = required(read_npy(scratch.file("a.npy", bytes)));
    std::array<int32_t, 2> values{};
    std::memcpy(values.data(), read->data.data(), 8);
    CHECK(values == std::array<int32_t, 2>{1, -1});
  }
}

TEST_CASE("arrays of other types, byte orders and element orders become the first type that holds them") {
  const Scratch scratch;
  const auto read = [&](const std::string& descr, const std::string& order, const std::string& shape,
                        const std::string& data) {
    auto array = required(read_npy(scratch.file(
        "a.npy",
        npy_file("{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }", data))));
    return *array;
  };
  const auto values = [](const Tensor& array, auto zero) {
    const auto* first = reinterpret_cast<const decltype(zero)*>(array.data.data());
    return std::vector<decltype(zero)>(first, first + array.shape.elements());
  };
  const auto flags = read("|b1", "False", "(3,)", std::string("\1\0\1", 3));
  CHECK(flags.dtype == Dtype::b8);
  CHECK(values(flags, uint8_t{}) == std::vector<uint8_t>{1, 0, 1});
  const std::string halves("\x00\x3c\x00\xc0\xff\x7b\x01\x00\x00\x80\x00\x7c", 12);
  const auto floats = values(read("<f2", "False", "(6,)", halves), float{});
  CHECK(floats == std::vector<float>{1, -2, 65504, 0x1p-24F, -0.0F, std::numeric_limits<float>::infinity()});
  CHECK(std::signbit(floats[4]));
  CHECK(std::isnan(values(read(">f2", "False", "(1,)", "\x7e\x01"), float{})[0]));
  CHECK(values(read("|i1", "False", "(2,)", "\xff\x7f"), int32_t{}) == std::vector<int32_t>{-1, 127});
  CHECK(values(read("<u2", "False", "(1,)", "\xff\xff"), int32_t{}) == std::vector<int32_t>{65535});
  CHECK(values(read(">i2", "False", "(1,)", "\xff\xfe"), int32_t{}) == std::vector<int32_t>{-2});
  CHECK(values(read(">u4", "False", "(1,)", "\xff\xff\xff\xfe"), int64_t{}) == std::vector<int64_t>{4294967294});
  CHECK(values(read(">f4", "False", "(2,)", std::string("\x3f\x80\0\0\x40\0\0\0", 8)), float{}) ==
        std::vector<float>{1, 2});
  CHECK(values(read(">u8", "False", "()", std::string("\0\0\0\0\0\0\1\0", 8)), int64_t{}) == std::vector<int64_t>{256});
  CHECK(contains(npy_failure(scratch, npy_file("{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }",
                                               std::string(8, '\xff')))
                     .message,
                 "a uint64 of 2^63 or more"));

  CHECK(values(read("|u1", "True", "(2, 3)", "adbecf"), char{}) == std::vector<char>{'a', 'b', 'c', 'd', 'e', 'f'});
  CHECK(values(read("|u1", "True", "(3,)", "abc"), char{}) == std::vector<char>{'a', 'b', 'c'});
  CHECK(read("<f8", "True", "(0, 3)", "").shape == Shape{0, 3});
  std::string data;
  std::vector<uint16_t> expected(70 * 3 * 2 * 130);
  for (size_t place = 0; place < expected.size(); ++place) {  // the first dimension is the fastest
    const size_t i = place % 70, j = place / 70 % 3, k = place / 210 % 2, l = place / 420;
    data.append({static_cast<char>(place & 255), static_cast<char>(place >> 8)});
    expected[((i * 3 + j) * 2 + k) * 130 + l] = static_cast<uint16_t>(place);
  }
  const auto turned = values(read("<u2", "True", "(70, 3, 2, 130)", data), int32_t{});
  CHECK(std::equal(turned.begin(), turned.end(), expected.begin(), expected.end()));
}

TEST_CASE("an inconsistent .npy file is refused with file, offset and reason") {
  const Scratch scratch;
  struct Case {
    std::string dict;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", "byte 44: True or False expected"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "Python objects"},
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "element type '<c8' is not read; bool, int8"},
      {"{'descr': '<u4', 'fortran_order': True, 'shape': (2,), }", "needs 8 bytes, at most 4"},
      {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }", "structured types"},
      {"{'descr': '<f4', 'fortran_order': False, }", "'shape' is missing"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'shape': (1,)}", "given twice"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "dimension (digits) expected"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "needs 8 bytes, at most 4"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }", "bytes follow the end"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,4), }",
       "a tensor of more than 281474976710656 elements"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (0,4611686018427387904,8), }",
       "a tensor of more than 281474976710656 elements"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }", "too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x", "nothing may follow"},
      {"{'descr': '<f4", "quote does not end"},
      {"", "'{' expected"},
  };
  for (const Case& c : cases) {
    const Error error = npy_failure(scratch, npy_file(c.dict, std::string(4, 'x')));
    INFO(c.dict << " -> " << error.message);
    CHECK(error.code == Code::bad_data);
    CHECK(contains(error.message, c.message));
    CHECK(contains(error.message, (scratch / "a.npy").string()));
  }
  CHECK(contains(npy_failure(scratch, "").message, "truncated magic: 8 bytes expected, 0 found"));
  CHECK(contains(npy_failure(scratch, "PK\x03\x04 some zip").message, "byte 0: not a .npy array"));
  CHECK(contains(npy_failure(scratch, std::string("\x93NUMPY\x09\x00\x76\x00", 10)).message, "version 9"));
  CHECK(contains(npy_failure(scratch, std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)).message, "too long"));
}

TEST_CASE("cutting an .npy file anywhere is an error and never a shorter array") {
  const Scratch scratch;
  REQUIRE(write_npy(scratch / "whole.npy", counting({3, 5})).ok());
  const std::string whole = slurp(scratch / "whole.npy");
  for (size_t length = 0; length < whole.size(); ++length) {
    CHECK(npy_failure(scratch, whole.substr(0, length)).code == Code::bad_data);
  }
}

TEST_CASE("missing files, directories and unreadable files are named") {
  const Scratch scratch;
  auto missing = read_npy(scratch / "none.npy");
  REQUIRE(!missing.ok());
  CHECK(missing.error().code == Code::io);
  CHECK(contains(missing.error().message, "none.npy: cannot open for reading: No such file"));
  auto directory = read_npy(scratch.path());
  REQUIRE(!directory.ok());
  CHECK(contains(directory.error().message, "is a directory"));
  CHECK(!write_npy(scratch.path(), counting({1})).ok());
  if (::geteuid() == 0) return;  // root may read everything
  const auto secret = scratch.file("secret.npy", "x");
  REQUIRE(::chmod(secret.c_str(), 0) == 0);
  auto denied = read_npy(secret);
  REQUIRE(!denied.ok());
  CHECK(contains(denied.error().message, "Permission denied"));
}

TEST_CASE("an .npz archive returns its arrays in order") {
  const Scratch scratch;
  const auto path = scratch / "model.npz";
  const std::vector<NamedArray> arrays = {
      {"layer1/w", counting({64, 10})}, {"b", counting({10})}, {"none", counting({0, 3})}};
  REQUIRE(write_npz(path, arrays).ok());
  auto read = required(read_npz(path));
  REQUIRE(read->size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK((*read)[i].name == arrays[i].name);
    CHECK((*read)[i].array.shape == arrays[i].array.shape);
    CHECK((*read)[i].array.data.view() == arrays[i].array.data.view());
  }
}

TEST_CASE("the same arrays give the same .npz bytes") {
  const Scratch scratch;
  REQUIRE(write_npz(scratch / "a.npz", {{"w", counting({300, 7})}}).ok());
  REQUIRE(write_npz(scratch / "b.npz", {{"w", counting({300, 7})}}).ok());
  CHECK(slurp(scratch / "a.npz") == slurp(scratch / "b.npz"));
}

TEST_CASE("an .npz archive without arrays is an empty list") {
  const Scratch scratch;
  REQUIRE(write_npz(scratch / "a.npz", {}).ok());
  auto read = required(read_npz(scratch / "a.npz"));
  CHECK(read->empty());
}

TEST_CASE("a writer destroyed before close leaves no valid archive") {
  const Scratch scratch;
  {
    auto writer = required(NpzWriter::create(scratch / "a.npz"));
    REQUIRE(writer->add("w", counting({100})).ok());
  }
  CHECK(!read_npz(scratch / "a.npz").ok());
}

TEST_CASE("a full disk is an error of writing with the file's name") {
  if (::access("/dev/full", W_OK) != 0) return;
  const Tensor array = counting({300, 1000});
  auto npz = write_npz("/dev/full", {{"w", array}, {"v", array}});
  REQUIRE(!npz.ok());
  CHECK(npz.error().code == Code::io);
  CHECK(contains(npz.error().message, "/dev/full: writing: No space left on device"));
  auto npy = write_npy("/dev/full", array);
  REQUIRE(!npy.ok());
  CHECK(contains(npy.error().message, "/dev/full: writing: No space left on device"));
}

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string only_name_in(const std::filesystem::path& path) {
  auto read = read_npz(path);
  if (!read.ok()) return read.error().message;
  REQUIRE(read->size() == 1);
  return read->front().name;
}

}  // namespace

TEST_CASE("non-ASCII names are preserved, with the zip format's flag for UTF-8") {
  const Scratch scratch;
  for (const std::string& name :
       {std::string("gr\u00f6\u00dfe"), std::string("\u91cd\u307f/1"), std::string("\U0001f600")}) {
    REQUIRE(write_npz(scratch / "a.npz", {{name, counting({3})}}).ok());
    CHECK(only_name_in(scratch / "a.npz") == name);
    const std::string whole = slurp(scratch / "a.npz");
    CHECK((static_cast<unsigned char>(whole[7]) & 8) != 0);                             // of the member
    CHECK((static_cast<unsigned char>(whole[whole.find("PK\x01\x02") + 9]) & 8) != 0);  // of the directory
  }
  REQUIRE(write_npz(scratch / "a.npz", {{"w", counting({3})}}).ok());
  CHECK((static_cast<unsigned char>(slurp(scratch / "a.npz")[7]) & 8) == 0);
}

TEST_CASE("names without the flag for UTF-8 are read as UTF-8 if valid, else as code page 437") {
  const Scratch scratch;
  REQUIRE(write_npz(scratch / "a.npz", {{"abcdefg", counting({3})}}).ok());
  const std::string whole = slurp(scratch / "a.npz");
  const auto named = [&](const std::string& name) {
    return only_name_in(scratch.file("b.npz", replaced(whole, "abcdefg", name)));
  };
  CHECK(named("gr\u00f6\u00dfe") == "gr\u00f6\u00dfe");
  CHECK(named("gr\x94\xe1"
              "e_1") == "gr\u00f6\u00dfe_1");
  CHECK(named("\x80\xff_____") == "\u00c7\u00a0_____");
}

TEST_CASE("array names that an archive cannot hold are refused") {
  const Scratch scratch;
  auto writer = required(NpzWriter::create(scratch / "a.npz"));
  const Tensor array = counting({2});
  for (const std::string& name : {std::string(), std::string("a\nb"), std::string("\xc3"), std::string("\xed\xa0\x80"),
                                  std::string("/x"), std::string(" x"), std::string(2000, 'x')}) {
    auto added = writer->add(name, array);
    REQUIRE(!added.ok());
    CHECK(added.error().code == Code::bad_argument);
  }
  REQUIRE(writer->add("w", array).ok());
  auto twice = writer->add("w", array);
  REQUIRE(!twice.ok());
  CHECK(contains(twice.error().message, "'w' is written twice"));
}

TEST_CASE("a damaged .npz archive is refused with file and array") {
  const Scratch scratch;
  REQUIRE(write_npz(scratch / "a.npz", {{"first", counting({8})}, {"second", counting({40})}}).ok());
  const std::string whole = slurp(scratch / "a.npz");
  for (size_t length = 0; length < whole.size(); length += 7) {
    auto cut = read_npz(scratch.file("cut.npz", whole.substr(0, length)));
    INFO("cut to " << length);
    REQUIRE(!cut.ok());
    CHECK(contains(cut.error().message, "cut.npz"));
  }
  std::string flipped = whole;
  flipped[flipped.rfind("{'descr'") + 130] ^= 1;  // inside the data of the second array: only the CRC detects this
  auto read = read_npz(scratch.file("flipped.npz", flipped));
  REQUIRE(!read.ok());
  INFO(read.error().message);
  CHECK(read.error().code == Code::bad_data);
  CHECK(contains(read.error().message, "array 'second'"));
  CHECK(contains(read.error().message, "CRC"));
  CHECK(contains(read_npz(scratch.file("text.npz", "hello")).error().message, "not an .npz file"));
  CHECK(!read_npz(scratch.file("empty.npz", "")).ok());
  CHECK(!read_npz(scratch / "missing.npz").ok());
  CHECK(!read_npz(scratch.path()).ok());
}

TEST_CASE("mutated .npz archives and .npy files never crash and never pass as another shape's bytes") {
  const Scratch scratch;
  REQUIRE(write_npz(scratch / "a.npz", {{"w", counting({16})}, {"v", counting({2, 2})}}).ok());
  REQUIRE(write_npy(scratch / "a.npy", counting({16})).ok());
  const std::string zip = slurp(scratch / "a.npz");
  const std::string npy = slurp(scratch / "a.npy");
  const uint64_t seed = 20240607;
  INFO("seed " << seed);
  Rng rng(seed);
  size_t refused = 0;
  for (int round = 0; round < 1500; ++round) {
    if (auto read = read_npz(scratch.file("m.npz", mutate(zip, rng))); read.ok()) {
      for (const NamedArray& item : *read) CHECK(item.array.data.size() == item.array.bytes());
    } else {
      ++refused;
    }
    if (auto read = read_npy(scratch.file("m.npy", mutate(npy, rng))); read.ok()) {
      CHECK(read->data.size() == read->bytes());
    } else {
      ++refused;
    }
  }
  CHECK(refused > 1000);
}
