// The cost of the Lua boundary: the value codec beside LuaJIT's own encoder, the bounds check, calls both ways, and a
// new state. Each figure is the best of seven rounds. Usage: vm_bench

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <lua.hpp>

#include "bindings/vm/lua_codec.hpp"
#include "bindings/vm/lua_support.hpp"
#include "bindings/vm/vm.hpp"

using namespace actorhost;  // NOLINT: a standalone program

namespace {

// Seconds of one call of `body`. Each round runs `body` `times` times.
template <typename Body>
double seconds(int times, Body&& body) {
  double best = 1e9;
  for (int round = 0; round < 7; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) body();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count() / times);
  }
  return best;
}

void must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  std::exit(1);
}

// Leaves the value of `expression` on the stack.
void push(Vm& vm, const std::string& expression) {
  must(vm.load("return " + expression, "=bench"));
  must(vm.call(0, 1));
}

const char* const kPairs = "(function() local t = {} for i = 1, 1000 do t[i] = {'word' .. i, i} end return t end)()";
const char* const kFloats = "(function() local t = {} for i = 1, 100000 do t[i] = i + 0.5 end return t end)()";
const char* const kRecords =
    "(function() local t = {} for i = 1, 1000 do t[i] = {id = i, name = ('n'):rep(40), w = i / 3} end return t end)()";

// Microseconds of one call of a Lua function on the value on top of the stack.
double lua_call_us(Vm& vm, const char* function, int times) {
  lua_State* L = vm.state();
  push(vm, function);
  const double taken = seconds(times, [&] {
    lua_pushvalue(L, -1);
    lua_pushvalue(L, -3);
    lua_call(L, 1, 0);
  });
  lua_pop(L, 1);
  return taken * 1e6;
}

void bench_codec(Vm& vm, const char* name, const char* expression, int times) {
  lua_State* L = vm.state();
  push(vm, expression);
  const int value = lua_gettop(L);
  const double own = lua_call_us(vm, "require('string.buffer').encode", times);
  std::string bytes;
  const double encode = seconds(times, [&] {
    bytes = encode_value(L, value)->bytes;
    lua_pop(L, 1);
  });
  const double check = seconds(times, [&] { must(check_value(bytes)); });
  const double decode = seconds(times, [&] {
    must(decode_value(L, bytes));
    lua_pop(L, 1);
  });
  const double hash = seconds(times, [&] { (void)hash_value(L, value).ok(); });
  lua_settop(L, 0);
  push(vm, std::string("require('string.buffer').encode(") + expression + ")");
  const double own_decode = lua_call_us(vm, "require('string.buffer').decode", times);
  lua_settop(L, 0);
  std::printf(
      "%-22s %8zu bytes: encode %7.1f us (string.buffer unchecked %7.1f), decode with check %7.1f us "
      "(string.buffer unchecked %7.1f), check alone %5.2f GB/s, hash %7.1f us\n",
      name, bytes.size(), encode * 1e6, own, decode * 1e6, own_decode, static_cast<double>(bytes.size()) / check / 1e9,
      hash * 1e6);
}

int nothing(lua_State* /*L*/) { return 0; }

void bench_calls(Vm& vm) {
  lua_State* L = vm.state();
  push(vm, "function() end");
  const LuaRef function = LuaRef::pop(L);
  const double plain = seconds(200000, [&] {
    function.push(L);
    lua_pcall(L, 0, 0, 0);
  });
  const double outer = seconds(200000, [&] {
    function.push(L);
    must(vm.call(0, 0));
  });
  lua_pushcfunction(L, guarded<nothing>);
  lua_setglobal(L, "c_function");
  must(
      vm.load("local f, now = c_function, os.clock local start = now() for i = 1, 1e7 do f() end "
              "return (now() - start) / 1e7",
              "=bench"));
  must(vm.call(0, 1));
  std::printf("calls: bare pcall of a reference %.1f ns, Vm::call %.1f ns, guarded C function from Lua %.1f ns\n",
              plain * 1e9, outer * 1e9, lua_tonumber(L, -1) * 1e9);
  lua_settop(L, 0);
}

void bench_states() {
  const double bare = seconds(50, [] {
    lua_State* L = luaL_newstate();
    luaL_openlibs(L);
    lua_close(L);
  });
  const double full = seconds(50, [] {
    VmConfig config;
    must((*Vm::create(std::move(config)))->run("local actor = require('actor')", "=bench"));
  });
  VmConfig config;
  auto vm = Vm::create(std::move(config));
  must((*vm)->run("local actor = require('actor') collectgarbage() collectgarbage()", "=bench"));
  std::printf("states: bare with libraries %.0f us, Vm with actor %.0f us and %d KiB\n", bare * 1e6, full * 1e6,
              lua_gc((*vm)->state(), LUA_GCCOUNT, 0));
}

}  // namespace

int main() {
  auto vm = Vm::create(VmConfig{});
  if (!vm.ok()) return 1;
  bench_codec(**vm, "1,000 {string, int}", kPairs, 300);
  bench_codec(**vm, "100,000 floats", kFloats, 20);
  bench_codec(**vm, "1,000 records", kRecords, 300);
  bench_calls(**vm);
  bench_states();
  return 0;
}
