#include "bindings/modules/tool/console_runner.hpp"

#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include <lua.hpp>
#include <luajit.h>

#include "bindings/modules/engine/collective_engine.hpp"
#include "bindings/modules/engine/node_modules.hpp"
#include "bindings/modules/tool/call_watchdog.hpp"
#include "bindings/modules/tool/program_values.hpp"
#include "bindings/process/process_shared.hpp"
#include "bindings/vm/error_text.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/base/non_copyable.hpp"

namespace actorhost {

namespace {

constexpr const char* kRunnerKey = "actor.console";
constexpr double kIdleSeconds =
    5;  // limit of one wait for a chunk: a longer wait would be logged as a wait for other nodes

/// A coroutine that lives as long as the state.
lua_State* new_thread(lua_State* L) {
  lua_State* thread = lua_newthread(L);
  luaL_ref(L, LUA_REGISTRYINDEX);
  return thread;
}

/// Pushes the result of `require`.
void require_module(lua_State* L, const char* name) {
  lua_getglobal(L, "require");
  lua_pushstring(L, name);
  lua_call(L, 1, 1);
}

/// The modules in loading. `require` puts a mark in the place of each such module, and leaves it there after an error.
/// The mark is light userdata, or looks like a number; no module does.
std::set<std::string> modules_in_loading(lua_State* L) {
  std::set<std::string> names;
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_pushnil(L);
  while (lua_next(L, -2) != 0) {
    const bool mark = lua_islightuserdata(L, -1) || lua_type(L, -1) == LUA_TNUMBER;
    if (mark && lua_type(L, -2) == LUA_TSTRING) names.insert(lua_tostring(L, -2));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return names;
}

/// Makes modules loadable again after a chunk was ended during their load.
void forget_modules(lua_State* L, const std::set<std::string>& names) {
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  for (const std::string& name : names) {
    lua_pushnil(L);
    lua_setfield(L, -2, name.c_str());
  }
  lua_pop(L, 1);
}

/// Whether jit.status() reports that the JIT compiler is on.
int read_jit_status(lua_State* L) {
  auto* on = static_cast<bool*>(lua_touserdata(L, 1));
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "jit");
  lua_getfield(L, -1, "status");
  lua_call(L, 0, 1);
  *on = lua_toboolean(L, -1) != 0;
  return 0;
}

/// Disables and flushes the JIT compiler during its lifetime, unless the chunk itself calls jit.on(). Then restores the
/// compiler and the collector to their previous states, whatever the chunk has done.
class NothingCompiled : private NonCopyable {
 public:
  explicit NothingCompiled(lua_State* L) : L_(L), collected_(lua_gc(L, LUA_GCISRUNNING, 0) != 0) {
    if (lua_cpcall(L_, read_jit_status, &compiled_) != 0) lua_pop(L_, 1);
    if (!compiled_) return;
    luaJIT_setmode(L_, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
    luaJIT_setmode(L_, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_FLUSH);
  }
  ~NothingCompiled() {
    luaJIT_setmode(L_, 0, LUAJIT_MODE_ENGINE | (compiled_ ? LUAJIT_MODE_ON : LUAJIT_MODE_OFF));
    if (collected_ != (lua_gc(L_, LUA_GCISRUNNING, 0) != 0)) lua_gc(L_, collected_ ? LUA_GCRESTART : LUA_GCSTOP, 0);
  }

 private:
  lua_State* L_;
  bool compiled_ = false;  // the previous state
  bool collected_;
};

/// (chunk, restarts, restarting): starts the chunk in the engines; with `restarting` the engines first restart.
int begin_chunk(lua_State* L) {
  if (lua_toboolean(L, 3) != 0) {
    require_module(L, "actor.c.collective");
    CollectiveEngine::of(L).restart(static_cast<uint32_t>(lua_tointeger(L, 2)));
  }
  require_module(L, "actor.console.rounds");
  lua_getfield(L, -1, "begin");
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_call(L, 2, 0);
  return 0;
}

/// Ends the view of the script's local variables: functions that the chunk has defined see only globals from now on.
int forget_script(lua_State* L) {
  require_module(L, "actor.console.names");
  lua_getfield(L, -1, "environment");
  lua_call(L, 0, 0);
  return 0;
}

/// The number of the program's call in a request's mode, "program:7"; no value for a chunk of an observer.
std::optional<lua_Integer> program_call_of(const std::string& mode) {
  if (!mode.starts_with(kProgramMode)) return std::nullopt;
  return static_cast<lua_Integer>(std::strtoull(mode.c_str() + std::strlen(kProgramMode), nullptr, 10));
}

/// (mode, ...) -> text, by stdlib/actor/console/values.lua
int push_text(lua_State* L) {
  require_module(L, "actor.console.values");
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

}  // namespace

ConsoleRunner::ConsoleRunner(Vm& vm, NodeContext& context)
    : vm_(vm),
      context_(context),
      node_(context.node),
      chunks_(node_.cluster().chunks()),
      threads_{new_thread(vm.state()), new_thread(vm.state())} {
  vm_.set_cut_flag(node_.chunk_queue().cut_flag());
  chunks_.set_interrupt(node_.chunk_queue(), [this] { vm_.notify_cut(); });
  node_.set_chunk_runner(this);
}

ConsoleRunner::~ConsoleRunner() {
  chunks_.set_interrupt(node_.chunk_queue(), {});
  node_.set_chunk_runner(nullptr);
}

uint64_t ConsoleRunner::lua_bytes() { return static_cast<uint64_t>(lua_gc(vm_.state(), LUA_GCCOUNT, 0)) << 10; }

bool ConsoleRunner::may_run_chunks() { return context_.watchdog == nullptr || !context_.watchdog->limited(); }

void ConsoleRunner::run_chunks() {
  while (const ConsoleChunkPtr chunk = chunks_.begin(node_.chunk_queue())) (void)run(*chunk, threads_.alone);
}

/// Loads the chunk and pushes its arguments.
Status ConsoleRunner::load(const ConsoleChunk& chunk, lua_State* on) {
  lua_State* const script = vm_.state();
  if (lua_checkstack(script, 1) == 0) return Error{Code::full, "the script's stack is full"};
  lua_pushcfunction(on, guarded<load_chunk>);
  push(on, std::string_view(chunk.source));
  push(on, std::string_view(chunk.request.name));
  if (chunk.request.together) {
    lua_pushnil(on);
  } else {
    lua_pushthread(script);
    lua_xmove(script, on, 1);
  }
  AH_TRY(vm_.call(on, 3, 1));
  if (const auto call = program_call_of(chunk.request.mode)) {
    lua_pushcfunction(on, guarded<push_call_arguments>);
    lua_pushinteger(on, *call);
    return vm_.call(on, 1, LUA_MULTRET);
  }
  for (const std::string& argument : chunk.request.arguments) lua_pushlstring(on, argument.data(), argument.size());
  return {};
}

/// Runs the chunk; returns its values as text.
Result<std::string> ConsoleRunner::evaluate(const ConsoleChunk& chunk, lua_State* on) {
  lua_settop(on, 0);
  if (chunk.request.together) AH_TRY(agree(chunk.request, on));
  AH_TRY(load(chunk, on));
  // A compiled loop could not be interrupted. While a job waits, the job's functions may be compiled, so the compiler
  // is off. In a console's own cluster only the library is compiled.
  std::optional<NothingCompiled> interpreted;
  if (chunk.request.together) {
    luaJIT_setmode(on, 1, LUAJIT_MODE_ALLFUNC | LUAJIT_MODE_OFF);
  } else {
    interpreted.emplace(on);
  }
  AH_TRY(vm_.call(on, lua_gettop(on) - 1, LUA_MULTRET));
  if (const auto call = program_call_of(chunk.request.mode)) {
    lua_pushcfunction(on, guarded<give_call_values>);
    lua_insert(on, 1);
    lua_pushinteger(on, *call);
    lua_insert(on, 2);
    AH_TRY(vm_.call(on, lua_gettop(on) - 1, 0));
    return std::string();
  }
  if (lua_gettop(on) == 0) return std::string();
  lua_pushcfunction(on, push_text);
  lua_insert(on, 1);
  lua_pushlstring(on, chunk.request.mode.data(), chunk.request.mode.size());
  lua_insert(on, 2);
  AH_TRY(vm_.call(on, lua_gettop(on) - 1, 1));
  size_t size = 0;
  const char* text = lua_tolstring(on, -1, &size);
  std::string values(text != nullptr ? text : "", size);
  lua_settop(on, 0);
  return values;
}

/// The error's text for observers, without the node's name, which they know.
std::string ConsoleRunner::error_for_observers(const Error& error) const {
  std::string text = user_traceback(error.message);
  const std::string prefix = node_.name() + ": ";
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return text;
}

/// Runs the chunk that the scheduler has begun and reports its end to the scheduler. Returns whether the chunk
/// succeeded.
bool ConsoleRunner::run(const ConsoleChunk& chunk, lua_State* on) {
  static constexpr EngineCall kCall{Cause::console, "chunk"};
  const Activity activity(node_.stats(), kCall);
  ChunkScheduler::NodeQueue& queue = node_.chunk_queue();
  const bool together = chunk.request.together;
  const double began = node_.clock().now();
  // A server runs common chunks only for its run, so only callbacks of the run may print.
  Vm::Sink before = vm_.redirect([this, &queue, together](std::string_view text) {
    if (!together || node_.role() == Role::worker || context_.shows_output) chunks_.write(queue, text);
  });
  const auto fail = context_.fail;
  if (together) {
    context_.fail = [this, &queue](const Error& error) { chunks_.fail_together(queue, error_for_observers(error)); };
  }
  const std::set<std::string> loading = modules_in_loading(on);
  const Result<std::string> values = [&] {
    const Vm::SavedHook hook(vm_, on);
    return evaluate(chunk, on);
  }();
  if (!values) {
    std::set<std::string> left = modules_in_loading(on);
    std::erase_if(left, [&](const std::string& name) { return loading.contains(name); });
    forget_modules(on, left);
  }
  if (!together) {
    const Vm::NoCut whole(vm_);
    if (lua_cpcall(on, forget_script, nullptr) != 0) lua_pop(on, 1);
  }
  context_.fail = fail;
  (void)vm_.redirect(std::move(before));
  ConsoleDone done;
  done.ok = values.ok();
  done.seconds = node_.clock().now() - began;
  if (!values) done.error = error_for_observers(values.error());
  done.interrupted = vm_.stop_requested();  // a replaced server has not failed
  chunks_.finish(queue, std::move(done), values ? std::string_view(*values) : std::string_view());
  lua_settop(on, 0);
  return values.ok();
}

/// Waits for a chunk for all nodes. A server meanwhile serves get, set and keys.
Status ConsoleRunner::wait_for_chunk(lua_State* L) {
  const auto has_chunk = [this] { return chunks_.has_together(node_.chunk_queue()); };
  chunks_.report_ready(node_.chunk_queue());
  if (node_.role() == Role::server) return serve_values_until(L, has_chunk);
  static constexpr EngineCall kCall{Cause::console, "console.wait"};
  const Activity activity(node_.stats(), kCall);
  for (;;) {
    Status waited = node_.wait_until(has_chunk, {}, "console.wait", node_.clock().now() + kIdleSeconds);
    if (waited || waited.error().code != Code::timeout) return waited;
  }
}

Status ConsoleRunner::run_together(lua_State* L) {
  over_ = false;
  vm_.interpret_sources();
  lua_settop(L, 0);
  if (context_.watchdog != nullptr) context_.watchdog->end();
  if (node_.role() == Role::server) require_module(L, "actor.c.param");
  while (!over_) {
    AH_TRY(wait_for_chunk(L));
    const ConsoleChunkPtr chunk = chunks_.begin_together(node_.chunk_queue());
    if (chunk == nullptr) {
      AH_TRY(node_.run_chunks());  // waits while the run is paused
      continue;
    }
    const bool succeeded = run(*chunk, threads_.together);
    if (succeeded || node_.role() == Role::worker || !context_.shows_output) continue;
    // The run of this server is over; the next run gets new servers. Values can still be read.
    context_.shows_output = false;
    context_.shared.finished_run = node_.actions() - 1;
    return {};
  }
  return {};
}

/// Synchronises the counters that all nodes must agree on. A failed chunk may leave nodes at different positions, so
/// the engines restart after it. If this chunk is already interrupted, it fails, and the next chunk restarts the
/// engines.
Status ConsoleRunner::agree(const ConsoleRequest& request, lua_State* on) {
  node_.refresh();
  node_.set_actions(request.actions);
  const bool restarting =
      std::exchange(restarts_, request.restarts) != request.restarts && node_.role() == Role::worker;
  lua_pushcfunction(on, guarded<begin_chunk>);
  lua_pushinteger(on, static_cast<lua_Integer>(request.chunk));
  lua_pushinteger(on, static_cast<lua_Integer>(request.restarts));
  lua_pushboolean(on, restarting ? 1 : 0);
  return vm_.call(on, 3, 0);
}

int load_chunk(lua_State* L) {
  const std::string source(check_text(L, 1, "source", "load_chunk"));
  const std::string name(check_text(L, 2, "name", "load_chunk"));
  const auto loads = [&](const std::string& text) {
    lua_settop(L, 3);
    return luaL_loadbufferx(L, text.data(), text.size(), name.c_str(), "t") == 0;
  };
  // Not `return f()`: a tail call has no line. So the values pass through a function that returns them. The chunk does
  // not contain the function's name.
  std::string give = "give";
  while (source.find(give) != std::string::npos) give += '_';
  const bool expression = loads("return " + source) && loads("local " + give + " = ... return function(...) return " +
                                                             give + "(" + source + "\n) end");
  if (!expression && !loads(source)) return lua_error(L);
  require_module(L, "actor.console.names");
  lua_getfield(L, -1, "environment");
  lua_pushvalue(L, 3);
  lua_call(L, 1, 1);
  lua_setfenv(L, 4);
  lua_settop(L, 4);
  if (!expression) return 1;
  lua_pushcfunction(L, [](lua_State* of) { return lua_gettop(of); });
  lua_call(L, 1, 1);
  return 1;
}

void refuse_alone(lua_State* L, const char* call, const char* name) {
  if (!NodeContext::of(L).node.in_chunk()) return;
  raise_at_user(L, std::string(call) + name +
                       " needs other nodes too, and a chunk on nodes of a running job runs on its own; start "
                       "`actorhost repl` for a cluster whose nodes run each chunk together");
}

namespace {

/// wait(): runs the chunks for all nodes until a chunk calls `finish`
int wait(lua_State* L) {
  refuse_alone(L, "console.wait");
  expect(L, RegistryObject<ConsoleRunner>::find(L, kRunnerKey).run_together(L));
  return 0;
}

/// finish(): `wait` returns after this chunk
int finish(lua_State* L) {
  RegistryObject<ConsoleRunner>::find(L, kRunnerKey).end();
  return 0;
}

}  // namespace

void open_console(Vm& vm) {
  auto* context = static_cast<NodeContext*>(vm.context());
  RegistryObject<ConsoleRunner>::store(vm.state(), kRunnerKey, std::make_shared<ConsoleRunner>(vm, *context));
  static constexpr luaL_Reg kFunctions[] = {{"wait", guarded<wait>}, {"finish", guarded<finish>}};
  vm.register_module("actor.c.console", open_functions<kFunctions>);
}

}  // namespace actorhost
