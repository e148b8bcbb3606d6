#include "bindings/vm/vm.hpp"

#include <cstdio>
#include <cstdlib>

#include <lua.hpp>

#include "bindings/vm/error_text.hpp"
#include "bindings/vm/lua_sandbox.hpp"
#include "bindings/vm/lua_support.hpp"
#include "bindings/vm/standard_modules.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/task_scheduler.hpp"

namespace actorhost {

namespace {

const char kVmKey = 0;  // its address is the registry key of the Vm
constexpr const char* kGetHook = "actor.debug.gethook";
constexpr const char* kSetHook = "actor.debug.sethook";
constexpr const char* kInterrupted = "interrupted: the run is stopping";
constexpr const char* kCut = "the chunk was interrupted";

// The innermost running Vm of this thread, for the signal handler.
thread_local std::atomic<Vm*> running_vm{nullptr};

int message_handler(lua_State* L) {
  const std::string text = error_text(L);
  if (text.find("\nstack traceback:") != std::string::npos) {
    lua_pushlstring(L, text.data(), text.size());  // an inner call has added the traceback
  } else {
    luaL_traceback(L, L, text.c_str(), 1);
  }
  return 1;
}

Error bytecode_error(const std::string& name) {
  return {Code::script, name + " is LuaJIT bytecode; only Lua source text is loaded"};
}

void print_to_stdout(std::string_view line) {
  flockfile(stdout);
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
  funlockfile(stdout);
}

#ifdef ACTORHOST_SANITIZED
/// The allocator of builds with sanitizers. Sanitizers do not see frees by LuaJIT's own allocator, so they would report
/// a race when memory moves from one state to another.
void* allocate(void* /*user*/, void* block, size_t /*old_size*/, size_t size) {
  if (size != 0) return std::realloc(block, size);
  std::free(block);
  return nullptr;
}

lua_State* new_state() { return lua_newstate(allocate, nullptr); }
#else
lua_State* new_state() { return luaL_newstate(); }
#endif

/// {debug.gethook()}, or nil without a hook. A state has one hook for all its coroutines.
int get_hook(lua_State* L) {
  lua_getfield(L, LUA_REGISTRYINDEX, kGetHook);
  lua_call(L, 0, 3);
  if (lua_isfunction(L, 1) == 0) return 0;
  lua_newtable(L);
  for (int i = 1; i <= 3; ++i) {
    lua_pushvalue(L, i);
    lua_rawseti(L, -2, i);
  }
  return 1;
}

/// debug.sethook(hook, mask, count) with the results of get_hook.
int set_hook(lua_State* L) {
  lua_getfield(L, LUA_REGISTRYINDEX, kSetHook);
  for (int i = 1; i <= 3 && lua_istable(L, 1) != 0; ++i) lua_rawgeti(L, 1, i);
  lua_call(L, lua_gettop(L) - 2, 0);
  return 0;
}

/// Stores the functions of `debug` in case a script replaces them.
void keep_hook_functions(lua_State* L) {
  lua_getglobal(L, "debug");
  lua_getfield(L, -1, "gethook");
  lua_setfield(L, LUA_REGISTRYINDEX, kGetHook);
  lua_getfield(L, -1, "sethook");
  lua_setfield(L, LUA_REGISTRYINDEX, kSetHook);
  lua_pop(L, 1);
}

/// Turns off an optimisation of LuaJIT that is wrong in Debian 12's release: NOTES.md, "Loads fused into x86
/// instructions".
void set_compiler_options(lua_State* L) {
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "jit.opt");
  lua_getfield(L, -1, "start");
  lua_pushliteral(L, "-fuse");
  lua_call(L, 1, 0);
  lua_pop(L, 2);
}

}  // namespace

// Marks the outermost run or call: a stop request may signal the thread only inside.
class Vm::Running : private NonCopyable {
 public:
  explicit Running(Vm& vm) : vm_(vm) {
    if (vm_.depth_++ == 0) vm_.enter();
  }
  ~Running() {
    if (--vm_.depth_ == 0) vm_.leave();
  }

 private:
  Vm& vm_;
};

Vm::Vm(VmConfig config) : config_(std::move(config)) {
  if (!config_.print) config_.print = print_to_stdout;
  if (config_.clock == nullptr) {
    auto clock = std::make_shared<SteadyClock>();
    config_.clock = clock.get();
    own(clock);
  }
}

Result<std::unique_ptr<Vm>> Vm::create(VmConfig config) {
  install_signal_handler();
  std::unique_ptr<Vm> vm(new Vm(std::move(config)));
  vm->state_ = new_state();
  if (vm->state_ == nullptr) return Error{Code::internal, "no memory for another Lua state"};
  if (lua_cpcall(vm->state_, set_up, vm.get()) != 0) {
    const char* text = lua_tostring(vm->state_, -1);
    return Error{Code::internal, std::string("the Lua state cannot be set up: ") + (text != nullptr ? text : "?")};
  }
  return vm;
}

int Vm::set_up(lua_State* L) {
  auto* vm = static_cast<Vm*>(lua_touserdata(L, 1));
  lua_pushlightuserdata(L, const_cast<char*>(&kVmKey));
  lua_pushlightuserdata(L, vm);
  lua_rawset(L, LUA_REGISTRYINDEX);
  luaL_openlibs(L);
  set_compiler_options(L);
  keep_hook_functions(L);
  lua_pushcfunction(L, guarded<message_handler>);
  vm->handler_ref_ = luaL_ref(L, LUA_REGISTRYINDEX);
  open_sandbox(L);
  open_standard_modules(*vm);
  return 0;
}

Vm::~Vm() {
  if (state_ != nullptr) lua_close(state_);
}

Vm& Vm::from(lua_State* L) {
  lua_pushlightuserdata(L, const_cast<char*>(&kVmKey));
  lua_rawget(L, LUA_REGISTRYINDEX);
  auto* vm = static_cast<Vm*>(lua_touserdata(L, -1));
  lua_pop(L, 1);
  return *vm;
}

Status Vm::load(std::string_view source, const std::string& chunk_name) {
  if (!source.empty() && source[0] == '\x1b') return bytecode_error(chunk_name.substr(chunk_name.find('@') + 1));
  std::string commented;
  if (!source.empty() && source[0] == '#') {  // "#!" line of an executable script; keeps the line numbers
    commented.append("--").append(source);
    source = commented;
  }
  const int status = luaL_loadbufferx(state_, source.data(), source.size(), chunk_name.c_str(), "t");
  if (status != 0) return failure(state_, status);
  return {};
}

Status Vm::run(std::string_view source, const std::string& chunk_name) {
  AH_TRY(load(source, chunk_name));
  if (lua_checkstack(state_, static_cast<int>(config_.args.size()) + 8) == 0) {
    lua_pop(state_, 1);
    return Error{Code::bad_argument, config_.label() + ": too many script arguments"};
  }
  for (const std::string& arg : config_.args) lua_pushlstring(state_, arg.data(), arg.size());
  return call(static_cast<int>(config_.args.size()), 0);
}

Status Vm::call(lua_State* L, int arguments, int results) {
  const Running running(*this);
  if (stop_requested() || is_cut()) {
    interrupted_ = interrupted_ || stop_requested();
    lua_settop(L, lua_gettop(L) - arguments - 1);
    return Error{Code::interrupted, config_.label() + ": " + (stop_requested() ? kInterrupted : kCut)};
  }
  const int base = lua_gettop(L) - arguments;
  lua_rawgeti(L, LUA_REGISTRYINDEX, handler_ref_);
  lua_insert(L, base);
  const int status = lua_pcall(L, arguments, results, base);
  lua_remove(L, base);
  if (depth_ == 1 && !unfinished_line_.empty()) write("\n");
  if (status != 0) return failure(L, status);
  return {};
}

// Pops the error value and converts it to an Error.
Error Vm::failure(lua_State* L, int status) {
  const char* text = lua_tostring(L, -1);
  std::string message = text != nullptr ? text : "(no error message)";
  lua_pop(L, 1);
  if (status == LUA_ERRERR) message += " (while the error was being handled; the stack may have overflowed)";
  Code code = Code::script;
  if (interrupted_) {
    code = Code::interrupted;
  } else if (const auto noted = noted_code(message)) {
    code = *noted;
  }
  if (depth_ <= 1) noted_.reset();
  const std::string label = config_.label();
  if (!label.empty() && !message.starts_with(label + ": ")) message = label + ": " + message;
  return {code, std::move(message)};
}

void Vm::write(std::string_view text) {
  if (redirect_) return redirect_(text);
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (unfinished_line_.empty()) {
      config_.print(line);
    } else {
      config_.print(std::exchange(unfinished_line_, {}).append(line));
    }
  }
  unfinished_line_ += text;
}

void Vm::write_error(std::string_view text) {
  if (config_.error_text) return config_.error_text(text);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void Vm::register_module(const char* name, int (*open)(lua_State*)) {
  lua_getfield(state_, LUA_REGISTRYINDEX, "_PRELOAD");
  lua_pushcfunction(state_, open);
  lua_setfield(state_, -2, name);
  lua_pop(state_, 1);
}

void Vm::register_ffi(std::string name, const void* table) { ffi_tables_[std::move(name)] = table; }

const void* Vm::ffi_table(std::string_view name) const noexcept {
  const auto found = ffi_tables_.find(name);
  return found != ffi_tables_.end() ? found->second : nullptr;
}

// --- stopping ---

void Vm::enter() {
  outer_ = running_vm.exchange(this, std::memory_order_relaxed);
  const std::lock_guard lock(runner_mutex_);
  runner_ = pthread_self();
  running_.store(true, std::memory_order_relaxed);
}

void Vm::leave() noexcept {
  {
    const std::lock_guard lock(runner_mutex_);
    running_.store(false, std::memory_order_relaxed);
  }
  running_vm.store(outer_, std::memory_order_relaxed);
  // A late signal now finds another Vm or none, so the hook stays off.
  disarm();
}

void Vm::request_stop() {
  stop_.store(true, std::memory_order_relaxed);
  if (config_.wake) config_.wake();
  interrupt();
}

void Vm::notify_cut() { interrupt(); }

/// Sets the hook of running Lua code, on its thread. In a rehearsal no Lua code runs while another task runs, and tasks
/// share threads, so no signal is needed.
void Vm::interrupt() {
  const std::lock_guard lock(runner_mutex_);
  if (!running_.load(std::memory_order_relaxed)) return;
  if (TaskScheduler::installed() == nullptr) {
    pthread_kill(runner_, SIGURG);
  } else if (stop_requested() || is_cut()) {
    arm_from_signal();
  }
}

void Vm::clear_stop() noexcept {
  stop_.store(false, std::memory_order_relaxed);
  interrupted_ = false;
}

void Vm::check_stop(lua_State* L) {
  if (stop_requested()) {
    interrupted_ = true;
    arm_from_signal();
    raise_at_user(L, kInterrupted);
  }
  if (!is_cut()) return;
  arm_from_signal();
  raise_error(L, {Code::interrupted, kCut});
}

void Vm::stop_hook(lua_State* L, lua_Debug* /*where*/) {
  Vm& vm = Vm::from(L);
  vm.check_stop(L);
  vm.disarm();  // the cut chunk has ended
}

// lua_sethook may be called asynchronously in the state's own thread. It does nothing when the mask stays the same, so
// this function removes the hook first. If a signal arrives while the interpreter switches its dispatch table, the next
// signal sets the hook again.
void Vm::arm_from_signal() noexcept {
  if (armed_.exchange(true, std::memory_order_relaxed)) {
    lua_sethook(state_, nullptr, 0, 0);
  } else {
    hook_before_ = {lua_gethook(state_), lua_gethookmask(state_), lua_gethookcount(state_)};
  }
  lua_sethook(state_, stop_hook, LUA_MASKCOUNT, 1);
}

void Vm::disarm() noexcept {
  if (!armed_.exchange(false, std::memory_order_relaxed)) return;
  lua_sethook(state_, hook_before_.function, hook_before_.mask, hook_before_.count);
}

Vm::SavedHook::SavedHook(Vm& vm, lua_State* on) : vm_(vm), on_(on), place_(LUA_NOREF) {
  if (lua_gethook(on_) == nullptr) return;
  lua_pushcfunction(on_, get_hook);
  if (lua_pcall(on_, 0, 1, 0) == 0 && lua_istable(on_, -1) != 0) {
    place_ = luaL_ref(on_, LUA_REGISTRYINDEX);
  } else {
    lua_pop(on_, 1);
  }
}

Vm::SavedHook::~SavedHook() {
  if (vm_.stop_requested()) return;  // the stop hook ends all running code
  if (place_ == LUA_NOREF && lua_gethook(on_) == nullptr) return;
  lua_sethook(on_, nullptr, 0, 0);  // a leftover stop hook must not end later code
  vm_.armed_.store(false, std::memory_order_relaxed);
  lua_pushcfunction(on_, set_hook);
  lua_rawgeti(on_, LUA_REGISTRYINDEX, place_);
  if (lua_pcall(on_, 1, 0, 0) != 0) lua_pop(on_, 1);
  luaL_unref(on_, LUA_REGISTRYINDEX, place_);
}

namespace {
struct sigaction previous_action;  // a process has one disposition per signal, for all Vms
}

void Vm::on_signal(int signal, siginfo_t* info, void* where) {
  Vm* vm = running_vm.load(std::memory_order_relaxed);
  if (vm != nullptr && (vm->stop_requested() || vm->is_cut())) vm->arm_from_signal();
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal, info, where);
  } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal);
  }
}

void Vm::install_signal_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGURG, &action, &previous_action);
  });
}

}  // namespace actorhost
