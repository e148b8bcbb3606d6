#include "bindings/commands/fault_file.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lua.hpp>

namespace actorhost {

namespace {

struct World {
  uint32_t hosts;
  rehearsal::FaultSettings& faults;
};

constexpr double kLatest = 1e9;

uint32_t host_at(lua_State* L, int index, const World& world) {
  const lua_Number host = luaL_checknumber(L, index);
  if (host >= 0 && host < world.hosts && host == static_cast<uint32_t>(host)) return static_cast<uint32_t>(host);
  return static_cast<uint32_t>(
      luaL_error(L, "no host %f: the hosts are 0 to %d", host, static_cast<int>(world.hosts) - 1));
}

double seconds_at(lua_State* L, int index, const char* what) {
  const lua_Number value = luaL_checknumber(L, index);
  if (!(value >= 0) || value > kLatest) luaL_error(L, "%s is a number of seconds from 0 up, not %f", what, value);
  return value;
}

/// world:at(seconds, kind, hosts [, lasts]). A jump of Lua's errors passes no object with a destructor.
int world_at(lua_State* L) {
  World& world = *static_cast<World*>(lua_touserdata(L, lua_upvalueindex(1)));
  const double at = seconds_at(L, 2, "the time of a fault");
  const char* const kind = luaL_checkstring(L, 3);
  const bool several = lua_istable(L, 4);
  const size_t count = several ? lua_objlen(L, 4) : lua_isnoneornil(L, 4) ? 0 : 1;
  for (size_t i = 1; i <= count; ++i) {
    if (several) lua_rawgeti(L, 4, static_cast<int>(i));
    (void)host_at(L, several ? -1 : 4, world);
    if (several) lua_pop(L, 1);
  }
  const bool has_duration = !lua_isnoneornil(L, 5);
  const double lasts = has_duration ? seconds_at(L, 5, "the duration of a fault") : 0;
  {
    std::vector<uint32_t> hosts;
    for (size_t i = 1; i <= count; ++i) {
      if (several) lua_rawgeti(L, 4, static_cast<int>(i));
      hosts.push_back(static_cast<uint32_t>(lua_tonumber(L, several ? -1 : 4)));
      if (several) lua_pop(L, 1);
    }
    const Status added =
        world.faults.add(at, kind, std::move(hosts), has_duration ? std::optional(lasts) : std::nullopt);
    if (added.ok()) return 0;
    luaL_where(L, 1);
    lua_pushstring(L, added.error().message.c_str());
  }
  lua_concat(L, 2);
  return lua_error(L);
}

/// world:restart(seconds)
int world_restart(lua_State* L) {
  World& world = *static_cast<World*>(lua_touserdata(L, lua_upvalueindex(1)));
  world.faults.restart = rehearsal::time_of(seconds_at(L, 2, "the time until a killed host starts again"));
  return 0;
}

void push_world(lua_State* L, World& world, uint64_t seed) {
  lua_createtable(L, 0, 4);
  lua_pushinteger(L, static_cast<lua_Integer>(world.hosts));
  lua_setfield(L, -2, "hosts");
  lua_pushnumber(L, static_cast<lua_Number>(seed));
  lua_setfield(L, -2, "seed");
  lua_pushlightuserdata(L, &world);
  lua_pushcclosure(L, world_at, 1);
  lua_setfield(L, -2, "at");
  lua_pushlightuserdata(L, &world);
  lua_pushcclosure(L, world_restart, 1);
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
