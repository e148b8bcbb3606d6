#pragma once
// One LuaJIT state, for a node, the REPL or the simulator. The thread that created the Vm owns it and makes all calls;
// only request_stop, stop_requested and running are thread-safe. A new Vm has strict globals, text-only loading, the
// embedded standard library and the modules of standard_modules.cpp; README.md lists the limits of a script.
//
// Stopping. request_stop sets a flag, calls VmConfig::wake so that a blocked engine call returns, and sends SIGURG to
// the thread inside run or call. The signal handler installs a count hook that raises "interrupted" at each Lua
// instruction until the outermost run or call returns, so a pcall cannot swallow the error for long. SIGURG is ignored
// by default and unused elsewhere in this program; the handler calls a previously installed handler. A loop compiled by
// the JIT runs no hooks: if running() stays true after request_stop, only the end of the process stops the loop. The
// host decides this.

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
#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"

struct lua_State;
struct lua_Debug;

namespace actorhost {

/// Lua source and its name in errors and tracebacks, in Lua's form of chunk names: "@lib/util.lua".
struct ModuleText {
  std::string source;
  std::string chunk_name;
};

/// Finds a job's modules for `require`. Called on the Vm's thread; must outlive the Vm.
class ModuleSource : public Interface {
 public:
  /// Returns the text of module `name` ("lib.util"), or no value for an unknown module: `require` then tries the next
  /// loader. Returns an error for an unusable module (unreadable, or its hash differs from the cluster's): `require`
  /// raises it. An interruption and the end of the run keep their codes.
  virtual Result<std::optional<ModuleText>> find(std::string_view name) = 0;
};

struct VmConfig {
  // "rank 3": the VM's present label, a prefix of every error message and log line. Called on the VM's thread.
  std::function<std::string()> label = [] { return std::string(); };
  std::function<void(std::string_view)> print;            // one finished line without newline; empty: standard output
  std::function<void(std::string_view)> error_text = {};  // text of one io.stderr:write; empty: standard error
  Log* log = nullptr;                                     // empty: actor.log is silent
  const Clock* clock = nullptr;                           // empty: a SteadyClock
  ModuleSource* modules = nullptr;                        // empty: embedded and C modules only
  void* context = nullptr;                                // the embedder's object for its C functions
  uint64_t seed = 0;                                      // for math.random
  std::vector<std::string> args;                          // `...` of the script and actor.args
  std::string script;          // its path on this machine, actor.args[0]; empty if it is on another
  int kernel_threads = 1;      // threads for large products; results are the same for any number
  std::function<void()> wake;  // ends a blocked engine call; request_stop calls it on any thread
};

class Vm : private NonCopyable {
 public:
  /// Opens libraries and modules. Fails when memory runs out or a standard library module fails.
  static Result<std::unique_ptr<Vm>> create(VmConfig config);
  /// Runs finalizers and closes the state.
  ~Vm();

  /// The Vm of `L`, which is its main state or one of its coroutines.
  static Vm& from(lua_State* L);

  /// Loads `source` as text and runs it with the configured arguments. Blocks until the chunk returns. A failure has
  /// the label, file, line and traceback. Its code is Code::script for the script's own errors, Code::interrupted after
  /// a stop request, and the code given to raise_error for engine errors.
  Status run(std::string_view source, const std::string& chunk_name);
  /// Loads a chunk, as run does, and leaves it on state()'s stack (for the REPL).
  Status load(std::string_view source, const std::string& chunk_name);
  /// Calls the function below `arguments` values on the stack of `L`, the state of a C function, or of state(). On
  /// success replaces them by `results` values (LUA_MULTRET: any number); on failure pushes nothing.
  Status call(lua_State* L, int arguments, int results);
  Status call(int arguments, int results) { return call(state_, arguments, results); }

  /// Thread-safe. A repeated call sends the signal again.
  void request_stop();
  /// Thread-safe.
  bool stop_requested() const noexcept { return stop_.load(std::memory_order_relaxed); }
  /// Thread-safe. Whether a run or call is in progress, in Lua or in an engine call.
  bool running() const noexcept { return running_.load(std::memory_order_relaxed); }
  /// Allows the Vm to run again after a stop (the REPL after Ctrl-C). Not while running.
  void clear_stop() noexcept;
  /// While this flag is set, Lua code ends as after a stop request; the state continues when the flag is cleared. The
  /// owner of the flag runs chunks within the script. The flag must outlive the Vm.
  void set_cut_flag(const std::atomic<bool>& cut) noexcept { cut_ = &cut; }
  /// Thread-safe. Signals that the flag is set. Repeat the call until the chunk has ended, because a `NoCut` section
  /// postpones the end.
  void notify_cut();
  /// Disables the cut flag during its lifetime, for sections that must not end half-way.
  class NoCut : private NonCopyable {
   public:
    explicit NoCut(Vm& vm) : vm_(vm) { vm_.no_cut_count_.fetch_add(1, std::memory_order_relaxed); }
    ~NoCut() { vm_.no_cut_count_.fetch_sub(1, std::memory_order_relaxed); }

   private:
    Vm& vm_;
  };
  /// Lets code set a hook by debug.sethook during its lifetime; restores the previous hook. On the Vm's thread.
  class SavedHook : private NonCopyable {
   public:
    SavedHook(Vm& vm, lua_State* on);
    ~SavedHook();

   private:
    Vm& vm_;
    lua_State* on_;
    int place_ = 0;  // registry reference to the table of debug.gethook's results; LUA_NOREF: no hook
  };
  /// Disables the JIT for all script sources loaded from now on, so that the cut flag also ends their loops.
  void interpret_sources() noexcept { interprets_ = true; }
  bool interprets_sources() const noexcept { return interprets_; }
  /// Sends output unbuffered to `sink` instead of the print sink; an empty sink restores the print sink. Returns the
  /// previous sink.
  using Sink = std::function<void(std::string_view)>;
  Sink redirect(Sink sink) { return std::exchange(redirect_, std::move(sink)); }
  /// Raises the "interrupted" error in `L` after a stop request. Engine calls use it before and after they wait.
  void check_stop(lua_State* L);

  /// Makes `open` (a luaopen function) available as require(name), e.g. "actor.c.node". Call it before the first
  /// require of the module.
  void register_module(const char* name, int (*open)(lua_State*));
  /// Makes `table` available as require("actor.ffi")("NAME"). `table` is a struct ah_NAME_api of bindings/ffi_NAME.h
  /// and outlives the Vm.
  void register_ffi(std::string name, const void* table);
  /// The table registered for `name`, or nullptr.
  const void* ffi_table(std::string_view name) const noexcept;
  /// Keeps `object`, the per-Vm data of a module, alive until the state is closed.
  void own(std::shared_ptr<void> object) { owned_.push_back(std::move(object)); }
  /// Records the code of an engine's error before raise_error of lua_support.hpp raises it.
  void note_error(const Error& error) { noted_ = error; }
  /// The code of the recorded engine error, if `text` contains its message.
  std::optional<Code> noted_code(std::string_view text) const {
    return noted_ && text.find(noted_->message) != std::string_view::npos ? std::optional(noted_->code) : std::nullopt;
  }

  lua_State* state() noexcept { return state_; }
  void* context() const noexcept { return config_.context; }
  const VmConfig& config() const noexcept { return config_; }
  const Clock& clock() const noexcept { return *config_.clock; }
  /// The script's output. Sends each finished line to the print sink; the end of the outermost call also ends the last
  /// line.
  void write(std::string_view text);
  /// The script's output to standard error, written at once.
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
  void interrupt();
  void arm_from_signal() noexcept;
  void disarm() noexcept;
  bool is_cut() const noexcept {
    return cut_ != nullptr && no_cut_count_.load(std::memory_order_relaxed) == 0 &&
           cut_->load(std::memory_order_relaxed);
  }
  Error failure(lua_State* L, int status);

  VmConfig config_;
  lua_State* state_ = nullptr;
  int handler_ref_ = 0;
  int depth_ = 0;
  Vm* outer_ = nullptr;  // the Vm that ran on this thread when this Vm was entered
  bool interrupted_ = false;
  bool interprets_ = false;
  std::string unfinished_line_;  // output without an end of line
  std::optional<Error> noted_;
  Sink redirect_;
  const std::atomic<bool>* cut_ = nullptr;
  std::atomic<int> no_cut_count_{0};
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
  Hook hook_before_;         // armed_: the script's hook, to be restored
  std::mutex runner_mutex_;  // makes entering, leaving and request_stop exclusive: the signalled thread must exist
  pthread_t runner_{};
};

}  // namespace actorhost
