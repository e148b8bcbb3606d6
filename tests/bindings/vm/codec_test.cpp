#include "bindings/vm/lua_codec.hpp"
#include "host/base/random.hpp"
#include "tests/bindings/vm_fixture.hpp"
#include "tests/test.hpp"

namespace {

std::string encoded(VmFixture& f, const std::string& expression) {
  f.push(expression);
  auto result = encode_value(f.vm->state(), -1);
  if (!result.ok()) FAIL(result.error().message);
  lua_settop(f.vm->state(), 0);
  return result->bytes;
}

const char* const kCodecSamples[] = {
    "{op = 'put', key = 'user:1234', f = 1.5, n = {1, 2, 3, {4, 5, {x = 1, y = 'z'}}}, b = true, i = 123456789012LL}",
    "(function() local p = {} for i = 1, 50 do p[i] = {'w' .. i, i} end return p end)()",
    "(function() local p = {} for i = 1, 50 do p['k' .. i] = {i, tostring(i), {a = i}} end return p end)()",
    "'hello'",
    "3.25",
    "{}",
    "{[0] = 1, 2, 3}",
    "{[1] = 1, [1000] = 2, [2.5] = 3, [true] = 4}",
    "(function() local p = {} for i = 1, 300 do p[i] = i % 3 == 0 and ('x'):rep(i) or i end return p end)()",
    "{-0.0, 1/0, -1/0, 2^31, -2^31, 2^53, 18446744073709551615ULL, -1LL}",
    "{{{{{{{{{{'deep'}}}}}}}}}}"};

// Reads the whole value on top of the stack, to touch a broken table or string.
size_t touch(lua_State* L, int depth = 0) {
  size_t sum = 0;
  switch (lua_type(L, -1)) {
    case LUA_TSTRING: {
      size_t size = 0;
      const char* text = lua_tolstring(L, -1, &size);
      for (size_t i = 0; i < size; ++i) sum += static_cast<unsigned char>(text[i]);
      break;
    }
    case LUA_TTABLE:
      lua_checkstack(L, 4);
      sum += lua_objlen(L, -1);
      lua_pushnil(L);
      while (lua_next(L, -2) != 0) {
        sum += touch(L, depth + 1);
        lua_pop(L, 1);
      }
      break;
    default: sum += reinterpret_cast<uintptr_t>(lua_topointer(L, -1)) & 1U;
  }
  return sum;
}

std::string damaged_value(std::string text, Rng& rng) {
  static constexpr unsigned char kTags[] = {0, 8, 9, 10, 11, 12, 13, 14, 15, 4, 5, 255, 0xe0, 16, 17, 18};
  const uint64_t changes = 1 + rng.below(6);
  for (uint64_t i = 0; i < changes && !text.empty(); ++i) {
    const size_t at = rng.below(text.size());
    switch (rng.below(5)) {
      case 0: text[at] = static_cast<char>(rng.below(256)); break;
      case 1: text[at] = static_cast<char>(text[at] ^ (1 << rng.below(8))); break;
      case 2: text.resize(1 + rng.below(text.size())); break;
      case 3: text[at] = static_cast<char>(rng.below(32)); break;
      default: text[at] = static_cast<char>(kTags[rng.below(sizeof kTags)]);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("decoded values equal the encoded values") {
  VmFixture f;
  lua_State* L = f.vm->state();
  f.push("require('actor').hash");
  for (const char* sample : kCodecSamples) {
    INFO(sample);
    const std::string bytes = encoded(f, sample);
    REQUIRE(check_value(bytes).ok());
    f.push(sample);
    const auto before = hash_value(L, -1);
    REQUIRE(decode_value(L, bytes).ok());
    const auto after = hash_value(L, -1);
    CHECK(*before == *after);
    lua_settop(L, 0);
  }
}

TEST_CASE("output of LuaJIT's own encoder passes the check and decodes to the same value") {
  VmFixture f;
  lua_State* L = f.vm->state();
  for (const char* sample : kCodecSamples) {
    INFO(sample);
    f.push(std::string("require('string.buffer').encode(") + sample + ")");
    size_t size = 0;
    const char* text = lua_tolstring(L, -1, &size);
    REQUIRE(check_value({text, size}).ok());
    REQUIRE(decode_value(L, {text, size}).ok());
    f.push(sample);
    CHECK(*hash_value(L, -1) == *hash_value(L, -2));
    lua_settop(L, 0);
  }
}

TEST_CASE("output of the codec is byte for byte the documented encoding") {
  VmFixture f;
  CHECK(encoded(f, "{1, 2}") == std::string("\x0c\x03\x06\x01\0\0\0\x06\x02\0\0\0", 12));
  CHECK(encoded(f, "{true, x = 'y'}") == std::string("\x0d\x02\x01\x02\x21x\x21y", 8));
  CHECK(encoded(f, "{a = false}") == std::string("\x09\x01\x21"
                                                 "a\x01",
                                                 5));
  CHECK(encoded(f, "{}") == std::string("\x08", 1));
  CHECK(encoded(f, "-0.0") == std::string("\x07\0\0\0\0\0\0\0\x80", 9));
}

TEST_CASE("limits of the encoder are errors with the path, and leave the stack unchanged") {
  VmFixture f;
  lua_State* L = f.vm->state();
  actorhost::ValueLimits limits{.depth = 3};
  f.push("{a = {{b = {}}}}");
  CHECK(encode_value(L, -1, "update", limits).error().message ==
        "update.a[1].b is nested too deeply (more than 3 tables)");
  limits = {};
  limits.slots = 4;
  f.push("{1, 2, 3, 4, 5}");
  CHECK_THAT(encode_value(L, -1, "update", limits).error().message, Contains("update is too large: more than 4"));
  f.push("(function() local t = {} for i = 1, 100 do t[i] = {i} end return t end)()");
  limits.slots = 300;  // 101 tables, 200 items
  CHECK_THAT(encode_value(L, -1, "update", limits).error().message, Contains("too large: more than 300"));
  limits.slots = 301;
  CHECK(encode_value(L, -1, "update", limits).ok());
  lua_pop(L, 2);
  limits = {};
  limits.bytes = 10;
  f.push("('x'):rep(100)");
  CHECK_THAT(encode_value(L, -1, "update", limits).error().message,
             Contains("update takes 10") && Contains("limit is 10"));
  CHECK(lua_gettop(L) == 3);
  CHECK(encode_value(L, -1).ok());
  CHECK(lua_gettop(L) == 4);
}

TEST_CASE("bytes that encode no value are refused and leave the stack unchanged") {
  VmFixture f;
  lua_State* L = f.vm->state();
  CHECK(failure_of(decode_value(L, std::string_view("\x0a\xff\0\0\0\x10", 6))).code == Code::bad_data);
  // The check accepts a repeated key; the decoder refuses it.
  CHECK_THAT(decode_value(L,
                          "\x09\x02\x21"
                          "a\x01\x21"
                          "a\x01")
                 .error()
                 .message,
             Contains("duplicate table key"));
  CHECK(lua_gettop(L) == 0);
}

TEST_CASE("a million mutated encodings neither crash nor pass the check with an unsound value", "[deep]") {
  const uint64_t seed = std::getenv("ACTORHOST_TEST_SEED") != nullptr
                            ? std::strtoull(std::getenv("ACTORHOST_TEST_SEED"), nullptr, 10)
                            : 1;
  INFO("seed " << seed);
  VmFixture f;
  lua_State* L = f.vm->state();
  Rng rng(seed);
  std::vector<std::string> samples;
  for (const char* sample : kCodecSamples) samples.push_back(encoded(f, sample));
  f.push("{'first', 'second'}");
  size_t decoded = 0;
  size_t refused = 0;
  size_t sum = 0;
#ifdef ACTORHOST_SANITIZED
  const int rounds = 200000;
#else
  const int rounds = 1000000;
#endif
  for (int i = 0; i < rounds; ++i) {
    const std::string text = damaged_value(samples[rng.below(samples.size())], rng);
    if (decode_value(L, text, 1).ok()) {
      ++decoded;
      sum += touch(L);
      lua_settop(L, 1);
    } else {
      ++refused;
    }
  }
  INFO("decoded " << decoded << ", refused " << refused << ", sum " << sum);
  CHECK(decoded > 10000);
  CHECK(refused > 10000);
}
