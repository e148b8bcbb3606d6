#include "bindings/run/interruption.hpp"

#include <cstdio>

#include <unistd.h>

#include "bindings/run/signal_watch.hpp"
#include "host/base/printable.hpp"

namespace actorhost {

/// Does not call fflush(nullptr), which would wait for a stream that a thread reads from (io.popen, io.read).
[[noreturn]] void leave(int code, Console& console) {
  console.finish(false);
  for (std::FILE* stream : {stdout, stderr}) {
    if (ftrylockfile(stream) != 0) continue;
    std::fflush(stream);
    funlockfile(stream);
  }
  _exit(code);
}

Interruption::Interruption(const RunOptions& options, const HostPlace& place, ProcessShared& process, RunParts& run,
                           LocalNodes& nodes, const Clock& clock)
    : options_(options),
      place_(place),
      process_(process),
      run_(run),
      nodes_(nodes),
      clock_(clock),
      checkpoints_(!options.checkpoint.empty() || options.resume) {}

void Interruption::interrupt() {
  interrupted_ = true;
  std::lock_guard lock(run_.mutex);
  if (run_.cluster) run_.cluster->stop(kInterrupted);
}

const EndMessage& Interruption::end() const {
  if (code_ == kByPipe) return kClosed;
  return code_ == kByTerminate ? kTerminated : kInterrupted;
}

void Interruption::watch(const SignalWatch& signals, const std::atomic<bool>& over, Log& log) {
  double give_up = kForever;
  double grace = kForever;  // when the grace time ends
  bool reported = true;
  while (!over && clock_.now() < give_up) {
    if (grace != kForever && !interrupted_ && (clock_.now() >= grace || !awaits_last_checkpoint())) {
      give_up = clock_.now() + 2 * kStopSeconds;
      interrupted_ = true;
      reported = false;
    }
    if (!reported) reported = report();
    const int signal = signals.wait(grace == kForever && give_up == kForever ? -1 : 20);
    if (signal == 0 || (place_.child && signal == SIGINT)) continue;
    if (signal == SIGUSR1) begin_last_checkpoint(log);
    if (grace != kForever && place_.child) continue;
    if (grace != kForever) break;
    code_ = signal == SIGINT ? kByInterrupt : signal == SIGPIPE ? kByPipe : kByTerminate;
    grace = clock_.now();
    if (signal == SIGINT || signal == SIGPIPE || !checkpoints_) continue;
    grace += options_.grace + (place_.child ? kStopSeconds : 0);  // the parent ends the run first
    if (!place_.child) begin_last_checkpoint(log);
  }
  if (over) return;
  if (std::unique_lock lock(run_.mutex, std::try_to_lock); lock) run_.private_folder.reset();
  leave(code_, process_.console);
}

/// Reports the interrupt to the cluster, or to the children when this process has no cluster. Returns false while
/// another thread holds the lock: the watcher must not wait for a long hold.
bool Interruption::report() {
  const std::unique_lock lock(run_.mutex, std::try_to_lock);
  if (!lock) return false;
  if (const auto workers = nodes_.workers(); place_.child && code_ == kByPipe && run_.cluster && !workers.empty()) {
    // Ends the run on all processes, because all write to the same output.
    run_.cluster->report_error(workers.front(), kClosed);
  } else if (run_.cluster) {
    run_.cluster->stop(end());
  } else if (run_.children) {
    run_.children->signal_all(SIGTERM);
  }
  run_.changed.notify_all();
  return true;
}

/// Requests the last checkpoints of this process.
void Interruption::begin_last_checkpoint(Log& log) {
  auto served = LastCheckpoint::served;
  process_.last_checkpoint.compare_exchange_strong(served, LastCheckpoint::requested);
  process_.keepers.begin_last();
  log.info("", "SIGTERM: waiting up to " + seconds_text(options_.grace) + " (--grace) for a last checkpoint");
}

/// Whether this process continues after SIGTERM: it, or another process of the run, may have a last checkpoint to
/// write.
bool Interruption::awaits_last_checkpoint() {
  const std::unique_lock lock(run_.mutex, std::try_to_lock);
  if (!lock) return true;
  if (!run_.cluster) return run_.children && run_.children->started();
  if (run_.cluster->epoch() == 0) return false;  // the run has not begun
  if (run_.cluster->end()) return true;
  if (place_.child && process_.keepers.last() && !process_.keepers.any()) end_without_keepers();
  if (place_.child || !run_.cluster->is_coordinator()) return true;
  const LastCheckpoint last = process_.last_checkpoint;
  if (last == LastCheckpoint::requested || last == LastCheckpoint::begun) {
    run_.cluster->count_news();
    nodes_.wake_servers();
    return true;
  }
  if (last == LastCheckpoint::taken) return process_.checkpoint_pending();
  if (!run_.children || process_.keepers.any()) return process_.keepers.any();
  if (!std::exchange(children_notified_, true)) run_.children->signal_all(SIGUSR1);
  return true;
}

/// Runs in a child of --isolate whose parent has no server with checkpoints. Ends the run if this child has the first
/// rank and the job has no checkpoint keepers.
void Interruption::end_without_keepers() {
  const MembershipPtr members = run_.cluster->membership();
  for (const Address worker : nodes_.workers()) {
    if (members->rank_of(worker) == 0U) run_.cluster->report_error(worker, kTerminated);
  }
}

}  // namespace actorhost
