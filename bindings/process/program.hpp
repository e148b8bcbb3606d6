#pragma once
// The program that embeds a host, as the nodes of the host see it: its values, its functions for Lua, and its calls
// into Lua. EmbeddedHost (bindings/commands/embedded_host.hpp) makes the Program; the nodes use it through
// ProcessShared.

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"
#include "host/base/tasks.hpp"
#include "host/base/tensor.hpp"

namespace actorhost {

/// A value that a program and Lua exchange. A tensor shares its bytes with the other side.
struct ProgramValue {
  using List = std::vector<ProgramValue>;
  struct Map {
    std::vector<ProgramValue> items;  // key, value, key, value, ...
  };
  std::variant<std::monostate, bool, double, int64_t, std::string, Tensor, List, Map> value;
};

/// A function of the program. Nodes call it concurrently, on their threads. An exception becomes a Lua error.
using ProgramFunction = std::function<ProgramValue(std::span<const ProgramValue>)>;

/// A call of the program: a chunk of Lua with arguments. Thread-safe.
class ProgramCall : private NonCopyable {
 public:
  ProgramCall(std::string chunk, std::string chunk_name, std::vector<ProgramValue> values)
      : source(std::move(chunk)), name(std::move(chunk_name)), arguments(std::move(values)) {}

  const std::string source;
  const std::string name;  // in Lua's form of chunk names: "@job.lua"
  const std::vector<ProgramValue> arguments;

  // ---- nodes ----

  /// The chunk has returned these values on a node.
  void give(uint32_t rank, std::vector<ProgramValue> values);
  void write(std::string_view output);
  /// The call has ended; later ends have no effect.
  void end(const Status& how);

  // ---- the program ----

  /// Waits for the end of the call, at most `seconds`; false if it has not ended.
  bool wait(double seconds);
  /// How the call has ended; constant after the end.
  const Status& result() const noexcept { return result_; }
  /// The values of each node, by rank; constant after the end.
  const std::map<uint32_t, std::vector<ProgramValue>>& values() const noexcept { return values_; }
  /// The output since the last call.
  std::string take_output();

 private:
  std::mutex mutex_;
  WaitPoint changed_;
  bool ended_ = false;
  Status result_;
  std::map<uint32_t, std::vector<ProgramValue>> values_;
  std::string output_;
};

/// The mode of a chunk (ConsoleRequest) for a call of the program begins with this text; the call's number follows.
inline constexpr const char* kProgramMode = "program:";

using ProgramCallPtr = std::shared_ptr<ProgramCall>;

/// Thread-safe.
class Program : private NonCopyable {
 public:
  /// With `works` the program takes the place of the `push` of the script, on the one worker of this host.
  Program(std::map<std::string, ProgramFunction> offered, bool does_steps)
      : functions(std::move(offered)), works(does_steps) {}

  const std::map<std::string, ProgramFunction> functions;  // by name, for the Lua module "host"
  const bool works;

  // ---- calls to the worker of a program that works ----

  /// Adds a call. The worker runs the calls in order, while its script waits in a `push`.
  void add(ProgramCallPtr call);
  /// Withdraws a call that waits; false: the worker has taken the call.
  bool withdraw(const ProgramCallPtr& call);
  /// The next call; nullptr without a call.
  ProgramCallPtr take();
  /// Takes no lock: a wait calls it within its own.
  bool has_call() const noexcept { return has_call_.load(std::memory_order_acquire); }
  /// Sets the function that wakes the worker.
  void set_wake(std::function<void()> wake);
  /// The worker's run has ended with this summary, so no step follows: ends the calls that wait and later calls, with
  /// Code::aborted and the summary as their value, until `resume`; also after `end`.
  void pause(ProgramValue summary);
  void resume();

  // ---- chunks on all nodes of a console's cluster ----

  /// The number under which nodes find a call.
  uint64_t number(const ProgramCallPtr& call);
  /// nullptr after the end of the call.
  ProgramCallPtr find(uint64_t number) const;
  void forget(uint64_t number);

  /// The host has ended: all calls end, also later calls.
  void end(const Error& why);

 private:
  mutable std::mutex mutex_;
  std::function<void()> wake_;
  std::deque<ProgramCallPtr> waiting_;
  std::atomic<bool> has_call_{false};  // waiting_ is not empty
  ProgramCallPtr taken_;               // the newest call that the worker has taken
  std::map<uint64_t, ProgramCallPtr> numbered_;
  uint64_t newest_ = 0;
  std::optional<ProgramValue> summary_;
  std::optional<Error> over_;
};

}  // namespace actorhost
