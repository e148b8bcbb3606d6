#include "host/base/blob.hpp"

#include <catch2/catch.hpp>

using namespace actorhost;

TEST_CASE("a blob grows by what lies right behind it in the same block, and by nothing else") {
  const Blob block = Blob::copy_of("abcdef");
  Blob first = block.slice(0, 2);
  CHECK_FALSE(first.extend(block.slice(3, 2)));              // a gap
  CHECK_FALSE(first.extend(block.slice(0, 2)));              // itself
  CHECK_FALSE(first.extend(Blob::copy_of("cd")));            // another block
  CHECK_FALSE(first.extend(block.slice(2, 2).lent([] {})));  // on other terms
  CHECK_FALSE(Blob().extend(block.slice(0, 1)));
  CHECK(first.view() == "ab");
  CHECK(first.extend(block.slice(2, 3)));
  CHECK(first.view() == "abcde");
  CHECK(first.extend(block.slice(5, 1)));
  CHECK(first.view() == "abcdef");
  CHECK(first.data() == block.data());
}
