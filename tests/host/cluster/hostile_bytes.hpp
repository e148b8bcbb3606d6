#pragma once
// Feeds a decoder the bytes of a broken or hostile peer: pure noise, every prefix of a good message, and good messages
// with bytes changed, cut and added. The decoder must return; sanitizers check its memory accesses.

#include "host/base/random.hpp"
#include "host/wire/message.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

inline std::string noise(Rng& rng, size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.below(256));
  return bytes;
}

inline std::string mutated(Rng& rng, std::string bytes) {
  for (uint64_t left = 1 + rng.below(4); left > 0; --left) {
    const size_t at = bytes.empty() ? 0 : static_cast<size_t>(rng.below(bytes.size()));
    switch (rng.below(4)) {
      case 0: bytes.insert(at, noise(rng, 1 + rng.below(8))); break;
      case 1: bytes.erase(at, 1 + rng.below(8)); break;
      case 2:
        if (!bytes.empty()) bytes[at] = static_cast<char>(0xff);
        break;
      default:
        if (!bytes.empty()) bytes[at] = static_cast<char>(rng.below(256));
    }
  }
  return bytes;
}

/// A message from the courier of one process to the courier of another.
template <typename M>
Frame between_couriers(ProcessId from, ProcessId to, Kind kind, const M& message) {
  Frame frame = message_frame(kind, courier_address(to), 1, message);
  frame.src = courier_address(from);
  return frame;
}

/// `decode(bytes)` returns whether it accepted them. Returns the number of refused inputs.
template <typename Decode>
size_t feed_hostile(std::string_view good, uint64_t seed, int rounds, Decode decode) {
  Rng rng(seed);
  size_t refused = 0;
  for (size_t size = 0; size < good.size(); ++size) refused += !decode(good.substr(0, size));
  for (int i = 0; i < rounds; ++i) {
    refused += !decode(noise(rng, rng.below(80)));
    refused += !decode(mutated(rng, std::string(good)));
  }
  return refused;
}

}  // namespace actorhost::test
