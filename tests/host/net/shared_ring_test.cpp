// The ring of shared memory: bytes in order through every wrap and growth, and the values that a damaged or hostile
// process may store in it.

#include "host/net/shared_ring.hpp"

#include <stdexcept>
#include <thread>

#include "host/base/random.hpp"
#include "tests/test.hpp"

namespace {

constexpr size_t kMost = size_t{64} << 10;

struct Ring {
  Ring() : memory(kMost), writer(state, memory.data(), kMost), reader(state, memory.data(), kMost) {}

  size_t write(const std::string& bytes) {
    std::string copy = bytes;
    const Piece piece{reinterpret_cast<std::byte*>(copy.data()), copy.size()};
    const IoResult result = writer.write(&piece, 1);
    check(result);
    return result.bytes;
  }
  std::string read(size_t most) {
    std::string bytes(most, '?');
    const Piece piece{reinterpret_cast<std::byte*>(bytes.data()), most};
    const IoResult result = reader.read(&piece, 1);
    check(result);
    bytes.resize(result.bytes);
    return bytes;
  }
  /// No assertion of Catch2, which only one thread may use.
  static void check(const IoResult& result) {
    if (result.end == IoEnd::failed) throw std::logic_error(result.message);
  }
  IoEnd read_end() {
    std::array<std::byte, 100> bytes{};
    const Piece piece{bytes.data(), bytes.size()};
    return reader.read(&piece, 1).end;
  }
  IoEnd write_end() {
    std::array<std::byte, 100> bytes{};
    const Piece piece{bytes.data(), bytes.size()};
    return writer.write(&piece, 1).end;
  }

  RingState state;
  std::vector<std::byte> memory;
  RingWriter writer;
  RingReader reader;
};

std::string text_of(uint64_t& next, size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(next++ * 31 % 251);
  return bytes;
}

}  // namespace

TEST_CASE("a ring returns all bytes in order, whatever the sizes of writes and reads") {
  Rng rng(Catch::rngSeed());
  for (int round = 0; round < 50; ++round) {
    Ring ring;
    uint64_t written = 0;
    uint64_t read = 0;
    for (int step = 0; step < 300; ++step) {
      const uint64_t largest = uint64_t{1} << rng.below(18);
      uint64_t next = written;
      written += ring.write(text_of(next, 1 + rng.below(largest)));
      const std::string got = ring.read(1 + rng.below(largest));
      REQUIRE(got == text_of(read, got.size()));
    }
    const std::string rest = ring.read(kMost);
    REQUIRE(rest == text_of(read, rest.size()));
    CHECK(read == written);
  }
}

TEST_CASE("a ring begins small, and grows for a large write when it is empty") {
  Ring ring;
  CHECK(ring.state.size == kFirstRingBytes);
  CHECK(ring.write(std::string(10, 'a')) == 10);
  // A ring with unread bytes keeps its size.
  CHECK(ring.write(std::string(kMost, 'b')) == kFirstRingBytes - 10);
  CHECK(ring.write("c") == 0);
  CHECK(ring.read(kMost) == std::string(10, 'a') + std::string(kFirstRingBytes - 10, 'b'));
  CHECK(ring.write(std::string(kFirstRingBytes + 1, 'd')) == kFirstRingBytes + 1);
  CHECK(ring.state.size == 2 * kFirstRingBytes);
  CHECK(ring.read(kMost) == std::string(kFirstRingBytes + 1, 'd'));
  CHECK(ring.write(std::string(10 * kMost, 'e')) == kMost);
  CHECK(ring.read(2 * kMost) == std::string(kMost, 'e'));
}

TEST_CASE("a writer and a reader on two threads lose no byte and no wake-up") {
  Ring ring;
  constexpr uint64_t kBytes = 20'000'000;
  std::thread other([&] {
    Rng rng(Catch::rngSeed());
    uint64_t written = 0;
    while (written < kBytes) {
      uint64_t next = written;
      const size_t some = ring.write(text_of(next, 1 + rng.below(rng.below(50) == 0 ? 100'000 : 200)));
      written += some;
      if (some != 0) continue;
      const uint32_t seen = ring.writer.bell().count();
      ring.writer.bell().arm(Bell::kOne);
      if (!ring.writer.has_room()) ring.writer.bell().wait(seen, kForever);
    }
  });
  uint64_t read = 0;
  bool right = true;
  while (read < kBytes) {
    const std::string got = ring.read(70'000);
    right = right && got == text_of(read, got.size());
    if (!got.empty()) continue;
    const uint32_t seen = ring.reader.bell().count();
    ring.reader.bell().arm(Bell::kOne);
    if (!ring.reader.has_bytes()) ring.reader.bell().wait(seen, kForever);
  }
  other.join();
  CHECK(right);
}

TEST_CASE("impossible values in a ring are reported, and nothing outside of it is accessed") {
  Rng rng(Catch::rngSeed());
  const uint64_t values[] = {0, 1, 3, kFirstRingBytes, kMost, 2 * kMost, uint64_t{1} << 40, UINT64_MAX};
  for (int round = 0; round < 20'000; ++round) {
    Ring ring;
    uint64_t bytes = 0;
    ring.write(text_of(bytes, 1 + rng.below(1000)));
    ring.read(1 + rng.below(1000));
    const auto value = [&] { return rng.below(2) == 0 ? values[rng.below(std::size(values))] : rng.next(); };
    for (uint64_t step = 1 + rng.below(4); step > 0; --step) {
      switch (rng.below(3)) {
        case 0: ring.state.written.store(value()); break;
        case 1: ring.state.read.store(value()); break;
        default: ring.state.size.store(value()); break;
      }
      // Never more than the caller's memory; the sanitizer presets check the ring's.
      const IoEnd read = ring.read_end();
      const IoEnd written = ring.write_end();
      CHECK((read == IoEnd::done || read == IoEnd::would_block || read == IoEnd::failed));
      CHECK((written == IoEnd::done || written == IoEnd::would_block || written == IoEnd::failed));
    }
  }
  Ring ahead;
  ahead.state.written.store(kFirstRingBytes + 1);
  CHECK(ahead.read_end() == IoEnd::failed);
  Ring odd;
  odd.state.written.store(5);
  odd.state.size.store(24);
  CHECK(odd.read_end() == IoEnd::failed);
  Ring large;
  large.state.written.store(5);
  large.state.size.store(2 * kMost);
  CHECK(large.read_end() == IoEnd::failed);
  Ring behind;
  behind.state.read.store(1);
  CHECK(behind.write_end() == IoEnd::failed);
}
