#include "bindings/modules/engine/collective_values.hpp"

#include <utility>
#include <vector>

#include "bindings/modules/engine/carried_values.hpp"
#include "bindings/vm/lua_support.hpp"

namespace actorhost {

int push_gets(lua_State* L, CallResult result) {
  const auto n = static_cast<int>(result.received.size());
  lua_createtable(L, n, 1);
  for (int i = 0; i < n; ++i) {
    auto& got = result.received[static_cast<size_t>(i)];
    if (!got) continue;
    expect(L, push_packed(L, std::move(*got)));
    lua_rawseti(L, -2, i + 1);
  }
  set_field(L, "n", n);
  return 1;
}

int push_joined(lua_State* L, CallResult result) {
  std::vector<PackedValue> parts;
  for (auto& got : std::exchange(result.received, {})) {
    if (got) parts.push_back(std::move(*got));
  }
  expect(L, push_rows(L, std::move(parts)));
  return 1;
}

}  // namespace actorhost
