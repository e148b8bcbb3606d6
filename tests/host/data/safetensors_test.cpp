#include "host/data/content/safetensors.hpp"

#include "tests/host/data/scratch.hpp"
#include "tests/test.hpp"

namespace {

std::string with_length(const std::string& header, const std::string& data, uint64_t length) {
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data;
}
std::string with_length(const std::string& header, const std::string& data = "") {
  return with_length(header, data, header.size());
}

/// A header with the tensor 'a' of these fields.
std::string header_of(const std::string& fields) { return R"({"a":{)" + fields + "}}"; }

Tensor bytes_of(std::vector<uint8_t> values) {
  Tensor array{{Dtype::u8, {static_cast<int64_t>(values.size())}}, {}};
  array.data = Blob::copy_of(values.data(), values.size());
  return array;
}

}  // namespace

TEST_CASE("each damage of a .safetensors file is an error with the file and the reason") {
  const Scratch scratch;
  const auto path = scratch / "a.safetensors";
  const std::string two(2, 'x');
  const std::string good = R"("dtype":"U8","shape":[2],"data_offsets":[0,2])";
  const std::pair<std::string, const char*> cases[] = {
      {"", "truncated header length: 8 bytes expected, 0 found"},
      {"1234567", "truncated header length: 8 bytes expected, 7 found"},
      {with_length("{}", "", 3), "the header has 3 bytes, but the file has 10"},
      {with_length("{}", "", UINT64_MAX), "the header has 18446744073709551615 bytes"},
      {with_length(std::string(100'000'001, ' ')), "and a header has at most 100000000"},
      {with_length(""), "the header does not begin with '{'"},
      {with_length(" {}"), "the header does not begin with '{'"},
      {with_length("[]"), "the header does not begin with '{'"},
      {with_length("{"), "the header is no JSON object: "},
      {with_length("{}x"), "the header is no JSON object: "},
      {with_length("{\"\xff\":1}"), "the header is no JSON object: "},
      {with_length(header_of(R"("dtype":"F64","shape":[9e999],"data_offsets":[0,2])"), two), "no JSON object: "},
      {with_length(R"({"a":[[[[[[]]]]]]})"), "more than 4 levels"},
      {with_length(R"({"a":{},"a":{}})"), "the header has the name 'a' twice in one object"},
      {with_length(header_of(R"("dtype":"U8","dtype":"I8","shape":[2],"data_offsets":[0,2])"), two),
       "the name 'dtype' twice"},
      {with_length(R"({"__metadata__":{"k":"a","k":"b"}})"), "the name 'k' twice"},
      {with_length(R"({"__metadata__":[]})"), "__metadata__ is no object"},
      {with_length(R"({"__metadata__":{"k":1}})"), "__metadata__: the value of 'k' is no text"},
      {with_length(R"({"a":1})"), "tensor 'a': an object with dtype, shape and data_offsets expected"},
      {with_length(header_of(good + R"(,"x":1)"), two), "tensor 'a': unknown key 'x'"},
      {with_length(header_of(R"("shape":[2],"data_offsets":[0,2])"), two), "dtype is missing or no text"},
      {with_length(header_of(R"("dtype":7,"shape":[2],"data_offsets":[0,2])"), two), "dtype is missing or no text"},
      {with_length(header_of(R"("dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2])"), two),
       "element type 'F8_E4M3' is not read; F32, F64, F16, BF16, BOOL, U8, I8, U16, I16, U32, I32, U64, I64 are"},
      {with_length(header_of(R"("dtype":"U8","data_offsets":[0,2])"), two), "shape is missing or no array"},
      {with_length(header_of(R"("dtype":"U8","shape":[-2],"data_offsets":[0,2])"), two), "no whole number"},
      {with_length(header_of(R"("dtype":"U8","shape":[2.0],"data_offsets":[0,2])"), two), "no whole number"},
      {with_length(header_of(R"("dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,2])"), two),
       "no whole number from 0 to 2^63 - 1"},
      {with_length(header_of(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])")), "tensor 'a': "},
      {with_length(header_of(R"("dtype":"U8","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,2])"), two), "tensor 'a': "},
      {with_length(header_of(R"("dtype":"U8","shape":[2])"), two), "data_offsets is missing or not two whole numbers"},
      {with_length(header_of(R"("dtype":"U8","shape":[2],"data_offsets":[0,2,3])"), two), "not two whole numbers"},
      {with_length(header_of(R"("dtype":"U8","shape":[2],"data_offsets":[-1,1])"), two), "not two whole numbers"},
      {with_length(header_of(R"("dtype":"U8","shape":[2],"data_offsets":[2,0])"), two),
       "data_offsets [2, 0] end before they begin"},
      {with_length(header_of(R"("dtype":"U8","shape":[3],"data_offsets":[0,3])"), two),
       "data_offsets [0, 3] exceed the 2 bytes of data in the file"},
      {with_length(header_of(R"("dtype":"I16","shape":[2],"data_offsets":[0,2])"), two),
       "shape 2 needs 4 bytes, but data_offsets [0, 2] have 2"},
      {with_length(header_of(good), "xyz"), "bytes 2 to 3 of the data belong to no tensor"},
      {with_length(header_of(R"("dtype":"U8","shape":[1],"data_offsets":[1,2])"), two),
       "bytes 0 to 1 of the data belong to no tensor"},
      {with_length(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],)"
                   R"("data_offsets":[1,3]}})",
                   "xyz"),
       "tensor 'b': data_offsets [1, 3] overlap the previous tensor, which ends at byte 2"},
      {with_length(header_of(R"("dtype":"U64","shape":[1],"data_offsets":[0,8])"), std::string(8, '\xff')),
       "tensor 'a': a uint64 of 2^63 or more"},
  };
  for (const auto& [bytes, reason] : cases) {
    INFO(bytes.substr(0, 200));
    const Error error = failure_of(read_safetensors(scratch.file("a.safetensors", bytes)));
    CHECK(error.code == Code::bad_data);
    CHECK(error.message.starts_with(path.string() + ": "));
    CHECK(contains(error.message, reason));
  }
  CHECK(failure_of(read_safetensors(scratch / "missing")).code == Code::io);
}

TEST_CASE("the header may have other orders, escapes and spaces, and empty tensors between others") {
  const Scratch scratch;
  const std::string header =
      "{ \"b\" : {\"data_offsets\":[2,3], \"shape\":[], \"dtype\":\"BOOL\"},\n"
      "\"e\":{\"dtype\":\"F64\",\"shape\":[0,7],\"data_offsets\":[2,2]},"
      "\"\\u00e4\\u0000\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[0,2]}}   ";
  auto content = required(read_safetensors(scratch.file("a.safetensors", with_length(header, "\x80\x3f\x07"))));
  REQUIRE(content->arrays.size() == 3);
  CHECK(content->arrays[0].name == std::string("ä\0", 3));
  CHECK(content->arrays[0].array.dtype == Dtype::f32);
  CHECK(*reinterpret_cast<const float*>(content->arrays[0].array.data.data()) == 1.0F);
  CHECK(content->arrays[1].name == "e");
  CHECK(content->arrays[1].array.shape == Shape{0, 7});
  CHECK(content->arrays[2].array.data.view() == "\x01");
}

TEST_CASE("a written header ends at a multiple of 8 bytes, for every length of a name") {
  const Scratch scratch;
  const auto path = scratch / "a.safetensors";
  for (size_t length = 1; length < 18; ++length) {
    const Safetensors content{{{std::string(length, 'n'), bytes_of({1, 2, 3})}}, {{"key", "text"}}};
    REQUIRE(write_safetensors(path, content).ok());
    uint64_t header = 0;
    const std::string bytes = slurp(path);
    std::memcpy(&header, bytes.data(), sizeof header);
    CHECK(header % 8 == 0);
    CHECK(bytes.size() == 8 + header + 3);
    auto back = required(read_safetensors(path));
    CHECK(back->metadata == content.metadata);
    CHECK(back->arrays.at(0).name == content.arrays[0].name);
    CHECK(back->arrays.at(0).array.data.view() == "\x01\x02\x03");
  }
}

TEST_CASE("a name of two tensors is an error, and the old file is unchanged") {
  const Scratch scratch;
  const auto path = scratch.file("a.safetensors", "old");
  const Safetensors content{{{"a", bytes_of({1})}, {"a", bytes_of({2})}}, {}};
  const Error error = failure_of(write_safetensors(path, content));
  CHECK(error.code == Code::bad_argument);
  CHECK(contains(error.message, "tensor 'a' cannot be stored: the name is written twice"));
  CHECK(slurp(path) == "old");
}

TEST_CASE("a randomly damaged .safetensors file is read or refused") {
  const Scratch scratch;
  const auto path = scratch / "a.safetensors";
  REQUIRE(write_safetensors(path, {{{"weight", bytes_of({1, 2, 3, 4})}, {"bias", bytes_of({5})}}, {{"k", "v"}}}).ok());
  const std::string good = slurp(path);
  const uint64_t seed = 20261130;
  INFO("seed " << seed);
  Rng rng(seed);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    auto read = read_safetensors(scratch.file("b.safetensors", mutate(good, rng)));
    if (read.ok()) continue;
    ++refused;
    CHECK(read.error().code == Code::bad_data);
  }
  CHECK(refused > 1000);
}
