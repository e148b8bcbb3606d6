#include "bindings/modules/engine/carried_values.hpp"

#include "bindings/modules/array/lua_tensor.hpp"
#include "tests/bindings/vm_fixture.hpp"
#include "tests/host/cluster/hostile_bytes.hpp"
#include "tests/test.hpp"

namespace {

const char* const kCarriedSamples[] = {"nil",
                                       "5",
                                       "'text'",
                                       "{1, {a = 'b'}, true}",
                                       "('x'):rep(5000)",
                                       "{t = ('y'):rep(2000), n = 1}",
                                       "tensor.zeros({3, 4})",
                                       "tensor.zeros({0, 2})",
                                       "tensor.arange(7, {dtype = 'float64'})",
                                       "{tensor.ones(2), {w = tensor.arange(5), empty = tensor.zeros(0)}, 'x'}"};

void push_carried(VmFixture& f, const std::string& expression) {
  f.push(expression, "local tensor = require 'actor.tensor' ");
}

PackedValue packed(VmFixture& f, const std::string& expression) {
  push_carried(f, expression);
  auto value = pack_value_at(f.vm->state(), -1, "value");
  if (!value.ok()) FAIL(value.error().message);
  REQUIRE(lua_gettop(f.vm->state()) == 1);
  lua_settop(f.vm->state(), 0);
  return std::move(*value);
}

/// The value on the stack, as text that differs for different values.
std::string shown(VmFixture& f) {
  lua_setglobal(f.vm->state(), "value");
  f.lines.clear();
  f.run(text_of_script("carried_value.lua"));
  return f.lines.at(0);
}

}  // namespace

TEST_CASE("every carried value is equal after packing and unpacking") {
  VmFixture f;
  lua_pushnil(f.vm->state());
  lua_setglobal(f.vm->state(), "value");
  for (const char* sample : kCarriedSamples) {
    INFO(sample);
    push_carried(f, sample);
    const std::string before = shown(f);
    const PackedValue value = packed(f, sample);
    for (int i = 0; i < 2; ++i) {  // packing does not consume the value
      REQUIRE(push_packed(f.vm->state(), value).ok());
      REQUIRE(lua_gettop(f.vm->state()) == 1);
      CHECK(shown(f) == before);
    }
  }
}

TEST_CASE("a packed value is a copy, and an unpacked value has no other holder") {
  VmFixture f;
  lua_State* L = f.vm->state();
  push_carried(f, "tensor.ones(3)");
  lua_pushvalue(L, -1);
  lua_setglobal(L, "t");
  auto value = required(pack_value_at(L, -1, "value"));
  lua_settop(L, 0);
  f.run("t:fill_(5)");
  const PackedValue kept = *value;
  REQUIRE(push_packed(L, *value).ok());
  lua_setglobal(L, "u");
  f.run("assert(u:sum() == 3) u:fill_(7)");
  REQUIRE(push_packed(L, kept).ok());
  lua_setglobal(L, "u");
  f.run("assert(u:sum() == 3)");
}

TEST_CASE("a refused value is named with its path") {
  VmFixture f;
  push_carried(f, "{a = {print}}");
  const auto value = pack_value_at(f.vm->state(), -1, "send_event");
  CHECK(failure_of(value).code == Code::bad_argument);
  CHECK_THAT(failure_of(value).message, Contains("send_event: value.a[1] is a function"));
  CHECK(lua_gettop(f.vm->state()) == 1);
}

TEST_CASE("rows are joined by a copy, or without a copy if they are adjacent and have no other holder") {
  VmFixture f;
  lua_State* L = f.vm->state();
  const auto pushed = [&](std::vector<PackedValue> parts) {
    const Status status = push_rows(L, std::move(parts));
    if (!status.ok()) FAIL(status.error().message);
    return shown(f);
  };
  const auto as_text = [&](const char* expression) {
    push_carried(f, expression);
    return shown(f);
  };
  CHECK(pushed({packed(f, "tensor.ones({2, 3})"), packed(f, "tensor.zeros({0, 3})"),
                packed(f, "tensor.zeros({1, 3})")}) == as_text("tensor.new {{1, 1, 1}, {1, 1, 1}, {0, 0, 0}}"));
  CHECK(pushed({packed(f, "tensor.zeros({0, 3})"), packed(f, "tensor.zeros({0, 3})")}) ==
        as_text("tensor.zeros({0, 3})"));
  CHECK(pushed({packed(f, "tensor.zeros({2, 0})"), packed(f, "tensor.zeros({1, 0})")}) ==
        as_text("tensor.zeros({3, 0})"));
  CHECK(pushed({packed(f, "tensor.new {5}:select(1, 1)"), packed(f, "tensor.new {6, 7}")}) ==
        as_text("tensor.new {5, 6, 7}"));

  for (const bool shared : {false, true}) {
    PackedValue whole = packed(f, "tensor.arange(12):reshape(6, 2)");
    const PackedValue some = packed(f, "tensor.zeros({3, 2})");
    const void* bytes = whole.body.data();
    std::vector<PackedValue> parts{{some.head, whole.body.slice(0, 24)}, {some.head, whole.body.slice(24, 24)}};
    const Blob other = shared ? whole.body : Blob();
    whole.body = Blob();
    REQUIRE(push_rows(L, std::move(parts)).ok());
    CHECK((tensor_at(L, -1).data.data() == bytes) == !shared);
    CHECK(shown(f) == as_text("tensor.arange(12):reshape(6, 2)"));
  }
}

TEST_CASE("rows of different layouts are refused") {
  VmFixture f;
  lua_State* L = f.vm->state();
  for (const char* other : {"tensor.zeros({2, 4})", "tensor.zeros(2)", "tensor.zeros({2, 3}, {dtype = 'float64'})", "5",
                            "nil", "{tensor.zeros({2, 3})}"}) {
    INFO(other);
    CHECK_FALSE(push_rows(L, {packed(f, "tensor.zeros({2, 3})"), packed(f, other)}).ok());
    CHECK_FALSE(push_rows(L, {packed(f, other), packed(f, "tensor.zeros({2, 3})")}).ok());
    CHECK(lua_gettop(L) == 0);
  }
  CHECK_FALSE(push_rows(L, {}).ok());
  // Each tensor has no elements; together they exceed the rows of a tensor.
  PackedValue wide = packed(f, "tensor.zeros({1, 0, 1})");
  REQUIRE(wide.head.size() == 27);
  wide.head[3 + 5] = 1;        // 2^40 rows
  wide.head[3 + 16 + 2] = 16;  // of 2^20 columns
  CHECK_FALSE(push_rows(L, {wide, wide, wide}).ok());
  CHECK(lua_gettop(L) == 0);
}

TEST_CASE("hostile packings are refused or decode to a value, and leave the stack unchanged") {
  VmFixture f;
  lua_State* L = f.vm->state();
  const uint64_t seed = 0xbad;
  INFO("seed " << seed);
  for (const char* sample : kCarriedSamples) {
    const PackedValue good = packed(f, sample);
    const auto feed = [&](const PackedValue& value) {
      const Status pushed = push_packed(L, value);
      REQUIRE(lua_gettop(L) == (pushed.ok() ? 1 : 0));
      lua_settop(L, 0);
      if (!pushed.ok()) REQUIRE(pushed.error().code == Code::bad_data);
      return pushed.ok();
    };
    test::feed_hostile(good.head, seed, 1000, [&](std::string_view head) {
      return feed({std::string(head), good.body});
    });
    if (good.body.empty()) continue;
    test::feed_hostile(good.body.view().substr(0, 200), seed, 1000, [&](std::string_view body) {
      return feed({good.head, Blob::copy_of(body)});
    });
  }
}
