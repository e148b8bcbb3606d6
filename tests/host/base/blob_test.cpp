#include "host/base/blob.hpp"

#include "tests/test.hpp"

TEST_CASE("a blob extends only by the bytes directly behind it in the same block") {
  const Blob block = Blob::copy_of("abcdef");
  Blob first = block.slice(0, 2);
  CHECK_FALSE(first.extend(block.slice(3, 2)));              // a gap
  CHECK_FALSE(first.extend(block.slice(0, 2)));              // itself
  CHECK_FALSE(first.extend(Blob::copy_of("cd")));            // another block
  CHECK_FALSE(first.extend(block.slice(2, 2).lent([] {})));  // lent
  CHECK_FALSE(Blob().extend(block.slice(0, 1)));
  CHECK(first.view() == "ab");
  CHECK(first.extend(block.slice(2, 3)));
  CHECK(first.view() == "abcde");
  CHECK(first.extend(block.slice(5, 1)));
  CHECK(first.view() == "abcdef");
  CHECK(first.data() == block.data());
}

TEST_CASE("the bytes of a blob are aligned and exclusive at every size") {
  std::vector<Blob> blobs;
  for (const size_t size : {1, 2, 63, 64, 65, 511, 512, 1000, 1024, 4095, 4096, 4097, 65535, 65536, 300000}) {
    for (int i = 0; i < 3; ++i) {
      blobs.push_back(Blob::allocate(size));
      CHECK(reinterpret_cast<uintptr_t>(blobs.back().data()) % kBlobAlignment == 0);
      std::fill_n(blobs.back().data(), size, static_cast<std::byte>(blobs.size()));
    }
  }
  for (size_t i = 0; i < blobs.size(); ++i) {
    const auto whole = static_cast<std::byte>(i + 1);
    CHECK(std::count(blobs[i].data(), blobs[i].data() + blobs[i].size(), whole) ==
          static_cast<std::ptrdiff_t>(blobs[i].size()));
  }
}

TEST_CASE("foreign bytes are released once, and are never unique") {
  char bytes[] = "abcdef";
  int released = 0;
  Blob part;
  {
    const Blob whole = Blob::foreign(bytes, 6, [&] { ++released; });
    CHECK(whole.view() == "abcdef");
    CHECK(whole.chars() == bytes);
    CHECK_FALSE(whole.unique());
    part = whole.slice(2, 3);
  }
  CHECK(released == 0);
  CHECK(part.view() == "cde");
  CHECK_FALSE(part.unique());
  part = Blob();
  CHECK(released == 1);
}
