#include "host/base/copy.hpp"

#include "host/base/random.hpp"
#include "tests/test.hpp"

TEST_CASE("copy_bytes copies exactly the given bytes at every start and end") {
  const uint64_t seed = 1;
  Rng rng(seed);
  INFO("seed " << seed);
  std::vector<std::byte> from(20000);
  for (std::byte& each : from) each = static_cast<std::byte>(rng.below(255));
  for (const size_t whole : {size_t{0}, kPastCaches}) {
    for (int round = 0; round < 2000; ++round) {
      const size_t bytes = rng.below(round % 2 == 0 ? 300 : 10000);
      const size_t source = rng.below(200);
      const size_t begin = 1 + rng.below(200);
      std::vector<std::byte> to(bytes + begin + 1, std::byte{255});
      std::vector<std::byte> wanted = to;
      copy_bytes(to.data() + begin, from.data() + source, bytes, whole);
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(source), bytes,
                  wanted.begin() + static_cast<std::ptrdiff_t>(begin));
      REQUIRE(to == wanted);
    }
  }
}
