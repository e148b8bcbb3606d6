#include <new>
#include <type_traits>

#include "bindings/vm/embedded.hpp"
#include "bindings/vm/ffi_core.h"
#include "bindings/vm/lua_names.hpp"
#include "bindings/vm/lua_support.hpp"
#include "bindings/vm/standard_modules.hpp"
#include "host/base/random.hpp"
#include "host/base/task_scheduler.hpp"

namespace actorhost {

namespace {

static_assert(sizeof(Rng) == sizeof(ah_rng) && alignof(Rng) <= alignof(ah_rng) && std::is_trivially_copyable_v<Rng>);

Rng& rng_of(ah_rng* rng) noexcept { return *std::launder(reinterpret_cast<Rng*>(rng)); }

double core_now(const void* clock) noexcept { return static_cast<const Clock*>(clock)->now(); }
void rng_init(ah_rng* rng, uint64_t seed, uint64_t stream) noexcept { new (rng) Rng(seed, stream); }
double rng_uniform(ah_rng* rng) noexcept { return rng_of(rng).uniform(); }
double rng_below(ah_rng* rng, double bound) noexcept {
  return static_cast<double>(rng_of(rng).below(static_cast<uint64_t>(bound)));
}
double rng_normal(ah_rng* rng) noexcept { return rng_of(rng).normal(); }
double rng_exponential(ah_rng* rng, double mean) noexcept { return rng_of(rng).exponential(mean); }
double rng_gamma(ah_rng* rng, double shape, double scale) noexcept { return rng_of(rng).gamma(shape, scale); }

// The declarations of ffi_NAME.h without preprocessor lines, which ffi.cdef does not support.
std::string declarations(const char* text) {
  std::string result;
  while (*text != '\0') {
    const char* end = text;
    while (*end != '\0' && *end != '\n') ++end;
    if (*text != '#') result.append(text, end);
    result += '\n';
    text = *end == '\n' ? end + 1 : end;
  }
  return result;
}

// require("actor.ffi")(name): const ah_NAME_api*. Upvalues: loaded tables by name, ffi.cdef, ffi.cast.
int ffi_get(lua_State* L) {
  const std::string name(check_text(L, 1, "name", "actor.ffi"));
  lua_settop(L, 1);
  lua_pushvalue(L, 1);
  lua_rawget(L, lua_upvalueindex(1));
  if (!lua_isnil(L, -1)) return 1;
  const void* table = Vm::from(L).ffi_table(name);
  const char* text = embedded_text(("ffi/" + name).c_str());
  if (table == nullptr || text == nullptr) raise_at_user(L, "actor.ffi: there is no FFI module '" + name + "'");
  const std::string cdef = declarations(text);
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_pushlstring(L, cdef.data(), cdef.size());
  lua_call(L, 1, 0);
  lua_pushvalue(L, lua_upvalueindex(3));
  lua_pushfstring(L, "const struct ah_%s_api*", name.c_str());
  lua_pushlightuserdata(L, const_cast<void*>(table));  // becomes cdata at once; Lua code never sees the pointer
  lua_call(L, 2, 1);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, -2);
  lua_rawset(L, lua_upvalueindex(1));
  return 1;
}

int open_ffi(lua_State* L) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "ffi");
  lua_call(L, 1, 1);
  lua_newtable(L);
  lua_getfield(L, -2, "cdef");
  lua_getfield(L, -3, "cast");
  lua_pushcclosure(L, guarded<ffi_get>, 3);
  return 1;
}

// log(level, message); upvalue 1: number of the level.
int log_write(lua_State* L) {
  const VmConfig& config = Vm::from(L).config();
  if (config.log == nullptr) return 0;
  const auto level = static_cast<LogLevel>(check_integer(L, 1, "level", "log", 0, 4));
  config.log->write(level, config.label(), check_text(L, 2, "message", "log"));
  return 0;
}

int log_enabled(lua_State* L) {
  const VmConfig& config = Vm::from(L).config();
  const auto level = static_cast<LogLevel>(check_integer(L, 1, "level", "log", 0, 4));
  return push(L, config.log != nullptr && config.log->enabled(level));
}

// library() -> {[name] = path} of the embedded files; library_text(name) -> the file's text.
int library(lua_State* L) {
  lua_newtable(L);
  for (const EmbeddedFile* file = embedded_files(); file->name != nullptr; ++file) {
    set_field(L, file->name, file->path);
  }
  return 1;
}

int library_text(lua_State* L) {
  lua_pushstring(L, embedded_text(std::string(check_text(L, 1, "name", "library_text")).c_str()));
  return 1;
}

int open_core_module(lua_State* L) {
  const VmConfig& config = Vm::from(L).config();
  static const luaL_Reg kFunctions[] = {
      {"log", guarded<log_write>},
      {"log_enabled", guarded<log_enabled>},
      {"library", guarded<library>},
      {"library_text", guarded<library_text>},
  };
  push_functions(L, kFunctions);
  push_list(L, config.args);
  if (!config.script.empty()) {
    push(L, config.script);
    lua_rawseti(L, -2, 0);
  }
  lua_setfield(L, -2, "args");
  set_field(L, "version", std::string_view(ACTORHOST_VERSION));
  set_field(L, "rehearsed", TaskScheduler::installed() != nullptr);
  return 1;
}

void seed_math_random(lua_State* L, uint64_t seed) {
  lua_getglobal(L, "math");
  lua_getfield(L, -1, "randomseed");
  lua_pushnumber(L, static_cast<double>(seed));
  lua_call(L, 1, 0);
  lua_pop(L, 1);
}

}  // namespace

void open_core(Vm& vm) {
  auto api = std::make_shared<ah_core_api>();
  *api = {core_now, &vm.clock(), rng_init, rng_uniform, rng_below, rng_normal, rng_exponential, rng_gamma};
  vm.register_ffi("core", api.get());
  vm.own(api);
  vm.register_module("actor.ffi", guarded<open_ffi>);
  vm.register_module("actor.c.core", guarded<open_core_module>);
  vm.register_module("actor.c.names", open_names);
  seed_math_random(vm.state(), vm.config().seed);
}

}  // namespace actorhost
