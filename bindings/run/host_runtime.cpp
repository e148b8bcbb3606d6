#include "bindings/run/host_runtime.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>

#include <unistd.h>

#include "bindings/run/cluster_config.hpp"
#include "bindings/run/signal_watch.hpp"
#include "host/base/printable.hpp"
#include "host/cluster/look/run_files.hpp"

namespace actorhost {

namespace {

constexpr int kNoCheckpoint = 4;  // exit code: the run's checkpoints cannot be written

constexpr double kRefusalWait = 2.0;    // time for all processes of a refused host to learn of the refusal
constexpr double kUnseenSeconds = 0.1;  // a run that ends sooner is not announced to observers
constexpr int kByInterrupt = 128 + SIGINT;
constexpr int kByTerminate = 128 + SIGTERM;
constexpr int kByPipe = 128 + SIGPIPE;
const EndMessage kInterrupted{Code::interrupted, false, "interrupted", kNoAddress};
const EndMessage kClosed{Code::interrupted, false, "the reader of its output has closed the pipe", kNoAddress};

constexpr double kStopSeconds = 1.0;  // time for nodes to leave their Lua after a stop request

/// Ends the process while threads still run. Does not call fflush(nullptr), which would wait for a stream that a thread
/// reads from (io.popen, io.read).
[[noreturn]] void leave(int code, Console& console) {
  console.finish(false);
  for (std::FILE* stream : {stdout, stderr}) {
    if (ftrylockfile(stream) != 0) continue;
    std::fflush(stream);
    funlockfile(stream);
  }
  _exit(code);
}

}  // namespace

int exit_code_of(Code code) noexcept {
  switch (code) {
    case Code::bad_argument: return 2;
    case Code::interrupted: return 130;
    case Code::script:
    case Code::full:
    case Code::bad_data:
    case Code::mismatch:
    case Code::unsupported: return 1;
    default: return 3;
  }
}

HostRuntime::HostRuntime(RunOptions options, Setup setup)
    : options_(std::move(options)),
      setup_(std::move(setup)),
      lines_(options_.log_json, current_hostname() + ":" + std::to_string(getpid())) {
  process_.functions = std::move(setup_.functions);
}

HostRuntime::~HostRuntime() {
  drop_nodes();
  drop_services();
  page_.reset();
  cluster_.reset();  // while the lock still exists: the cluster's thread may be about to report a change
}

/// Waits for the nodes' threads without the lock, because a node's last call takes the lock.
void HostRuntime::drop_nodes() {
  std::vector<std::unique_ptr<NodeThread>> done[2];
  std::lock_guard lock(mutex_);
  done[0].swap(workers_);
  done[1].swap(servers_);
}

/// Waits for the threads of the exchange and the courier without the lock.
void HostRuntime::drop_services() {
  std::unique_ptr<DataService> exchange;
  std::unique_ptr<CourierWithTasks> courier;
  std::lock_guard lock(mutex_);
  exchange.swap(process_.exchange);
  courier.swap(process_.courier);
}

void HostRuntime::print_message(const std::string& text) { process_.console.err(lines_.final_message(text)); }

int HostRuntime::fail(const Error& error, int code) {
  print_message(error.message);
  return code;
}

void HostRuntime::interrupt() {
  interrupted_ = true;
  std::lock_guard lock(mutex_);
  if (cluster_) cluster_->stop(kInterrupted);
}

const EndMessage& HostRuntime::end_by_signal() const {
  if (signal_code_ == kByPipe) return kClosed;
  return signal_code_ == kByTerminate ? kTerminated : kInterrupted;
}

/// Reports the interrupt to the cluster, or to the children when this process has no cluster. Returns false while
/// another thread holds the lock: the watcher must not wait for a long hold.
bool HostRuntime::report_interrupt() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  if (child_ && signal_code_ == kByPipe && cluster_ && !workers_.empty()) {
    cluster_->report_error(workers_.front()->address(),
                           kClosed);  // ends the run on all processes, because all write to the same output
  } else if (cluster_) {
    cluster_->stop(end_by_signal());
  } else if (children_) {
    children_->signal_all(SIGTERM);
  }
  changed_.notify_all();
  return true;
}

int HostRuntime::run() {
  auto child = ChildPlace::take_from_environment();
  if (!child) return fail(child.error(), 2);
  child_ = std::move(*child);
  if (child_) process_.console.take_turns(child_->output_lock);
  checkpoints_ = !options_.checkpoint.empty() || options_.resume;
  SignalWatch signals(setup_.watch_signals, child_.has_value());
  if (setup_.watch_signals) process_.console.on_closed([&signals] { signals.post(SIGPIPE); });
  const int code = run_watched(signals);
  process_.console.on_closed(nullptr);
  return code;
}

int HostRuntime::run_watched(const SignalWatch& signals) {
  if (options_.isolate && options_.progress) process_.console.share_terminal();
  log_ = std::make_unique<Log>(options_.log_level,
                               [this](const LogLine& line) { process_.console.err(lines_.line(line)); });
  if (auto prepared = prepare(); !prepared) return fail(prepared.error(), 2);
  std::atomic<bool> over{false};
  std::thread watcher([&] { watch(signals, over); });
  int code = 0;
  if (auto joined = join_cluster(); !joined) {
    code = refused(joined.error());
  } else {
    joined_ = true;
    code = cluster_ ? run_nodes() : supervise();
  }
  over = true;
  signals.finish();
  watcher.join();
  if (abandoned_) {  // a node is in an endless compiled loop, which only the process's end can stop
    leave(code, process_.console);
  }
  return code;
}

/// The exit code of a host that could not take part; reports the reason.
int HostRuntime::refused(const Error& error) {
  if (interrupted_) return signal_code_;
  if (child_ && error.code == Code::interrupted) return kByInterrupt;  // the parent reports it
  if (setup_.may_find_no_run && error.code == Code::unreachable) {
    log_->info("", "no further job at " + endpoint_text(*endpoint_) + ", leaving");
    return 0;
  }
  const int code = no_checkpoints_ ? kNoCheckpoint : exit_code_of(error.code);
  return fail(error, code == 1 ? 3 : code);
}

/// Runs on the watcher's thread. Turns the first signal into an interrupt; SIGTERM first waits for the last checkpoint
/// or the end of --grace. Ends the process if the process does not end by itself, or on a second signal. A child of
/// --isolate leaves Ctrl-C and second signals to its parent, which forwards its own SIGTERM as SIGUSR1.
void HostRuntime::watch(const SignalWatch& signals, const std::atomic<bool>& over) {
  double give_up = kForever;
  double grace = kForever;  // when the grace time ends
  bool reported = true;
  while (!over && clock_.now() < give_up) {
    if (grace != kForever && !interrupted_ && (clock_.now() >= grace || !awaits_last_checkpoint())) {
      give_up = clock_.now() + 2 * kStopSeconds;
      interrupted_ = true;
      reported = false;
    }
    if (!reported) reported = report_interrupt();
    const int signal = signals.wait(grace == kForever && give_up == kForever ? -1 : 20);
    if (signal == 0 || (child_ && signal == SIGINT)) continue;
    if (signal == SIGUSR1) begin_last_checkpoint();
    if (grace != kForever && child_) continue;
    if (grace != kForever) break;
    signal_code_ = signal == SIGINT ? kByInterrupt : signal == SIGPIPE ? kByPipe : kByTerminate;
    grace = clock_.now();
    if (signal == SIGINT || signal == SIGPIPE || !checkpoints_) continue;
    grace += options_.grace;
    if (!child_) begin_last_checkpoint();
  }
  if (over) return;
  if (std::unique_lock lock(mutex_, std::try_to_lock); lock) private_folder_.reset();
  leave(signal_code_, process_.console);
}

/// Requests the last checkpoints of this process.
void HostRuntime::begin_last_checkpoint() {
  auto served = LastCheckpoint::served;
  process_.last_checkpoint.compare_exchange_strong(served, LastCheckpoint::requested);
  process_.keepers.begin_last();
  log_->info("", "SIGTERM: waiting up to " + seconds_text(options_.grace) + " (--grace) for a last checkpoint");
}

/// Whether this process continues after SIGTERM: it, or another process of the run, may have a last checkpoint to
/// write.
bool HostRuntime::awaits_last_checkpoint() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return true;
  if (!cluster_) return children_ && children_->started();
  if (cluster_->epoch() == 0) return false;  // the run has not begun
  if (cluster_->end()) return true;
  if (child_ && process_.keepers.last() && !process_.keepers.any()) end_without_keepers();
  if (child_ || !cluster_->is_coordinator()) return true;
  const LastCheckpoint last = process_.last_checkpoint;
  if (last == LastCheckpoint::requested || last == LastCheckpoint::begun) {
    cluster_->count_news();
    for (const auto& server : servers_) server->wake();
    return true;
  }
  if (last == LastCheckpoint::taken) return process_.checkpoint_pending();
  if (!children_ || process_.keepers.any()) return process_.keepers.any();
  if (!std::exchange(children_notified_, true)) children_->signal_all(SIGUSR1);
  return true;
}

/// Runs in a child of --isolate whose parent has no server with checkpoints. Ends the run if this child has the first
/// rank and the job has no checkpoint keepers.
void HostRuntime::end_without_keepers() {
  const MembershipPtr members = cluster_->membership();
  for (const auto& node : workers_) {
    if (members->rank_of(node->address()) == 0U) cluster_->report_error(node->address(), kTerminated);
  }
}

NodeThread::Shared HostRuntime::shared_for_nodes() {
  return {*cluster_, job_, clock_, *log_, options_, process_, seed_, [this] {
            std::lock_guard lock(mutex_);
            changed_.notify_all();
          }};
}

void HostRuntime::start_workers() {
  std::vector<std::unique_ptr<NodeThread>> nodes;
  for (const NodeId id : cluster_->local_workers()) {
    nodes.push_back(std::make_unique<NodeThread>(shared_for_nodes(), worker_address(id)));
  }
  std::lock_guard lock(mutex_);
  workers_ = std::move(nodes);
  for (const auto& node : workers_) node->start();
}

/// Starts shards for `action`. A server's VM serves one run and stays in it, so that values can be read afterwards. The
/// next run gets new VMs, while the shards' values remain in ProcessShared::stores.
Result<bool> HostRuntime::start_servers(uint32_t action) {
  std::vector<std::unique_ptr<NodeThread>> old;
  {
    std::lock_guard lock(mutex_);
    if (!process_.courier)
      return false;  // a fast worker of another host requests this early; it repeats the request once a courier exists
    const int64_t finished = process_.finished_run;
    const bool right = !servers_leave_ && (action == kAnyAction || finished < 0 || action <= finished);
    if (!servers_.empty() && right) return true;
    for (const auto& server : servers_) {
      if (!servers_leave_) server->request_stop();
    }
    // They usually leave at once, because a serving server waits in an engine call. But the script may have more to do.
    servers_leave_ = !std::all_of(servers_.begin(), servers_.end(), [](const auto& server) { return server->done(); });
    if (servers_leave_) return false;
    old.swap(servers_);
  }
  old.clear();  // joins threads that have ended
  process_.finished_run = -1;
  std::vector<std::unique_ptr<NodeThread>> fresh;
  for (uint32_t shard = 0; shard < options_.servers; ++shard) {
    if (process_.stores.size() <= shard) {
      process_.stores.push_back(std::make_unique<ParamStore>(shard, options_.servers));
      if (process_.resumed) AH_TRY(process_.resumed->restore(*process_.stores.back()));
    }
    NodeThread::Shared shared = shared_for_nodes();
    shared.ended = [this, ended = std::move(shared.ended)] {
      ended();
      cluster_->servers_ended();
    };
    fresh.push_back(std::make_unique<NodeThread>(std::move(shared), server_address(shard)));
  }
  std::lock_guard lock(mutex_);
  servers_ = std::move(fresh);
  for (const auto& server : servers_) server->start();
  return true;
}

void HostRuntime::cluster_changed() {
  std::lock_guard lock(mutex_);
  for (const auto& node : workers_) node->wake();
  for (const auto& node : servers_) node->wake();
  if (process_.exchange) process_.exchange->wake();
  if (process_.courier) process_.courier->courier.wake();
  changed_.notify_all();
}

/// Runs in the parent of an --isolate host that is not the coordinator: only watches its children.
int HostRuntime::supervise() {
  std::unique_lock lock(mutex_);
  double give_up = kForever;
  while (children_->reap() > 0) {
    // If a child ends before the start, the other children wait in vain, unless the coordinator refuses them all.
    if (const auto ended = children_->first_ended(); ended && !interrupted_ && !children_->started()) {
      give_up = std::min(give_up, clock_.now() + kRefusalWait);
      if (clock_.now() >= give_up) {
        children_->signal_all(SIGKILL);
        return fail({Code::peer_lost, *ended + " before the run had started"}, 3);
      }
    }
    changed_.wait_for(lock, std::chrono::milliseconds(20));
  }
  if (!interrupted_) return children_->exit_code();
  print_message(end_by_signal().message);
  return signal_code_;
}

int HostRuntime::run_nodes() {
  const std::string run = cluster_->run_id().empty() ? "" : " of run " + cluster_->run_id();
  const std::string job = "job " + job_.name() + run + (endpoint_ ? " at " + endpoint_text(*endpoint_) : "");
  if (options_.agent) log_->info("", job + " has started, on " + std::to_string(local_nodes_) + " nodes here");
  start_workers();
  const EndMessage end = wait_for_end();
  abandoned_ = !stop_nodes(kStopSeconds);
  int code = conclude(end);
  if (page_) page_->finish(end);
  if (options_.agent) log_->info("", job + (end.ok ? " is done" : " has failed: " + end.message));
  if (!abandoned_) {
    drop_nodes();
    drop_services();
  }
  cluster_->close();
  if (visible_) remove_run_file();
  if (children_) {
    const double deadline = clock_.now() + 2;
    while (children_->reap() > 0 && clock_.now() < deadline) usleep(2000);
    // Reports a child whose output cannot be written. A child that the run has dropped ends with 3, which is no failure
    // of the run.
    const int child = children_->first_failure();
    if (code == 0 && (child == 1 || child == kByPipe)) code = child;
  }
  private_folder_.reset();
  return code;
}

EndMessage HostRuntime::wait_for_end() {
  std::unique_lock lock(mutex_);
  const double visible_at = clock_.now() + kUnseenSeconds;
  for (;;) {
    if (const auto end = cluster_->end()) return *end;
    const ProcessId coordinator = cluster_->coordinator();
    const bool moved = visible_ && coordinator != kNoProcess && coordinator != shown_;
    if (moved || (!visible_ && clock_.now() >= visible_at)) {
      lock.unlock();
      open_control();
      lock.lock();
      continue;
    }
    const double pause = children_ ? 0.05 : 1;
    changed_.wait_for(lock,
                      std::chrono::duration<double>(visible_ ? pause : std::min(pause, visible_at - clock_.now())));
    if (children_) children_->reap();
  }
}

/// Makes the run visible to observers: on the coordinator by a socket, on other hosts by its address. A failure does
/// not end the run.
void HostRuntime::open_control() {
  visible_ = true;
  shown_ = cluster_->coordinator();
  if (child_) return;
  const std::string meeting = cluster_->is_coordinator() ? cluster_->bound_url() : cluster_->url();
  RunFile run{getpid(),
              meeting,
              meeting,
              job_.name(),
              cluster_->run_id(),
              options_.token_file,
              options_.insecure,
              static_cast<double>(std::time(nullptr))};
  const Status opened = [&]() -> Status {
    if (cluster_->is_coordinator()) {
      auto folder = run_folder();
      if (!folder) return folder.error();
      auto token = options_.insecure ? Result<std::string>("") : load_token(options_, *log_);
      if (!token) return token.error();
      run.url = control_url(*folder, run.pid);
      AH_TRY(cluster_->open_control(run.url, *token));
    }
    return write_run_file(run);
  }();
  if (!opened) log_->info("", "observers cannot find this run from here: " + opened.error().message);
}

/// Stops the nodes; true when all have left their Lua in time.
bool HostRuntime::stop_nodes(double seconds) {
  std::unique_lock lock(mutex_);
  for (const auto& node : workers_) node->request_stop();
  for (const auto& node : servers_) node->request_stop();
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] {
    const auto done = [](const auto& node) { return node->done(); };
    return std::all_of(workers_.begin(), workers_.end(), done) && std::all_of(servers_.begin(), servers_.end(), done);
  });
}

/// The exit code of a run without errors: 0 if all lines have reached standard output; else reports the reason.
int HostRuntime::output_code() {
  const int error = process_.console.out_error();
  if (error == 0) return 0;
  if (error == EPIPE) return kByPipe;
  if (!child_ || child_->index <= 1) {  // once for a group
    print_message("standard output cannot be written: " + process_.console.out_failure());
  }
  return 1;
}

int HostRuntime::conclude(const EndMessage& end) {
  const bool checkpointed = process_.flush_checkpoints().ok();  // the writer has logged a failure
  log_->flush();
  process_.console.finish();
  if (end.ok) return checkpointed ? output_code() : kNoCheckpoint;
  if (interrupted_ || end.code == Code::interrupted) {
    const EndMessage& how = interrupted_ ? end_by_signal() : end;
    if (how.message == kClosed.message) {
      if (!interrupted_ && placement_.max_nodes > 1) print_message("stopped, because " + how.message);
      return kByPipe;
    }
    if (!child_) print_message(how.message);
    if (signal_code_ == kByTerminate && !checkpointed) return kNoCheckpoint;
    return how.message == kTerminated.message ? kByTerminate : kByInterrupt;
  }
  int code = exit_code_of(end.code);
  if (end.origin == kNoAddress || is_service(end.origin)) {
    if (code == 2) code = 3;
    if (end.code == Code::io) code = kNoCheckpoint;  // only a failed checkpoint ends a run with this code on all hosts
    // The parent prints errors that concern all. Only this process can report that the parent has lost it.
    if (!child_ || end.origin != kNoAddress) print_message(end.message);
    return code;
  }
  if (code == 2) code = 1;  // a script's wrong call is the script's error
  for (const auto& list : {&workers_, &servers_}) {
    for (const auto& node : *list) {
      if (node->address() != end.origin) continue;
      const std::string traceback = node->traceback();  // empty for a barrier rule that does not return
      print_message(traceback.empty() ? end.message : traceback);
      return code;
    }
  }
  const bool printed = child_ || (children_ && placement_.max_nodes == 1);  // by the node's own process
  if (!printed) print_message("stopped, because " + end.message);
  return code;
}

}  // namespace actorhost
