#include "host/base/copy_bytes.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <catch2/catch.hpp>

using namespace actorhost;

TEST_CASE("copies move all bytes and no others, for any size and alignment") {
  constexpr size_t kLarge = size_t{256} << 10;  // from here on bytes are moved in another way
  for (const size_t size : {size_t{0}, size_t{1}, size_t{63}, kLarge - 1, kLarge, kLarge + 1, 3 * kLarge + 17}) {
    for (const size_t from_offset : {0, 1, 33}) {
      for (const size_t to_offset : {0, 7, 64}) {
        std::vector<unsigned char> from(size + 128);
        std::vector<unsigned char> to(size + 128, 0xEE);
        for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 31 + i / 256);
        copy_bytes(to.data() + to_offset, from.data() + from_offset, size);
        const unsigned char* copied = to.data() + to_offset;
        const unsigned char* const end = to.data() + to.size();
        const auto untouched = [](unsigned char c) { return c == 0xEE; };
        REQUIRE(std::equal(copied, copied + size, from.data() + from_offset));
        REQUIRE(std::all_of<const unsigned char*>(to.data(), copied, untouched));
        REQUIRE(std::all_of(copied + size, end, untouched));
      }
    }
  }
}
