// Runs one spec file of tests/stdlib in a Vm: stdlib_spec FILE [normal|jit-off|collector] [part of a test's name].
// Modes: normal, the default settings; jit-off, with the JIT off; collector, with a garbage collector that never
// pauses, which finds unanchored objects. The exit code is 0 if the file has tests and all pass.

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include <lua.hpp>

#include "bindings/vm/vm.hpp"
#include "host/base/blob.hpp"

using actorhost::ModuleText;
using actorhost::Result;
using actorhost::Vm;

namespace {

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class SpecModules final : public actorhost::ModuleSource {
 public:
  Result<std::optional<ModuleText>> find(std::string_view name) override {
    auto text = read_file(std::string(ACTORHOST_SOURCE_DIR) + "/tests/stdlib/" + std::string(name) + ".lua");
    if (!text) return std::optional<ModuleText>();
    return std::optional(ModuleText{std::move(*text), "@" + std::string(name) + ".lua"});
  }
};

/// limit_block(bytes), for specs: allocation of larger blocks fails as if memory were exhausted.
int limit_block(lua_State* L) {
  actorhost::limit_block(static_cast<size_t>(luaL_checknumber(L, 1)));
  return 0;
}

int usage() {
  std::fprintf(stderr, "usage: stdlib_spec FILE [normal|jit-off|collector] [part of a test's name]\n");
  return 2;
}

bool run_file(Vm& vm, const std::string& path) {
  const auto text = read_file(path);
  if (!text) {
    std::fprintf(stderr, "%s cannot be read\n", path.c_str());
    return false;
  }
  const auto status = vm.run(*text, "@" + path.substr(path.rfind('/') + 1));
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status.ok();
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, const char*> modes = {
      {"normal", "spec_mode = 'normal'"},
      {"jit-off", "spec_mode = 'jit-off' jit.off() jit.flush()"},
      {"collector", "spec_mode = 'collector' collectgarbage('setpause', 0) collectgarbage('setstepmul', 300)"}};
  if (argc < 2) return usage();
  const auto mode = modes.find(argc > 2 ? argv[2] : "normal");
  if (mode == modes.end()) return usage();
  SpecModules modules;
  actorhost::Log log(actorhost::LogLevel::warn);
  actorhost::VmConfig config;
  config.log = &log;
  config.modules = &modules;
  auto vm = Vm::create(std::move(config));
  if (!vm.ok()) {
    std::fprintf(stderr, "%s\n", vm.error().message.c_str());
    return 1;
  }
  const std::string setting = std::string(mode->second) + " source_dir = '" + ACTORHOST_SOURCE_DIR + "'";
  if (!(*vm)->run(setting, "=setting").ok()) return 1;
  lua_pushcfunction((*vm)->state(), limit_block);
  lua_setglobal((*vm)->state(), "limit_block");
  if (!run_file(**vm, std::string(ACTORHOST_SOURCE_DIR) + "/tests/stdlib/spec.lua")) return 1;
  if (!run_file(**vm, argv[1])) return 1;
  lua_State* L = (*vm)->state();
  lua_getglobal(L, "run_specs");
  lua_pushstring(L, argc > 3 ? argv[3] : "");
  const auto status = (*vm)->call(1, 1);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status.ok() && lua_tointeger(L, -1) == 0 ? 0 : 1;
}
