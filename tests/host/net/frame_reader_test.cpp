#include "host/net/frame_reader.hpp"

#include <new>

#include "host/base/random.hpp"
#include "host/net/send_batch.hpp"
#include "tests/host/net/transport_contract.hpp"
#include "tests/test.hpp"

namespace {

/// The bytes that the batch writes, if each write takes at most `most` bytes.
std::string written(SendBatch& batch, size_t most) {
  std::string bytes;
  std::array<Piece, kMaxPieces> pieces;
  while (!batch.done()) {
    const size_t count = batch.pieces(pieces);
    REQUIRE(count > 0);
    size_t left = most;
    size_t taken = 0;
    for (size_t i = 0; i < count && left != 0; ++i) {
      REQUIRE(pieces[i].size > 0);
      const size_t part = std::min(left, pieces[i].size);
      bytes.append(reinterpret_cast<const char*>(pieces[i].data), part);
      taken += part;
      left -= part;
    }
    batch.advance(taken);
  }
  return bytes;
}

/// Passes `bytes` to the reader, at most `most` at a time.
Status read_all(FrameReader& reader, std::string_view bytes, size_t most, std::vector<Frame>& frames) {
  std::array<Piece, 2> pieces;
  while (!bytes.empty()) {
    const size_t count = reader.room(pieces);
    size_t taken = 0;
    for (size_t i = 0; i < count && taken < most && !bytes.empty(); ++i) {
      const size_t part = std::min({bytes.size(), pieces[i].size, most - taken});
      std::memcpy(pieces[i].data, bytes.data(), part);
      bytes.remove_prefix(part);
      taken += part;
    }
    AH_TRY(reader.received(taken, frames));
  }
  return {};
}

std::string bytes_of(const Frame& frame) {
  SendBatch batch;
  batch.add(frame);
  return written(batch, 1 << 30);
}

}  // namespace

TEST_CASE("a reader decodes the frames that a batch has written, however the bytes are split") {
  const uint64_t seed = 6;
  Rng rng(seed);
  SendBatch batch;
  for (int round = 0; round < 60; ++round) {
    std::vector<std::pair<size_t, size_t>> sizes;
    batch.clear();
    for (uint32_t tag = 0; tag < 40; ++tag) {
      const size_t meta = rng.below(8) == 0 ? rng.below(300000) : rng.below(200);
      const size_t body = rng.below(2) == 0 ? 0 : rng.below(4) == 0 ? rng.below(400000) : rng.below(3000);
      batch.add(test_frame(1, 2, tag, meta, body));
      sizes.emplace_back(meta, body);
    }
    const std::string bytes = written(batch, 1 + rng.below(round % 2 == 0 ? 3000 : 3000000));
    FrameReader reader({});
    std::vector<Frame> frames;
    INFO("seed " << seed << ", round " << round);
    REQUIRE(read_all(reader, bytes, 1 + rng.below(round % 3 == 0 ? 50 : 500000), frames).ok());
    REQUIRE(frames.size() == sizes.size());
    bool right = true;
    for (size_t i = 0; i < frames.size(); ++i) {
      right = right && frames[i].tag == i && is_intact(frames[i], sizes[i].first, sizes[i].second);
    }
    CHECK(right);
  }
}

TEST_CASE("a large body is read into its own block") {
  const std::string bytes = bytes_of(test_frame(0, 1, 7, 0, 5000000));
  FrameReader reader({});
  std::vector<Frame> frames;
  std::array<Piece, 2> pieces;
  const size_t first = FrameReader::kBufferBytes;
  REQUIRE(read_all(reader, std::string_view(bytes).substr(0, first), first, frames).ok());
  REQUIRE(reader.room(pieces) == 2);
  CHECK(pieces[0].size == bytes.size() - first);
  const std::byte* block = pieces[0].data;
  REQUIRE(read_all(reader, std::string_view(bytes).substr(first), bytes.size(), frames).ok());
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].body.data() + (first - 64) == block);
  CHECK(is_intact(frames[0], 0, 5000000));
}

TEST_CASE("a large body is read into its receive buffer, with its first bytes from the buffer") {
  const size_t large = 200000;
  Blob room = Blob::allocate(large);
  std::vector<size_t> requested;
  const auto room_for = [&](const Frame& head, size_t bytes) {
    requested.push_back(bytes);
    return head.tag == 2 ? room : Blob();
  };
  FrameReader reader({}, room_for);
  std::vector<Frame> frames;
  std::string bytes;
  for (const auto& [tag, size] : {std::pair{1U, size_t{1000}}, {2U, large}, {3U, large}, {4U, size_t{0}}}) {
    bytes += bytes_of(test_frame(0, 1, tag, 40, size));
  }
  REQUIRE(read_all(reader, bytes, 30000, frames).ok());
  REQUIRE(frames.size() == 4);
  CHECK(frames[1].body.data() == room.data());
  CHECK(frames[2].body.data() != room.data());
  CHECK(is_intact(frames[0], 40, 1000));
  CHECK(is_intact(frames[1], 40, large));
  CHECK(is_intact(frames[2], 40, large));
  CHECK(requested == std::vector<size_t>{large, large});  // small bodies have no receive buffer
}

TEST_CASE("large bodies after a large body pass only their first bytes through the buffer") {
  FrameReader reader({});
  std::vector<Frame> frames;
  std::array<Piece, 2> pieces;
  const size_t body = 200000;
  REQUIRE(read_all(reader, bytes_of(test_frame(0, 1, 1, 0, body)), 1 << 30, frames).ok());
  const size_t room = reader.room(pieces);
  REQUIRE(room == 1);
  CHECK(pieces[0].size < 1000);
  std::string next = bytes_of(test_frame(0, 1, 2, 0, body));
  next.resize(pieces[0].size);
  REQUIRE(read_all(reader, next, next.size(), frames).ok());
  REQUIRE(reader.room(pieces) == 2);
  CHECK(pieces[0].size > body - 1000);
  CHECK(pieces[1].size < 1000);
}

TEST_CASE("small frames after a large body are read many at a time") {
  FrameReader reader({});
  std::vector<Frame> frames;
  std::array<Piece, 2> pieces;
  REQUIRE(read_all(reader, bytes_of(test_frame(0, 1, 1, 0, 200000)), 1 << 30, frames).ok());
  REQUIRE(read_all(reader, bytes_of(test_frame(0, 1, 2, 0, 10)), 1 << 30, frames).ok());
  REQUIRE(reader.room(pieces) == 1);
  CHECK(pieces[0].size == FrameReader::kBufferBytes);
  CHECK(frames.size() == 2);
}

TEST_CASE("frames before a malformed frame are decoded, and none after it") {
  std::string bytes = bytes_of(test_frame(0, 1, 1)) + bytes_of(test_frame(0, 1, 2));
  std::string bad = bytes_of(test_frame(0, 1, 3));
  SECTION("wrong magic") { bad[0] = 'X'; }
  SECTION("wrong version") { bad[2] = 99; }
  SECTION("reserved field") { bad[6] = 1; }
  SECTION("unknown kind") { bad[5] = 0x55; }
  SECTION("transport kind that is none") { std::memcpy(&bad[4], "\x09\x00", 2); }
  SECTION("huge metadata") { bad[23] = 0x7f; }
  SECTION("huge body") { bad[30] = 0x7f; }
  FrameReader reader({});
  std::vector<Frame> frames;
  CHECK(failure_of(read_all(reader, bytes + bad + bytes, 1 << 20, frames)).code == Code::bad_data);
  CHECK(frames.size() == 2);
}

TEST_CASE("a body without memory is an error, and the frames before it are decoded") {
  const auto room_for = [](const Frame&, size_t) -> Blob { throw std::bad_alloc(); };
  FrameReader reader({}, room_for);
  std::vector<Frame> frames;
  const std::string bytes = bytes_of(test_frame(0, 1, 1, 5, 10)) + bytes_of(test_frame(0, 1, 2, 0, 200000));
  const Status status = read_all(reader, bytes, 1 << 20, frames);
  CHECK(failure_of(status).code == Code::full);
  CHECK(failure_of(status).message == "there is no memory for a frame of 200000 bytes");
  CHECK(frames.size() == 1);
}

TEST_CASE("limits on sizes hold exactly") {
  const FrameLimits limits{.meta_bytes = 100, .body_bytes = 1000};
  FrameReader fits(limits);
  std::vector<Frame> frames;
  CHECK(read_all(fits, bytes_of(test_frame(0, 1, 1, 100, 1000)), 5000, frames).ok());
  CHECK(frames.size() == 1);
  FrameReader meta(limits);
  CHECK_FALSE(read_all(meta, bytes_of(test_frame(0, 1, 1, 101, 0)), 5000, frames).ok());
  FrameReader body(limits);
  CHECK_FALSE(read_all(body, bytes_of(test_frame(0, 1, 1, 0, 1001)), 5000, frames).ok());
}

TEST_CASE("random bytes after a valid header never crash the reader") {
  const uint64_t seed = 8;
  Rng rng(seed);
  size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = bytes_of(test_frame(0, 1, 1, rng.below(64), rng.below(64)));
    for (uint64_t flips = rng.below(4); flips-- > 0;) {
      bytes.at(rng.below(bytes.size())) ^= static_cast<char>(1U << rng.below(8));
    }
    FrameReader reader({.meta_bytes = 1 << 16, .body_bytes = 1 << 16});
    std::vector<Frame> frames;
    if (!read_all(reader, bytes + bytes, 1 + rng.below(200), frames).ok()) ++refused;
  }
  CHECK(refused > 1000);
}
