#pragma once
// How a signal ends a run: at once, or after a last checkpoint, or with the process; and the
// parts of the run that a signal reaches (RunParts). HostRuntime owns both. `Interruption::watch` runs on a thread of
// its own; the other functions are thread-safe.

#include <atomic>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>

#include "bindings/process/process_shared.hpp"
#include "bindings/process/run_options.hpp"
#include "bindings/run/host_place.hpp"
#include "bindings/run/isolate.hpp"
#include "bindings/run/local_nodes.hpp"
#include "bindings/run/private_folder.hpp"
#include "host/base/tasks.hpp"
#include "host/cluster/cluster.hpp"

namespace actorhost {

class SignalWatch;

inline constexpr double kStopSeconds = 1.0;  // time for nodes to leave their Lua after a stop request
inline constexpr int kByInterrupt = 128 + SIGINT;
inline constexpr int kByTerminate = 128 + SIGTERM;
inline constexpr int kByPipe = 128 + SIGPIPE;
inline const EndMessage kInterrupted{Code::interrupted, false, "interrupted", kNoAddress};
inline const EndMessage kClosed{Code::interrupted, false, "the reader of its output has closed the pipe", kNoAddress};

/// The objects of a run that the main thread shares with the signal watcher, the cluster's thread and callers of
/// `interrupt`. HostRuntime owns them. The main thread locks the mutex to set these members, and reads them without the
/// mutex. The other threads lock the mutex to read them.
struct RunParts {
  std::mutex mutex;
  WaitPoint changed;                            // signals a new membership, the end of the run, or an interrupt
  std::optional<PrivateFolder> private_folder;  // set in an --isolate run without other hosts; outlives its users below
  std::unique_ptr<Cluster> cluster;             // null in the parent of an --isolate host that only joins
  std::unique_ptr<ChildSupervisor> children;    // set on an --isolate host
};

/// Ends the process while threads still run.
[[noreturn]] void leave(int code, Console& console);

class Interruption {
 public:
  /// The objects belong to the host runtime and outlive this one.
  Interruption(const RunOptions& options, const HostPlace& place, ProcessShared& process, RunParts& run,
               LocalNodes& nodes, const Clock& clock);

  /// Interrupts as Ctrl-C does.
  void interrupt();
  /// Whether the run was interrupted, by a signal or by `interrupt`.
  explicit operator bool() const noexcept { return interrupted_; }
  /// The exit code after an interrupt: 128 plus the signal's number.
  int code() const noexcept { return code_; }
  /// The end of a run that the signal has ended.
  const EndMessage& end() const;

  /// Turns the first signal into an interrupt; SIGTERM first waits for the last checkpoint or the end of --grace. Ends
  /// the process if the process does not end by itself, or on a second signal. A child of --isolate leaves Ctrl-C and
  /// second signals to its parent, which forwards its own SIGTERM as SIGUSR1. Returns once `over` is set and the signal
  /// watch has finished.
  void watch(const SignalWatch& signals, const std::atomic<bool>& over, Log& log);

 private:
  bool report();
  void begin_last_checkpoint(Log& log);
  bool awaits_last_checkpoint();
  void end_without_keepers();

  const RunOptions& options_;
  const HostPlace& place_;
  ProcessShared& process_;
  RunParts& run_;
  LocalNodes& nodes_;
  const Clock& clock_;
  const bool checkpoints_;  // --checkpoint or --resume is given
  std::atomic<bool> interrupted_{false};
  std::atomic<int> code_{kByInterrupt};
  bool children_notified_ = false;  // they have received SIGUSR1
};

}  // namespace actorhost
