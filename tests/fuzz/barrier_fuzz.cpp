// Parses bytes as a barrier's spec, such as "pssp:10:4@sticky", in a Lua state. The result is a rule, or an error that
// names the barrier; nothing is loaded from the disk. Lua code adds no coverage, so if the first byte is even the other
// bytes choose words of a spec.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <lua.hpp>

#include "bindings/vm/vm.hpp"

namespace {

constexpr const char* kRead = R"(
local barrier = require("actor.barrier")
return function(spec)
  local ok, rule = pcall(barrier.from, spec, { load = function() return "return function() return true end" end })
  if not ok and not tostring(rule):find("barrier", 1, true) then error("names no barrier:  " .. tostring(rule), 0) end
end
)";

constexpr std::string_view kWords[] = {
    ":",        ":",        "@",          "bsp",  "asp",     "ssp",  "pbsp",   "pssp",
    "sample",   "quorum",   "backup",     "dssp", "elastic", "from", "sticky", "delay_bounded",
    "event",    "poll",     "0",          "1",    "4",       "10",   "0.5",    "-1",
    "1e9",      "1e308",    "2147483648", "nan",  "inf",     "all",  "0x10",   "one.lua",
    "two/.lua", "../x.lua", " ",          ",",    "%d",      "\0",   "bps",    "BSP"};

std::string spec_of(const uint8_t* data, size_t size) {
  if (size == 0 || data[0] % 2 != 0) return {reinterpret_cast<const char*>(data), size};
  std::string spec;
  for (size_t i = 1; i < size; ++i) spec += kWords[data[i] % std::size(kWords)];
  return spec;
}

actorhost::Vm& vm() {
  static const std::unique_ptr<actorhost::Vm> kVm = [] {
    auto made = actorhost::Vm::create({});
    if (!made || !(*made)->load(kRead, "=fuzz").ok() || !(*made)->call(0, 1).ok()) std::abort();
    return std::move(*made);
  }();
  return *kVm;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lua_State* L = vm().state();
  lua_pushvalue(L, 1);
  const std::string spec = spec_of(data, size);
  lua_pushlstring(L, spec.data(), spec.size());
  const actorhost::Status read = vm().call(1, 0);
  if (read.ok()) return 0;
  std::fprintf(stderr, "'%s': %s\n", spec.c_str(), read.error().message.c_str());
  std::abort();
}
