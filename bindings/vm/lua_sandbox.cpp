#include "bindings/vm/lua_sandbox.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include <lua.hpp>
#include <luajit.h>

#include "bindings/vm/embedded.hpp"
#include "bindings/vm/lua_names.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/base/task_scheduler.hpp"

namespace actorhost {

namespace {

// --- strict globals ---

// __newindex of _G; upvalue 1: set of declared names. A chunk's own level and C functions may declare globals; other
// functions may not.
int new_global(lua_State* L) {
  lua_Debug frame;
  if (lua_getstack(L, 1, &frame) != 0) {
    lua_getinfo(L, "S", &frame);
    if (std::strcmp(frame.what, "main") != 0 && std::strcmp(frame.what, "C") != 0) {
      lua_pushvalue(L, 2);
      lua_rawget(L, lua_upvalueindex(1));
      if (lua_isnil(L, -1)) {
        lua_pushvalue(L, 2);
        return luaL_error(
            L,
            "assignment to undeclared global '%s' inside a function (write 'local %s', or declare it at the "
            "top of the script)",
            lua_tostring(L, -1), lua_tostring(L, -1));
      }
      lua_pop(L, 1);
    }
  }
  lua_pushvalue(L, 2);
  lua_pushboolean(L, 1);
  lua_rawset(L, lua_upvalueindex(1));
  lua_settop(L, 3);
  lua_rawset(L, 1);
  return 0;
}

// __index of _G; upvalue 1: set of declared names.
int missing_global(lua_State* L) {
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(1));
  if (!lua_isnil(L, -1)) {
    lua_pushnil(L);  // declared by assigning nil
    return 1;
  }
  const std::string name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
  return luaL_error(L, "undefined global '%s'%s", name.c_str(), name_suggestion(L, name, 1, "'", "'").c_str());
}

void make_strict(lua_State* L) {
  lua_newtable(L);  // metatable
  lua_newtable(L);  // declared names
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, new_global, 1);
  lua_setfield(L, -3, "__newindex");
  lua_pushcclosure(L, guarded<missing_global>, 1);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, LUA_GLOBALSINDEX);
}

// --- text-only loading ---

// Disables the JIT, if required, for the function at `index`, which was loaded from a script's source.
void loaded_source(lua_State* L, int index) {
  if (Vm::from(L).interprets_sources()) luaJIT_setmode(L, index, LUAJIT_MODE_ALLFUNC | LUAJIT_MODE_OFF);
}

// Calls upvalue 1 (load or loadfile) with mode "t" in argument `mode_index`; explains a refusal.
int load_text(lua_State* L, int mode_index, int arguments) {
  if (lua_isstring(L, mode_index) != 0 && std::strchr(lua_tostring(L, mode_index), 't') == nullptr) {
    lua_pushnil(L);
    lua_pushliteral(L, "bytecode is not loaded here, only Lua source text (mode \"t\")");
    return 2;
  }
  const int given = lua_gettop(L);
  lua_settop(L, given < mode_index ? mode_index : (given > arguments ? arguments : given));
  lua_pushliteral(L, "t");
  lua_replace(L, mode_index);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 2);
  if (lua_isfunction(L, -2)) loaded_source(L, -2);
  if (lua_isnil(L, -2) && lua_isstring(L, -1) != 0 && std::strstr(lua_tostring(L, -1), "wrong mode") != nullptr) {
    lua_pop(L, 1);
    lua_pushliteral(L, "this is LuaJIT bytecode; only Lua source text is loaded");
  }
  return 2;
}

int load_chunk(lua_State* L) { return load_text(L, 3, 4); }
int load_file(lua_State* L) { return load_text(L, 2, 3); }

int load_string(lua_State* L) {
  lua_settop(L, 2);  // loadstring(text, name)
  return load_text(L, 3, 4);
}

// dofile(name); upvalue 1: loadfile.
int do_file(lua_State* L) {
  lua_settop(L, 1);
  load_file(L);
  if (lua_isnil(L, -2)) return lua_error(L);
  lua_pop(L, 1);
  lua_call(L, 0, LUA_MULTRET);
  return lua_gettop(L);
}

int no_exit(lua_State* L) {
  return luaL_error(L,
                    "os.exit would end every node of this process; return from the script, or raise an error to fail");
}

void replace_loaders(lua_State* L) {
  const auto wrap = [L](const char* name, const char* original, lua_CFunction function) {
    lua_getfield(L, LUA_REGISTRYINDEX, original);
    lua_pushcclosure(L, function, 1);
    lua_setglobal(L, name);
  };
  // Stores the originals in the registry meanwhile, because load and loadfile serve two names each.
  for (const char* name : {"load", "loadfile"}) {
    lua_getglobal(L, name);
    lua_setfield(L, LUA_REGISTRYINDEX, name);
  }
  wrap("load", "load", load_chunk);
  wrap("loadstring", "load", load_string);
  wrap("loadfile", "loadfile", load_file);
  wrap("dofile", "loadfile", do_file);
  for (const char* name : {"load", "loadfile"}) {
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, name);
  }
  lua_getglobal(L, "string");
  lua_pushnil(L);
  lua_setfield(L, -2, "dump");
  lua_getglobal(L, "os");
  lua_pushcfunction(L, no_exit);
  lua_setfield(L, -2, "exit");
  lua_pop(L, 2);
}

// --- modules ---

int load_module_text(lua_State* L, const char* name, std::string_view text, const std::string& chunk_name) {
  if (luaL_loadbufferx(L, text.data(), text.size(), chunk_name.c_str(), "t") == 0) return 1;
  if (!text.empty() && text[0] == '\x1b') {
    return luaL_error(L, "module '%s' (%s) is LuaJIT bytecode; only Lua source text is loaded", name,
                      chunk_name.c_str() + 1);
  }
  return luaL_error(L, "module '%s' does not load: %s", name, lua_tostring(L, -1));
}

/// The bytecode of the embedded modules that some VM of this process has loaded. A VM loads it in a twentieth of the
/// time that its text takes, and without garbage. Only for rehearsals, which start thousands of VMs: the bytecode of a
/// constructor lacks the keys of computed values, so `{ key = k }` takes twice the time. Thread-safe.
class CompiledModules {
 public:
  /// Pushes the module's function; false if it is not here.
  bool push(lua_State* L, const EmbeddedFile& file, const std::string& chunk_name) {
    std::unique_lock lock(mutex_);
    const auto at = modules_.find(&file);
    if (at == modules_.end()) return false;
    const std::string& code = at->second;
    lock.unlock();  // no module is removed or changed
    if (luaL_loadbufferx(L, code.data(), code.size(), chunk_name.c_str(), "b") == 0) return true;
    lua_pop(L, 1);
    return false;
  }

  /// Adds the module whose function is on top of the stack.
  void add(lua_State* L, const EmbeddedFile& file) {
    std::string code;
    const auto append = [](lua_State*, const void* bytes, size_t size, void* to) {
      try {
        static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), size);
        return 0;
      } catch (const std::bad_alloc&) {
        return 1;
      }
    };
    if (lua_dump(L, append, &code) != 0) return;
    const std::lock_guard lock(mutex_);
    modules_.try_emplace(&file, std::move(code));
  }

 private:
  std::mutex mutex_;
  std::map<const EmbeddedFile*, std::string> modules_;
};

void load_embedded_module(lua_State* L, const char* name, const EmbeddedFile& file) {
  static CompiledModules compiled;
  const std::string chunk_name = std::string("@") + file.path;
  const bool rehearsed = TaskScheduler::installed() != nullptr;
  if (rehearsed && compiled.push(L, file, chunk_name)) return;
  load_module_text(L, name, file.text, chunk_name);
  if (rehearsed) compiled.add(L, file);
}

// Whether scripts require the embedded module `name` directly: "actor.collective", but not its internal modules.
bool is_public(const char* name) {
  const char* dot = std::strchr(name, '.');
  return dot != nullptr && std::strchr(dot + 1, '.') == nullptr;
}

// The loader of an embedded module; upvalue 1: its text as a function. The load must not end half-way: the FFI
// declarations of the first half remain, so a second load would fail.
int load_embedded(lua_State* L) {
  const Vm::NoCut no_cut(Vm::from(L));
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

// A package.loaders function: searches the embedded library, then the script's folder.
int find_module(lua_State* L) {
  const char* name = luaL_checkstring(L, 1);
  if (std::strncmp(name, "ffi/", 4) != 0) {
    if (const EmbeddedFile* file = embedded_file(name)) {
      load_embedded_module(L, name, *file);
      if (is_public(name)) push_strict_loader(L);
      lua_pushcclosure(L, guarded<load_embedded>, 1);
      return 1;
    }
  }
  ModuleSource* modules = Vm::from(L).config().modules;
  if (modules == nullptr) {
    lua_pushfstring(L, "\n\tno embedded module '%s'", name);
    return 1;
  }
  const auto found = modules->find(name);
  if (!found.ok()) {
    const Code code = found.error().code;
    if (code == Code::interrupted || code == Code::aborted) raise_error(L, found.error());  // not the script's fault
    const std::string module = "module '" + std::string(name) + "'";
    const std::string& why = found.error().message;
    raise_at_user(L, why.find(module) == std::string::npos ? module + ": " + why : why);
  }
  if (found->has_value()) {
    load_module_text(L, name, (*found)->source, (*found)->chunk_name);
    loaded_source(L, -1);
    return 1;
  }
  lua_pushfstring(L, "\n\tno embedded module '%s'\n\tno module '%s' beside the script", name, name);
  return 1;
}

// Sets package.loaders to preload, find_module and the two C loaders. Plain files on package.path are not searched,
// because they would not travel with the job.
void replace_module_search(lua_State* L) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "loaders");
  lua_pushcfunction(L, guarded<find_module>);
  lua_rawseti(L, -2, 2);
  lua_pop(L, 1);
  lua_pushliteral(L, "");
  lua_setfield(L, -2, "path");
  lua_pop(L, 1);
}

// Replaces `pairs` and `next` by the versions of stdlib/actor/iteration.lua, which gives the reason.
void replace_iteration(lua_State* L) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "actor.iteration");
  lua_call(L, 1, 0);
}

}  // namespace

void open_sandbox(lua_State* L) {
  replace_loaders(L);
  replace_module_search(L);
  replace_output(L);
  replace_iteration(L);
  make_strict(L);
}

}  // namespace actorhost
