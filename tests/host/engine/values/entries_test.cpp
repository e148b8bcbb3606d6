#include "host/engine/values/entries.hpp"

#include "tests/host/engine/engine_values.hpp"
#include "tests/test.hpp"

namespace {

constexpr Kind kKind{0x0301};

std::vector<Frame> pack(const std::vector<ParamEntry>& entries, bool with_steps) {
  EntryPacker packer(kKind, 3, 17, "", with_steps);
  for (const ParamEntry& entry : entries) packer.add(entry);
  std::vector<Frame> frames;
  packer.finish(frames);
  return frames;
}

std::vector<ParamEntry> unpack(const std::vector<Frame>& frames, bool with_steps) {
  std::vector<ParamEntry> out;
  for (const Frame& frame : frames) {
    Unpacker in(frame.meta.view());
    const Status read = read_entries(in, frame.body, with_steps, out);
    REQUIRE(read.ok());
  }
  return out;
}

std::vector<ParamEntry> sample_entries() {
  LuaValue lua = lua_of("a table");
  lua.tensors.push_back(plain(tensor_of<double>({1, 2, 3, 4}, {2, 2})));
  return {{key_of(1), tensor_of<float>({1, 2, 3}), 5},
          {key_of("w"), tensor_of<double>({4, 5}, {2, 1}), 6},
          {key_of("gone"), std::monostate{}, 0},
          {key_of("t"), std::move(lua), 7},
          {key_of("f"), ParamFetch{}, 8},
          {key_of("empty"), tensor_of<float>({}, {0, 4}), 9}};
}

// Changes some bytes of `bytes` in one of several ways.
std::string mutated_meta(Rng& rng, std::string bytes) {
  const auto at = [&] { return rng.below(bytes.size() + 1); };
  switch (rng.below(4)) {
    case 0: bytes.resize(at()); break;
    case 1: bytes.insert(at(), 1 + rng.below(9), static_cast<char>(rng.next())); break;
    default:
      for (uint64_t n = 1 + rng.below(4); n > 0 && !bytes.empty(); --n) {
        static const char kLoved[] = {0, 1, 2, 3, 4, 5, '\x7f', '\x80', '\xff'};
        bytes[rng.below(bytes.size())] =
            rng.below(2) == 0 ? kLoved[rng.below(sizeof kLoved)] : static_cast<char>(rng.next());
      }
  }
  return bytes;
}

}  // namespace

TEST_CASE("entries of every kind survive packing and reading") {
  const std::vector<ParamEntry> sent = sample_entries();
  for (const bool with_steps : {false, true}) {
    const std::vector<Frame> frames = pack(sent, with_steps);
    REQUIRE(frames.size() == 1);
    CHECK((frames[0].flags & kLastFrame) != 0);
    CHECK(frames[0].tag == 17);
    const std::vector<ParamEntry> got = unpack(frames, with_steps);
    REQUIRE(got.size() == sent.size());
    for (size_t i = 0; i < sent.size(); ++i) {
      CHECK(got[i].key == sent[i].key);
      CHECK(got[i].step == (with_steps ? sent[i].step : 0));
      CHECK(got[i].value.index() == sent[i].value.index());
    }
    CHECK(values_of<float>(std::get<ParamTensor>(got[0].value)) == std::vector<float>{1, 2, 3});
    CHECK(std::get<ParamTensor>(got[1].value).shape == shape_of({2, 1}));
    CHECK(std::get<ParamTensor>(got[5].value).shape == shape_of({0, 4}));
    const auto& lua = std::get<LuaValue>(got[3].value);
    CHECK(lua.encoded.view() == "a table");
    CHECK(values_of<double>(lua.tensors.at(0)) == std::vector<double>{1, 2, 3, 4});
  }
}

TEST_CASE("a tensor of integers is refused as a value and accepted inside a Lua value") {
  ParamTensor whole = tensor_of<float>({1, 2, 3});
  whole.dtype = Dtype::i32;
  LuaValue lua = lua_of("a table");
  lua.tensors.push_back(plain(whole));
  const std::vector<ParamEntry> got = unpack(pack({{key_of("t"), std::move(lua), 7}}, false), false);
  CHECK(std::get<LuaValue>(got.at(0).value).tensors.at(0).dtype == Dtype::i32);
  const std::vector<Frame> frames = pack({{key_of("w"), whole, 0}}, false);
  Unpacker in(frames.at(0).meta.view());
  std::vector<ParamEntry> out;
  CHECK_FALSE(read_entries(in, frames.at(0).body, false, out).ok());
}

TEST_CASE("a big tensor is sent in chunks by reference, small entries share a frame") {
  const size_t n = 3 * kChunkBytes / 4 + 5;
  const ParamTensor big = tensor_of(std::vector<float>(n, 2.5F));
  const std::vector<Frame> frames =
      pack({{key_of(1), tensor_of<float>({1}), 0}, {key_of(2), big, 0}, {key_of(3), tensor_of<float>({2}), 0}}, false);
  REQUIRE(frames.size() == 5);
  CHECK(frames[1].body.data() == big.data.data());
  CHECK(frames[3].body.data() == big.data.data() + 2 * kChunkBytes);
  for (size_t i = 0; i < frames.size(); ++i) CHECK(((frames[i].flags & kLastFrame) != 0) == (i + 1 == frames.size()));
  const std::vector<ParamEntry> got = unpack(frames, false);
  REQUIRE(got.size() == 6);
  const auto& last = std::get<ParamTensor>(got[4].value);
  CHECK(last.first == 3 * kChunkBytes / 4);
  CHECK(last.count == 5);
  CHECK(last.shape.elements() == n);
}

TEST_CASE("an empty message is one frame") {
  const std::vector<Frame> frames = pack({}, false);
  REQUIRE(frames.size() == 1);
  CHECK(unpack(frames, false).empty());
}

TEST_CASE("long lists of keys are cut into frames") {
  std::vector<ParamKey> keys;
  for (int i = 0; i < 3000; ++i) keys.push_back(ParamKey::of(std::string(1000, 'k') + std::to_string(i)).value());
  std::vector<Frame> frames;
  pack_keys(kKind, 3, 5, "", keys, frames);
  CHECK(frames.size() > 5);
  std::vector<ParamKey> got;
  for (const Frame& frame : frames) {
    CHECK(frame.meta.size() < FrameLimits().meta_bytes);
    Unpacker in(frame.meta.view());
    REQUIRE(read_keys(in, got).ok());
  }
  CHECK(got == keys);
}

TEST_CASE("hostile bytes give bad data or harmless values, without other effects") {
  const uint64_t seed = 20260301;
  CAPTURE(seed);
  Rng rng(seed);
  const Frame good = pack(sample_entries(), true).at(0);
  size_t refused = 0;
  for (int i = 0; i < 60000; ++i) {
    Frame bad = good;
    const std::string meta = mutated_meta(rng, std::string(good.meta.view()));
    bad.meta.assign(meta.data(), meta.size());
    if (rng.below(4) == 0) bad.body = good.body.slice(0, rng.below(good.body.size() + 1));
    std::vector<ParamEntry> out;
    Unpacker in(bad.meta.view());
    const Status read = read_entries(in, bad.body, true, out);
    if (!read.ok()) {
      ++refused;
      REQUIRE(read.error().code == Code::bad_data);
      continue;
    }
    // Accepted data must be within the body: touch all of it.
    for (const ParamEntry& entry : out) {
      if (const auto* t = std::get_if<ParamTensor>(&entry.value)) {
        REQUIRE(t->data.size() == t->bytes());
        (void)Blob::copy_of(t->data.view());
      }
    }
    std::vector<ParamKey> keys;
    Unpacker again(bad.meta.view());
    (void)read_keys(again, keys).ok();
  }
  CHECK(refused > 30000);
}

TEST_CASE("a count larger than the frame allocates no memory") {
  Packer meta;
  meta.put(uint32_t{0xffffffff});
  Unpacker in(meta.bytes());
  std::vector<ParamEntry> out;
  CHECK_FALSE(read_entries(in, Blob(), false, out).ok());
  CHECK(out.capacity() < 1000);
}
