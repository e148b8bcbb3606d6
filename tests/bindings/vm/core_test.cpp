#include "host/base/random.hpp"
#include "tests/bindings/vm_fixture.hpp"
#include "tests/test.hpp"

namespace {

// The numbers of a Lua array on top of the stack.
std::vector<double> numbers(lua_State* L) {
  std::vector<double> result(lua_objlen(L, -1));
  for (size_t i = 0; i < result.size(); ++i) {
    lua_rawgeti(L, -1, static_cast<int>(i) + 1);
    result[i] = lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
  return result;
}

}  // namespace

TEST_CASE("generators in Lua and C++ with the same seed and stream give the same numbers") {
  VmFixture f;
  lua_State* L = f.vm->state();
  REQUIRE(f.vm->load("local r, t = require('actor').rng(42, 5), {} for i = 1, 100, 5 do t[i], t[i + 1], t[i + 2], "
                     "t[i + 3], t[i + 4] = r:uniform(), r:below(1000), r:normal(), r:exponential(2), r:gamma(2, 3) end "
                     "return t",
                     "@rng.lua")
              .ok());
  REQUIRE(f.vm->call(0, 1).ok());
  Rng rng(42, 5);
  std::vector<double> expected;
  for (int i = 0; i < 20; ++i) {
    expected.push_back(rng.uniform());
    expected.push_back(static_cast<double>(rng.below(1000)));
    expected.push_back(rng.normal());
    expected.push_back(rng.exponential(2));
    expected.push_back(rng.gamma(2, 3));
  }
  CHECK(numbers(L) == expected);
}

TEST_CASE("a sample in Lua equals the sample in C++ with the same seed, counted from 1") {
  VmFixture f;
  REQUIRE(f.vm->load("return require('actor').rng(9):sample(50, 20)", "@rng.lua").ok());
  REQUIRE(f.vm->call(0, 1).ok());
  Rng rng(9);
  std::vector<uint32_t> permutation(50);
  std::iota(permutation.begin(), permutation.end(), 1U);
  std::vector<uint32_t> drawn(20);
  rng.sample(permutation, 20, drawn.data());
  CHECK(numbers(f.vm->state()) == std::vector<double>(drawn.begin(), drawn.end()));
}

TEST_CASE("a module of the library has the same lines in the first and in later virtual machines of a process") {
  std::vector<std::string> seen;
  for (int i = 0; i < 3; ++i) {
    VmFixture f;
    f.run(R"(local rng = require "actor.rng"
      local info = debug.getinfo(rng, "S")
      print(info.source .. ":" .. info.linedefined .. "-" .. info.lastlinedefined)
      print(select(2, pcall(rng, {}))))");
    REQUIRE(f.lines.size() == 2);
    seen.push_back(f.lines[0] + " " + f.lines[1]);
  }
  INFO(seen[0]);
  CHECK(seen[0].starts_with("@stdlib/actor/rng.lua:"));
  CHECK(seen[1] == seen[0]);
  CHECK(seen[2] == seen[0]);
}
