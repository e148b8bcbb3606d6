// Decodes bytes from the network as a Lua value. Bytes that pass the bounds check are decoded or refused, without a
// crash and within the memory limits; a decoded value can be encoded again.

#include <cstdio>
#include <cstdlib>

#include <lua.hpp>

#include "bindings/vm/lua_codec.hpp"
#include "bindings/vm/vm.hpp"

namespace {

constexpr uint64_t kSlots = 100000;  // bounds the cost of one input

actorhost::Vm& vm() {
  static const std::unique_ptr<actorhost::Vm> made = [] {
    auto result = actorhost::Vm::create(actorhost::VmConfig{});
    if (!result.ok()) std::abort();
    lua_State* L = (*result)->state();
    lua_newtable(L);  // the two tensors beside the value
    for (int i = 1; i <= 2; ++i) {
      lua_pushinteger(L, i);
      lua_rawseti(L, 1, i);
    }
    return std::move(*result);
  }();
  return *made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lua_State* L = vm().state();
  actorhost::ValueLimits limits{.slots = kSlots};
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!actorhost::decode_value(L, bytes, 1, limits).ok()) return 0;
  const auto again = actorhost::encode_value(L, -1);
  if (!again.ok()) {
    std::fprintf(stderr, "decoded, but does not encode: %s\n", again.error().message.c_str());
    std::abort();
  }
  lua_settop(L, 1);
  return 0;
}
