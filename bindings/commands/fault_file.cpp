#include "bindings/commands/fault_file.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lua.hpp>

#include "bindings/vm/lua_support.hpp"

namespace actorhost {

namespace {

struct World {
  uint32_t hosts;
  rehearsal::FaultSettings& faults;
};

constexpr double kLatest = 1e9;

uint32_t host_at(lua_State* L, int index, const World& world) {
  return static_cast<uint32_t>(check_integer(L, index, "host", "world:at", 0, int64_t{world.hosts} - 1));
}

double seconds_at(lua_State* L, int index, const char* name, const char* function) {
  const double value = check_number(L, index, name, function);
  if (value >= 0 && value <= kLatest) return value;
  lua_pushfstring(L, "bad argument '%s' to %s: expected seconds from 0 to %f, got %f", name, function, kLatest, value);
  raise_at_user(L, lua_tostring(L, -1));
}

/// world:at(seconds, kind, hosts [, lasts])
int world_at(lua_State* L) {
  const World& world = *static_cast<World*>(lua_touserdata(L, lua_upvalueindex(1)));
  const double at = seconds_at(L, 2, "seconds", "world:at");
  const std::string kind(check_text(L, 3, "kind", "world:at"));
  std::vector<uint32_t> hosts;
  if (lua_istable(L, 4)) {
    each_item(L, 4, [&](int) { hosts.push_back(host_at(L, -1, world)); });
  } else if (!lua_isnoneornil(L, 4)) {
    hosts.push_back(host_at(L, 4, world));
  }
  std::optional<double> lasts;
  if (!lua_isnoneornil(L, 5)) lasts = seconds_at(L, 5, "lasts", "world:at");
  const Status added = world.faults.add(at, kind, std::move(hosts), lasts);
  if (!added.ok()) raise_at_user(L, added.error().message);
  return 0;
}

/// world:restart(seconds)
int world_restart(lua_State* L) {
  const World& world = *static_cast<World*>(lua_touserdata(L, lua_upvalueindex(1)));
  world.faults.restart = rehearsal::time_of(seconds_at(L, 2, "seconds", "world:restart"));
  return 0;
}

void push_world(lua_State* L, World& world, uint64_t seed) {
  lua_createtable(L, 0, 4);
  set_field(L, "hosts", world.hosts);
  set_field(L, "seed", seed);
  lua_pushlightuserdata(L, &world);
  lua_pushcclosure(L, guarded<world_at>, 1);
  lua_setfield(L, -2, "at");
  lua_pushlightuserdata(L, &world);
  lua_pushcclosure(L, guarded<world_restart>, 1);
  lua_setfield(L, -2, "restart");
}

}  // namespace

Status read_fault_file(RunOptions& options) {
  RehearsalOptions& rehearsal = *options.rehearsal;
  const std::string& path = rehearsal.fault_file;
  if (path.empty()) return {};
  const std::unique_ptr<lua_State, void (*)(lua_State*)> state(luaL_newstate(), lua_close);
  lua_State* const L = state.get();
  luaL_openlibs(L);
  const auto error = [L] {
    const char* const text = lua_tostring(L, -1);
    return Error{Code::bad_argument, "--faults: " + std::string(text != nullptr ? text : "an error without a message")};
  };
  if (const int failed = luaL_loadfile(L, path.c_str())) {
    if (failed == LUA_ERRFILE) return Error{Code::io, "--faults: " + std::string(lua_tostring(L, -1))};
    return error();
  }
  if (lua_pcall(L, 0, 1, 0) != 0) return error();
  if (!lua_isfunction(L, -1)) {
    return Error{Code::bad_argument, "--faults: " + path + " does not return a function of the world"};
  }
  World world{rehearsal.hosts, rehearsal.faults};
  push_world(L, world, rehearsal.order.value_or(*options.seed));
  if (lua_pcall(L, 1, 0, 0) != 0) return error();
  return {};
}

}  // namespace actorhost
