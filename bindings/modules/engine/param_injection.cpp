#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "bindings/modules/engine/param_options.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/vm/lua_support.hpp"

namespace actorhost {

namespace {

int injects(lua_State* L) { return push(L, NodeContext::of(L).options.inject.any()); }

bool is_straggler(const NodeContext& context) {
  const double share = context.options.inject.straggler_share;
  const auto rank = context.node.rank();
  const uint32_t n = context.node.membership().size();
  const auto count = static_cast<uint32_t>(std::lround(share * n));
  if (count == 0 || !rank) return false;
  std::vector<uint32_t> ranks(n);
  std::iota(ranks.begin(), ranks.end(), 0U);
  std::vector<uint32_t> chosen(count);
  Rng rng(context.seed, 0x53746167);
  rng.sample(ranks, count, chosen.data());
  return std::find(chosen.begin(), chosen.end(), *rank) != chosen.end();
}

/// injection() -> delay in seconds, factor: drawn for each push from this worker's own stream
int injection(lua_State* L) {
  struct Source {
    Rng rng;
    double factor;
  };
  constexpr const char* kKey = "actor.param.injection";
  const NodeContext& context = NodeContext::of(L);
  const Injection& inject = context.options.inject;
  lua_getfield(L, LUA_REGISTRYINDEX, kKey);
  auto* source = static_cast<Source*>(lua_touserdata(L, -1));
  if (source == nullptr) {
    source = new (lua_newuserdata(L, sizeof(Source))) Source{Rng(context.seed, 0x496e6a00ULL + context.node.index()),
                                                             is_straggler(context) ? inject.straggler_factor : 1};
    lua_setfield(L, LUA_REGISTRYINDEX, kKey);
  }
  lua_pushnumber(L, inject.delay.draw(source->rng));
  lua_pushnumber(L, source->factor);
  return 2;
}

}  // namespace

void add_injection(lua_State* L) {
  lua_pushcfunction(L, guarded<injects>);
  lua_setfield(L, -2, "injects");
  lua_pushcfunction(L, guarded<injection>);
  lua_setfield(L, -2, "injection");
}

}  // namespace actorhost
