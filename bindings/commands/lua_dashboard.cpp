#include <chrono>
#include <thread>

#include <lua.hpp>

#include "bindings/commands/lua_command.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/page/page_server.hpp"

namespace actorhost {

namespace {

constexpr auto kStopCheckPause = std::chrono::milliseconds(50);

// replay(file, address, opened): serves the page of a recorded run until the command is stopped. Calls opened(url,
// states) once. Returns nil, message, code on failure.
int replay_run(lua_State* L) {
  auto recording = Recording::open(std::string(check_text(L, 1, "file", "dashboard.replay")));
  if (!recording) return push_failure(L, recording.error());
  const SteadyClock clock;
  PageOptions options;
  options.address = check_text(L, 2, "address", "dashboard.replay");
  options.recording = &*recording;
  auto page = PageServer::open(options, clock);
  if (!page) return push_failure(L, page.error());
  lua_pushvalue(L, 3);
  const std::string url = (*page)->url();
  lua_pushlstring(L, url.data(), url.size());
  lua_pushinteger(L, static_cast<lua_Integer>(recording->size()));
  lua_call(L, 2, 0);
  for (;;) {
    Vm::from(L).check_stop(L);
    std::this_thread::sleep_for(kStopCheckPause);
  }
}

}  // namespace

void open_dashboard(Vm& vm) {
  static constexpr luaL_Reg kFunctions[] = {{"replay", guarded<replay_run>}};
  vm.register_module("actor.c.dashboard", open_functions<kFunctions>);
}

}  // namespace actorhost
