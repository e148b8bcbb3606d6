#pragma once
// One node: a thread with a VM that runs the whole script, as a worker or as a parameter server. Made and joined by the
// host runtime; `request_stop` and `wake` may come from any thread.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "bindings/modules/call_watchdog.hpp"
#include "bindings/process/node_context.hpp"
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
    std::function<void()> ended;  // called on the node's thread when it is done
  };

  /// Attaches the node's address at once, so that frames can be sent to it; the thread starts with `start`.
  NodeThread(Shared shared, Address address);
  ~NodeThread();

  /// Ends the run where the machine has no thread for it.
  void start();
  /// Asks the script to stop at its next engine call or hook.
  void request_stop();
  void wake() { node_.wake(); }
  void join();

  bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  Address address() const noexcept { return node_.address(); }
  /// The whole text of the error that it has ended the run with, for the host that shows it; empty without one.
  std::string traceback() const { return failed_.load(std::memory_order_acquire) ? traceback_ : ""; }

 private:
  void run();
  void print(std::string_view line);
  Result<std::unique_ptr<Vm>> make_vm();
  void fail(const Error& error);
  void tell_script(Vm& vm, const Error& error);
  Status run_script(Vm& vm);
  void tell_of_unused_flags();
  std::unique_ptr<CallWatchdog> make_watchdog();

  Shared shared_;
  std::unique_ptr<SpanRecorder> spans_;  // where the run is recorded
  Node node_;
  EventBox events_;
  NodeContext context_;
  std::unique_ptr<CallWatchdog> watchdog_;  // of a server, and of a worker that asks for it
  std::unique_ptr<ModuleSource> modules_;
  std::mutex vm_mutex_;  // between request_stop and the VM's coming and going
  Vm* vm_ = nullptr;
  bool stopped_ = false;
  std::string traceback_;  // not changed any more once failed_ is set
  std::atomic<bool> failed_{false};
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace actorhost
