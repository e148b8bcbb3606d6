#pragma once
// One node of the run: a thread with a Lua VM that runs the whole script, as a worker or as a parameter server.
// LocalNodes owns it, starts it and joins it. `request_stop`, `wake`, `done`, `address` and `traceback` are
// thread-safe. Only `join` and the destructor block.

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "bindings/modules/tool/call_watchdog.hpp"
#include "bindings/process/node_context.hpp"
#include "host/base/tasks.hpp"
#include "host/cluster/span_recorder.hpp"

namespace actorhost {

class NodeThread {
 public:
  struct Shared {
    Cluster& cluster;
    JobSource& job;
    const Clock& clock;
    Log& log;
    const RunOptions& options;
    ProcessShared& process;
    uint64_t seed;
    std::function<void()> ended;  // called on the node's thread when the node has ended
  };

  /// Attaches the node's address, so the node's mailbox receives frames before `start` starts the thread.
  NodeThread(Shared shared, Address address);
  ~NodeThread();

  /// Starts the thread. If the system refuses a thread, the node fails and ends the run.
  void start();
  /// Stops the script at its next engine call or hook.
  void request_stop();
  void wake() { node_.wake(); }
  void join();

  bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  Address address() const noexcept { return node_.address(); }
  /// This node's error with its traceback, for the host to print at the end of the run; empty without an error.
  std::string traceback() const { return failed_.load(std::memory_order_acquire) ? traceback_ : ""; }

 private:
  void run();
  void print(std::string_view line);
  Result<std::unique_ptr<Vm>> make_vm();
  void fail(const Error& error);
  void call_error_callbacks(Vm& vm, const Error& error);
  Status run_script(Vm& vm);
  void warn_of_unused_flags();
  void warn_of_unread_arguments(Vm& vm);
  std::unique_ptr<CallWatchdog> make_watchdog();

  Shared shared_;
  std::unique_ptr<SpanRecorder> spans_;  // set when the run is recorded
  Node node_;
  EventBox events_;
  NodeContext context_;
  std::unique_ptr<CallWatchdog> watchdog_;  // set on a server, and on a worker that evaluates its own rule
  std::unique_ptr<ModuleSource> modules_;
  std::mutex vm_mutex_;  // guards vm_ and stopped_
  Vm* vm_ = nullptr;
  bool stopped_ = false;
  std::string traceback_;  // constant once failed_ is set
  std::atomic<bool> failed_{false};
  std::atomic<bool> done_{false};
  Task thread_;
};

}  // namespace actorhost
