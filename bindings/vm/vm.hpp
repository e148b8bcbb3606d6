#pragma once
// One LuaJIT state: what a node, the REPL and the simulator run their Lua in. Whoever starts the thread owns
// the Vm; every call is made on that one thread, except request_stop, stop_requested and running, which any
// thread may call. A Vm is created with strict globals, text-only loading, the embedded standard library and
// the modules of standard_modules.cpp; see README.md for what a script may and may not do.
//
// Stopping. request_stop sets a flag, calls VmConfig::wake so that a blocked engine call returns, and sends
// SIGURG to the thread inside run or call; its handler installs a count hook that raises "interrupted" at
// each Lua instruction until the outermost run or call is left, so a pcall cannot swallow it for long. SIGURG
// is ignored by default and nothing else here uses it; a handler that was installed before is still called. A
// loop compiled by the JIT runs no hooks: when running() stays true after request_stop, only ending the
// process helps, which is the host's decision.

#include <atomic>
#include <csignal>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pthread.h>

#include "host/base/clock.hpp"
#include "host/base/log.hpp"
#include "host/base/result.hpp"

struct lua_State;
struct lua_Debug;

namespace actorhost {

/// Lua source and the name that errors and tracebacks show for it, as Lua writes chunk names:
/// "@lib/util.lua".
struct ModuleText {
  std::string source;
  std::string chunk_name;
};

/// Where `require` finds the modules of a job. Called on the Vm's thread; must outlive the Vm.
class ModuleSource {
 public:
  ModuleSource() = default;
  ModuleSource(const ModuleSource&) = delete;
  ModuleSource& operator=(const ModuleSource&) = delete;
  virtual ~ModuleSource() = default;
  /// The text of module `name` ("lib.util"); nothing when there is no such module here (the next loader is
  /// asked); an error when there is one that may not be used (unreadable, another hash than the cluster's):
  /// `require` raises it.
  virtual Result<std::optional<ModuleText>> find(std::string_view name) = 0;
};

struct VmConfig {
  // "rank 3", as it is now; stands before every error message and log line. Called on the VM's thread.
  std::function<std::string()> who = [] { return std::string(); };
  std::function<void(std::string_view)> print;            // one finished line without newline; empty: standard output
  std::function<void(std::string_view)> error_text = {};  // text of one io.stderr:write; empty: standard error
  Log* log = nullptr;                                     // empty: actor.log is silent
  const Clock* clock = nullptr;                           // empty: a SteadyClock
  ModuleSource* modules = nullptr;                        // empty: embedded and C modules only
  void* context = nullptr;                                // the embedder's own, for its C functions
  uint64_t seed = 0;                                      // of math.random
  std::vector<std::string> args;                          // `...` of the script and actor.args
  std::string script;          // its path on this machine, actor.args[0]; empty where it is not here
  int kernel_threads = 1;      // that large products run on; results are the same for any number
  std::function<void()> wake;  // any thread, from request_stop: ends a blocked engine call
};

class Vm {
 public:
  /// Opens libraries and modules; fails when memory or a module of the standard library does.
  static Result<std::unique_ptr<Vm>> create(VmConfig config);
  /// Runs finalizers and closes the state.
  ~Vm();
  Vm(const Vm&) = delete;
  Vm& operator=(const Vm&) = delete;

  /// The Vm that `L` (its main state or one of its coroutines) belongs to.
  static Vm& from(lua_State* L);

  /// Loads `source` as text and runs it with the configured arguments. Blocks until the chunk returns.
  /// Failure carries who, file, line and the traceback, with Code::script for the script's own errors,
  /// Code::interrupted after a stop request, and the code given to raise_error for an engine's.
  Status run(std::string_view source, const std::string& chunk_name);
  /// The same for a chunk that leaves its results on state()'s stack (the REPL).
  Status load(std::string_view source, const std::string& chunk_name);
  /// Calls the function below `arguments` values on the stack of `L`, which a C function was given, or of
  /// state(). On success `results` values (LUA_MULTRET: any number) are in its place, on failure nothing is.
  Status call(lua_State* L, int arguments, int results);
  Status call(int arguments, int results) { return call(state_, arguments, results); }

  /// Any thread; may be repeated, which does no harm and sends the signal again.
  void request_stop();
  /// Any thread.
  bool stop_requested() const noexcept { return stop_.load(std::memory_order_relaxed); }
  /// Any thread: a run or call is under way, be it in Lua or in an engine call.
  bool running() const noexcept { return running_.load(std::memory_order_relaxed); }
  /// Lets the Vm run again after a stop (the REPL after Ctrl-C). Not while running.
  void clear_stop() noexcept;
  /// While this flag is set, Lua code is ended as by a stop request; the state goes on when it is taken back. It
  /// belongs to whoever runs chunks within the script, and has to outlive the Vm.
  void set_cut_flag(const std::atomic<bool>& cut) noexcept { cut_ = &cut; }
  /// Any thread: the flag has been set. To be called again until the chunk has ended: what it does may be `Whole`.
  void look_at_cut();
  /// While it lives, the cut flag counts as not set: for what would be broken if it ended half-way.
  class Whole {
   public:
    explicit Whole(Vm& vm) : vm_(vm) { vm_.whole_.fetch_add(1, std::memory_order_relaxed); }
    ~Whole() { vm_.whole_.fetch_sub(1, std::memory_order_relaxed); }
    Whole(const Whole&) = delete;
    Whole& operator=(const Whole&) = delete;

   private:
    Vm& vm_;
  };
  /// While it lives, code may set a hook by debug.sethook; afterwards the hook before is back. On the Vm's thread.
  class KeptHook {
   public:
    KeptHook(Vm& vm, lua_State* on);
    ~KeptHook();
    KeptHook(const KeptHook&) = delete;
    KeptHook& operator=(const KeptHook&) = delete;

   private:
    Vm& vm_;
    lua_State* on_;
    int place_ = 0;  // in the registry: what debug.gethook has returned, a table; LUA_NOREF: no hook
  };
  /// Scripts' sources that are loaded from now on are never compiled, so that the cut flag ends their loops, too.
  void interpret_sources() noexcept { interprets_ = true; }
  bool interprets_sources() const noexcept { return interprets_; }
  /// Gives what is written, as it comes, to `sink` instead of the print sink; returns the sink before. Empty: none.
  using Sink = std::function<void(std::string_view)>;
  Sink redirect(Sink sink) { return std::exchange(redirect_, std::move(sink)); }
  /// Raises the "interrupted" error in `L` when a stop was requested. Engine calls make it before and after
  /// they wait.
  void check_stop(lua_State* L);

  /// Makes `open` (a luaopen function) available as require(name), e.g. "actor.c.node". Before the first
  /// require of it.
  void register_module(const char* name, int (*open)(lua_State*));
  /// Makes `table`, a struct ah_NAME_api of bindings/ffi_NAME.h that outlives the Vm, available as
  /// require("actor.ffi")("NAME").
  void register_ffi(std::string name, const void* table);
  /// The table registered for `name`, or nullptr.
  const void* ffi_table(std::string_view name) const noexcept;
  /// Keeps `object` alive until the state is closed: per-Vm data of a module.
  void own(std::shared_ptr<void> object) { owned_.push_back(std::move(object)); }
  /// Remembers the code of an engine's error that is about to be raised; raise_error in lua_support.hpp does.
  void note_error(const Error& error) { noted_ = error; }
  /// The code of the engine's error that `text` is about; nothing where it is about none.
  std::optional<Code> noted_code(std::string_view text) const {
    return noted_ && text.find(noted_->message) != std::string_view::npos ? std::optional(noted_->code) : std::nullopt;
  }

  lua_State* state() noexcept { return state_; }
  void* context() const noexcept { return config_.context; }
  const VmConfig& config() const noexcept { return config_; }
  const Clock& clock() const noexcept { return *config_.clock; }
  /// What the script writes: each line goes to the print sink once it is finished, the last one also when the outermost
  /// call ends.
  void write(std::string_view text);
  /// What the script writes to standard error, in one piece.
  void write_error(std::string_view text);

 private:
  class Running;
  explicit Vm(VmConfig config);
  static int set_up(lua_State* L);
  static void stop_hook(lua_State* L, lua_Debug* where);
  static void on_signal(int signal, siginfo_t* info, void* where);
  static void install_signal_handler();
  void enter();
  void leave() noexcept;
  void arm_from_signal() noexcept;
  void disarm() noexcept;
  bool is_cut() const noexcept {
    return cut_ != nullptr && whole_.load(std::memory_order_relaxed) == 0 && cut_->load(std::memory_order_relaxed);
  }
  Error failure(lua_State* L, int status);

  VmConfig config_;
  lua_State* state_ = nullptr;
  int handler_ref_ = 0;
  int depth_ = 0;
  Vm* outer_ = nullptr;  // the Vm that was running on this thread when this one was entered
  bool interrupted_ = false;
  bool interprets_ = false;
  std::string unfinished_line_;  // what has been written without an end of line
  std::optional<Error> noted_;
  Sink redirect_;
  const std::atomic<bool>* cut_ = nullptr;
  std::atomic<int> whole_{0};
  std::map<std::string, const void*, std::less<>> ffi_tables_;
  std::vector<std::shared_ptr<void>> owned_;

  std::atomic<bool> stop_{false};
  std::atomic<bool> running_{false};
  std::atomic<bool> armed_{false};
  struct Hook {
    void (*function)(lua_State*, lua_Debug*) = nullptr;
    int mask = 0;
    int count = 0;
  };
  Hook hook_before_;         // armed_: the script's own, which comes back
  std::mutex runner_mutex_;  // between request_stop and entering or leaving: the thread must be there to be
                             // signalled
  pthread_t runner_{};
};

}  // namespace actorhost
