#include "host/data/content/idx.hpp"

#include "tests/host/data/packed.hpp"
#include "tests/host/data/scratch.hpp"
#include "tests/test.hpp"

namespace {

std::string big32(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string idx(uint32_t magic, const std::vector<uint32_t>& dims, const std::string& data) {
  std::string out = big32(magic);
  for (uint32_t dim : dims) out += big32(dim);
  return out + data;
}

std::string images(uint32_t n) {
  std::string pixels;
  for (uint32_t i = 0; i < n * 6; ++i) pixels += static_cast<char>(i * 5);
  return idx(0x803, {n, 2, 3}, pixels);
}

std::string labels(uint32_t n) {
  std::string classes;
  for (uint32_t i = 0; i < n; ++i) classes += static_cast<char>(i % 10);
  return idx(0x801, {n}, classes);
}

std::string idx_failure(const Scratch& scratch, const std::string& bytes) {
  auto read = read_idx(scratch.file("x-ubyte", bytes));
  REQUIRE(!read.ok());
  CHECK(read.error().code == Code::bad_data);
  CHECK(contains(read.error().message, "x-ubyte"));
  return read.error().message;
}

}  // namespace

TEST_CASE("images and labels are read from plain and compressed files") {
  const Scratch scratch;
  for (const char* filter : {"", "gzip", "zstd"}) {
    INFO("filter '" << filter << "'");
    const auto wrap = [&](const std::string& bytes) { return *filter == '\0' ? bytes : packed(bytes, filter); };
    auto set = required(read_idx_images(scratch.file("i", wrap(images(4))), scratch.file("l", wrap(labels(4)))));
    CHECK(set->n == 4);
    CHECK(set->rows == 2);
    CHECK(set->cols == 3);
    CHECK(set->images.view() == images(4).substr(16));
    CHECK(set->labels.view() == labels(4).substr(8));
  }
}

TEST_CASE("numbers of every IDX type are converted to this machine's order") {
  const Scratch scratch;
  auto i4 = required(read_idx(scratch.file("i4", idx(0xc02, {1, 2}, big32(7) + big32(0xfffffffe)))));
  std::array<int32_t, 2> ints{};
  std::memcpy(ints.data(), i4->data.data(), 8);
  CHECK(ints == std::array<int32_t, 2>{7, -2});
  auto i2 = required(read_idx(scratch.file("i2", idx(0xb01, {2}, std::string("\x01\x02\xff\xfe", 4)))));
  std::memcpy(ints.data(), i2->data.data(), 8);
  CHECK(ints == std::array<int32_t, 2>{258, -2});
  auto f4 = required(read_idx(scratch.file("f4", idx(0xd01, {1}, std::string("\x3f\xc0\0\0", 4)))));
  float value = 0;
  std::memcpy(&value, f4->data.data(), 4);
  CHECK(value == 1.5F);
  auto f8 = required(read_idx(scratch.file("f8", idx(0xe01, {1}, std::string("\xc0\x04\0\0\0\0\0\0", 8)))));
  double wide = 0;
  std::memcpy(&wide, f8->data.data(), 8);
  CHECK(wide == -2.5);
  CHECK(read_idx(scratch.file("none", idx(0x803, {0, 28, 28}, "")))->data.empty());
}

TEST_CASE("an inconsistent IDX file is refused with the found and the expected content") {
  const Scratch scratch;
  CHECK(contains(idx_failure(scratch, ""), "0 bytes are no header"));
  CHECK(contains(idx_failure(scratch, "PK\x03\x04"), "magic 0x504b0304 found, 0x00000803 (images)"));
  CHECK(contains(idx_failure(scratch, idx(0x903, {1, 1, 1}, "x")), "magic 0x00000903"));
  CHECK(contains(idx_failure(scratch, idx(0x8ff, {1}, "x")), "magic 0x000008ff"));
  CHECK(contains(idx_failure(scratch, idx(0x803, {1}, "")), "3 dimensions need 16 bytes of header, 8 found"));
  CHECK(contains(idx_failure(scratch, images(3).substr(0, 30)),
                 "truncated: the dimensions 3 x 2 x 3 need 18 bytes of data, 14 found"));
  CHECK(contains(idx_failure(scratch, images(3) + "!"), "too long: the dimensions 3 x 2 x 3 need 18 bytes"));
  CHECK(contains(idx_failure(scratch, idx(0x803, {0xffffffff, 0xffffffff, 0xffffffff}, "")),
                 "a tensor of more than 281474976710656 elements"));
  CHECK(contains(idx_failure(scratch, packed(images(3), "gzip").substr(0, 30)), "truncated gzip"));
  CHECK(contains(read_idx(scratch.path()).error().message, "is a directory"));
}

TEST_CASE("images and labels of different counts are refused with both counts") {
  const Scratch scratch;
  const auto i = scratch.file("i", images(4));
  const auto l = scratch.file("l", labels(5));
  auto mismatch = read_idx_images(i, l);
  REQUIRE(!mismatch.ok());
  CHECK(contains(mismatch.error().message, "/l: 5 labels found, 4 expected, as many as images in"));
  auto swapped = read_idx_images(l, i);
  REQUIRE(!swapped.ok());
  CHECK(contains(swapped.error().message,
                 "images have magic 0x00000803 (unsigned bytes, 3 dimensions), this file holds uint8 with 1"));
}

TEST_CASE("MNIST is found in a directory under its usual names") {
  const Scratch scratch;
  CHECK(!has_mnist(scratch.path()));
  auto nothing = read_mnist(scratch.path());
  REQUIRE(!nothing.ok());
  CHECK(nothing.error().code == Code::io);
  CHECK(contains(nothing.error().message, "no file train-images-idx3-ubyte or train-images-idx3-ubyte.gz"));
  scratch.file("train-images-idx3-ubyte", images(6));
  scratch.file("train-labels-idx1-ubyte.gz", packed(labels(6), "gzip"));
  scratch.file("t10k-images.idx3-ubyte", images(2));
  CHECK(contains(read_mnist(scratch.path()).error().message, "no file t10k-labels-idx1-ubyte"));
  scratch.file("t10k-labels.idx1-ubyte.gz", packed(labels(2), "gzip"));
  CHECK(has_mnist(scratch.path()));
  auto mnist = required(read_mnist(scratch.path()));
  CHECK(mnist->train.n == 6);
  CHECK(mnist->test.n == 2);
  scratch.file("train-labels-idx1-ubyte.gz", packed(idx(0x801, {6}, std::string("\1\2\3\x0a\5\6", 6)), "gzip"));
  CHECK(contains(read_mnist(scratch.path()).error().message, "label 10 of image 3 found, 0 to 9 expected"));
}

TEST_CASE("mutated IDX files never crash and never pass with another amount of data") {
  const Scratch scratch;
  const uint64_t seed = 4711;
  INFO("seed " << seed);
  Rng rng(seed);
  for (const std::string& whole : {images(5), idx(0xb02, {2, 3}, std::string(12, 'x')), packed(labels(9), "gzip")}) {
    for (int round = 0; round < 1000; ++round) {
      auto read = read_idx(scratch.file("m", mutate(whole, rng)));
      if (read.ok()) CHECK(read->data.size() == read->bytes());
    }
  }
}
