// Lets the bytes act as the other process of a shared ring: each 9 bytes store a number in one of the ring's shared
// variables, or read or write some bytes. The ends of the ring access their memory only, and report impossible numbers.

#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "host/net/shared_ring.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace actorhost;
  constexpr size_t kMost = size_t{32} << 10;
  const auto memory = std::make_unique<std::byte[]>(kMost);
  RingState state;
  RingWriter writer(state, memory.get(), kMost);
  RingReader reader(state, memory.get(), kMost);
  std::span<const uint8_t> left(data, size);
  for (; left.size() >= 9; left = left.subspan(9)) {
    uint64_t number = 0;
    std::memcpy(&number, left.data() + 1, sizeof number);
    const auto room = std::make_unique<std::byte[]>(number % 70'000);
    const Piece piece{room.get(), number % 70'000};
    IoResult result{IoEnd::would_block};
    switch (left[0] % 6) {
      case 0: state.written.store(number); break;
      case 1: state.read.store(number); break;
      case 2: state.size.store(number); break;
      case 3: state.size.store(uint64_t{1} << number % 64); break;
      case 4: result = reader.read(&piece, 1); break;
      default: result = writer.write(&piece, 1); break;
    }
    if (result.bytes > piece.size) std::abort();
    if (result.end == IoEnd::failed) break;
  }
  return 0;
}
