#include "bindings/run/host_runtime.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "bindings/process/version.hpp"
#include "bindings/run/minute_lines.hpp"
#include "bindings/run/rule_flags.hpp"
#include "bindings/run/run_announcement.hpp"
#include "bindings/run/signal_watch.hpp"
#include "bindings/run/stage_bar.hpp"
#include "host/base/nearest.hpp"
#include "host/base/system_random.hpp"

namespace actorhost {

namespace {

constexpr double kChildCheck = 0.02;  // seconds between two checks of the children
constexpr double kRefusalWait = 2.0;  // time for all processes of a refused host to learn of the refusal

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
      lines_(options_.log_json, host_name(setup_.simulated), setup_.simulated ? setup_.simulated->name + ": " : ""),
      checkpoints_(options_, process_),
      interruption_(options_, place_, process_, run_, nodes_, clock_) {
  process_.program = std::move(setup_.program);
  if (setup_.on_message) process_.console.keep_status();
  if (setup_.simulated) process_.data = setup_.simulated->data;
}

HostRuntime::~HostRuntime() {
  nodes_.drop();
  drop_services();
  page_.reset();
  run_.cluster.reset();  // while the lock still exists: the cluster's thread may be about to report a change
}

/// Waits for the threads of the exchange and the courier without the lock.
void HostRuntime::drop_services() {
  std::unique_ptr<DataService> exchange;
  std::unique_ptr<CourierWithTasks> courier;
  std::lock_guard lock(run_.mutex);
  exchange.swap(process_.exchange);
  courier.swap(process_.courier);
}

void HostRuntime::print_message(const std::string& text) {
  if (setup_.on_message) return setup_.on_message(text);
  process_.console.err(lines_.final_message(text));
}

bool HostRuntime::command(const nlohmann::json& command, const ConsoleHub::Callback& reply,
                          const ConsoleHub::Callback& news) {
  std::lock_guard lock(run_.mutex);
  if (run_.cluster == nullptr) return false;
  run_.cluster->command(command, reply, news);
  return true;
}

int HostRuntime::fail(const Error& error, int code) {
  print_message(error.message);
  return code;
}

int HostRuntime::run() {
  auto child = ChildPlace::take_from_environment();
  if (!child) return fail(child.error(), 2);
  place_.child = std::move(*child);
  if (place_.child) process_.console.take_turns(place_.child->output_lock);
  SignalWatch signals(setup_.watch_signals, place_.child.has_value());
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
  std::thread watcher;
  if (setup_.watch_signals) watcher = std::thread([&] { interruption_.watch(signals, over, *log_); });
  int code = 0;
  if (auto joined = join_cluster(); !joined) {
    code = refused(joined.error());
  } else {
    joined_ = true;
    if (setup_.joined) setup_.joined();
    code = run_.cluster ? run_nodes() : supervise();
  }
  over = true;
  signals.finish();
  if (watcher.joinable()) watcher.join();
  if (abandoned_ && process_.program == nullptr) leave(code, process_.console);
  return code;
}

/// The exit code of a host that could not take part; reports the reason.
int HostRuntime::refused(const Error& error) {
  if (interruption_) return interruption_.code();
  if (place_.child && error.code == Code::interrupted) return kByInterrupt;  // the parent reports it
  if (setup_.may_find_no_run && error.code == Code::unreachable) {
    log_->info("", "no further job at " + endpoint_text(*place_.endpoint) + ", leaving");
    return 0;
  }
  const int code = checkpoints_.unusable() ? kNoCheckpoint : exit_code_of(error.code);
  if (setup_.refused) {
    setup_.refused(error);
    return code;
  }
  return fail(error, code == 1 ? 3 : code);
}

Status HostRuntime::prepare() {
  AH_TRY(open_job());
  lines_.set_job(job_.name());
  return place_.find(options_, *log_);
}

Status HostRuntime::open_job() {
  for (const auto& [flag, spec] : options_.policies()) {
    AH_LET(rule_files_[flag], rule_file_of(flag, spec));
    if (!rule_files_[flag].empty()) job_.add_rule_file(rule_files_[flag]);
  }
  if (options_.agent) return {};
  if (setup_.from_text) {
    job_.receive(options_.script, setup_.source, setup_.folder);
    return {};
  }
  auto opened = job_.open(options_.script);
  if (!opened && !setup_.commands.empty() && options_.script.find_first_of("./") == std::string::npos) {
    std::string hint = suggestion(options_.script, setup_.commands);
    if (hint.empty()) {
      for (const std::string& name : setup_.commands) hint += (hint.empty() ? " (" : ", ") + name;
      hint += ")";
    }
    return Error{Code::bad_argument, "'" + options_.script + "' is neither a Lua file here nor a command" + hint};
  }
  return opened;
}

/// Checks the files of --barrier and --merge on the host that distributes them.
Status HostRuntime::check_rule_files() const {
  for (const auto& [flag, file] : rule_files_) {
    if (file.empty() || place_.child) continue;
    const auto found = job_.find_here(file);
    if (!found) return Error{Code::bad_argument, "--" + flag + ": " + found.error().message};
  }
  return {};
}

Status HostRuntime::join_cluster() {
  // If a launcher shows the output of all its tasks, only one host logs the line.
  const bool logged_by_other = place_.child || setup_.simulated || setup_.refused ||
                               (place_.placement.launched && place_.placement.node_rank != 0U);
  log_->write(logged_by_other ? LogLevel::debug : LogLevel::info, "", place_.text());
  if (!place_.child && !place_.endpoint && options_.isolate) {
    AH_LET(auto folder, PrivateFolder::make());
    // A short name, because the path of a socket has at most 107 bytes. The children listen at "run.PID".
    place_.endpoint = Endpoint{Endpoint::Scheme::ipc, "", 0, folder.path() + "/run"};
    {
      std::lock_guard lock(run_.mutex);
      run_.private_folder = std::move(folder);
    }
    place_.token = std::to_string(system_random()) + std::to_string(system_random());
  }
  RunJoin join(options_, place_, clock_, *log_, *this);
  return join.join(base_config(options_, place_.placement, job_, place_.token, place_.local_nodes, setup_.simulated));
}

bool HostRuntime::interrupted_within(double seconds) {
  std::unique_lock lock(run_.mutex);
  return run_.changed.wait_for(lock, seconds, [this] { return static_cast<bool>(interruption_); });
}

/// Checks the files of the run that this process begins, and sets the flags that all its processes receive.
Status HostRuntime::prepare_coordinator(ClusterConfig& config) {
  AH_TRY(check_rule_files());
  AH_TRY(checkpoints_.load(*log_));
  process_.checkpoint_failed = [this](const Error& error) {  // ends the run on all hosts
    std::lock_guard lock(run_.mutex);
    const std::string message = "a checkpoint cannot be written: " + error.message;
    if (run_.cluster) run_.cluster->stop({Code::io, false, message, kNoAddress});
  };
  AH_TRY(checkpoints_.test());
  if (!options_.seed && process_.resumed) options_.seed = process_.resumed->state.seed;
  if (!options_.seed) options_.seed = system_random() >> 33;
  options_.parallelism = place_.local_nodes * place_.placement.min_nodes;
  options_.run_key = std::to_string(system_random());
  config.coordinator.settings = options_.shared_settings();
  config.coordinator.settings["parallelism"] = std::to_string(options_.parallelism);
  config.coordinator.settings["run_key"] = options_.run_key;
  if (options_.records_spans()) config.coordinator.settings["spans"] = "1";
  config.about = {{"seed", std::to_string(*options_.seed)}};
  if (options_.isolate) {  // the nodes are in the children
    config.self.nodes = 0;
    config.self.group_size = place_.local_nodes + 1;
  }
  return {};
}

/// Listens, or dials and joins.
Status HostRuntime::connect(ClusterConfig config) {
  {
    auto cluster =
        std::make_unique<Cluster>(std::move(config), job_, clock_, *log_, static_cast<ClusterEvents&>(*this));
    std::lock_guard lock(run_.mutex);
    run_.cluster.swap(cluster);  // the cluster of a failed join is destroyed without the lock
    if (interruption_) run_.cluster->stop(interruption_.end());  // an interrupt arrived before the cluster existed
  }
  if (auto opened = run_.cluster->open(); !opened) {
    std::unique_ptr<Cluster> failed;  // destroyed after `lock`, which its thread may be waiting for
    std::lock_guard lock(run_.mutex);
    failed.swap(run_.cluster);
    return opened;
  }
  if (interruption_) return Error{Code::interrupted, "interrupted"};
  return {};
}

Status HostRuntime::open_cluster(ClusterConfig config) {
  const bool is_coordinator = config.place != ClusterConfig::Place::member;
  const bool parent = is_coordinator && options_.isolate;
  const uint64_t group = config.self.group;
  place_.share_cores(options_);
  if (is_coordinator) AH_TRY(prepare_coordinator(config));
  config.about["version"] = kVersion;
  AH_TRY(connect(std::move(config)));
  if (is_coordinator) AH_TRY(checkpoints_.lock());
  if (is_coordinator) AH_TRY(open_trace());
  add_sections(*run_.cluster, *log_, process_, clock_);
  lines_.set_job(job_.name());
  AH_TRY(open_page());
  if (parent) AH_TRY(spawn_children(run_.cluster->bound_url(), group, 1, place_.local_nodes + 1));
  if (!is_coordinator) AH_TRY(options_.apply(run_.cluster->settings()));
  if (is_coordinator) log_->info("", "seed " + std::to_string(*options_.seed));
  AH_TRY(parent ? start_with_children() : run_.cluster->wait_for_start());
  if (place_.child) place_.child->report_started();
  start_services(is_coordinator);
  return {};
}

/// The data service and the courier with its tasks, which the nodes use.
void HostRuntime::start_services(bool is_coordinator) {
  const uint32_t nodes = is_coordinator && options_.isolate ? 1 : std::max(1U, place_.local_nodes);
  DataService::Options exchange{place_.memory_share(options_), nodes};
  limit_block(place_.allowance.memory);
  if (options_.memory) {
    limit_cached_blocks(exchange.memory / 16);
  } else if (!place_.allowance.memory_limit.empty()) {  // above a control group's limit the kernel kills the process
    limit_cached_blocks(place_.allowance.memory / 8 / place_.hosts_here());
  }
  process_.data->limit(exchange.memory / nodes);
  if (is_coordinator && options_.progress) {
    if (process_.console.columns() > 0) exchange.progress_seconds = StageBar::kDrawSeconds;
    exchange.progress = [bar = StageBar(clock_), this](const auto& progress) mutable {
      if (const auto line = bar.line(progress)) process_.console.status(*line);
    };
  }
  auto service = std::make_unique<DataService>(*run_.cluster, clock_, *log_, exchange);
  auto courier = std::make_unique<CourierWithTasks>(*run_.cluster, clock_, *log_);
  {
    std::lock_guard lock(run_.mutex);
    process_.exchange = std::move(service);
    process_.courier = std::move(courier);
  }
  if (is_coordinator) run_.cluster->servers_ended();  // starts servers that could not start before
}

/// Makes the trace on the coordinator, which receives the nodes' reports, and opens the file of --record. Only once
/// this host is the coordinator: another host with the same command must not touch the file.
Status HostRuntime::open_trace() {
  if (options_.records_spans()) {
    AH_LET(auto chrome, ChromeTrace::open(options_.record, *log_, clock_.now()));
    run_.cluster->record(std::move(chrome));
  }
  AH_LET(process_.trace, ParamTrace::open(options_.records_steps() ? options_.record : "",
                                          {{"version", kVersion},
                                           {"job", job_.name()},
                                           {"seed", std::to_string(*options_.seed)},
                                           {"servers", std::to_string(options_.servers)},
                                           {"resample", options_.resample}},
                                          *log_));
  return {};
}

/// --dashboard, --metrics, --record FILE.jsonl and --record DIR/. They run on the coordinator, which has the state of
/// the run.
Status HostRuntime::open_page() {
  if (!PageHost::wanted(options_) || place_.child) return {};
  if (!run_.cluster->is_coordinator()) {
    if (options_.dashboard || options_.metrics) log_->info("", "the page of this run is on its coordinator");
    return {};
  }
  AH_LET(page_, PageHost::open(options_, job_.name(), *run_.cluster, clock_, *log_));
  return {};
}

/// Waits for the start. Children are not restarted, so a child that ends before the start ends the run.
Status HostRuntime::start_with_children() {
  bool started = false;  // guarded by the lock
  std::thread watcher([&] {
    std::unique_lock lock(run_.mutex);
    for (; !started && run_.cluster->epoch() == 0; run_.changed.wait_for(lock, kChildCheck)) {
      run_.children->reap();
      const auto ended = run_.children->first_ended();
      if (!ended || run_.children->started()) continue;
      return run_.cluster->stop({Code::peer_lost, false, *ended + " before the run had started", kNoAddress});
    }
  });
  Status waited = run_.cluster->wait_for_start();
  {
    std::lock_guard lock(run_.mutex);
    started = true;
    run_.changed.notify_all();
  }
  watcher.join();
  return waited;
}

Status HostRuntime::spawn_children(const std::string& url, uint64_t group, uint32_t first, uint32_t size) {
  std::lock_guard lock(run_.mutex);
  run_.children = std::make_unique<ChildSupervisor>();
  process_.console.take_turns(run_.children->output_lock());
  std::vector<ChildPlace> places;
  for (uint32_t index = first; index < size; ++index) {
    places.push_back({url, group, size, index, -1, place_.token});
    if (place_.placement.node_rank) places.back().node_rank = static_cast<int32_t>(*place_.placement.node_rank);
  }
  return run_.children->spawn(setup_.command_line, std::move(places));
}

NodeThread::Shared HostRuntime::shared_for_nodes() {
  return {*run_.cluster, job_, clock_, *log_, options_, process_, options_.seed.value_or(0), nullptr};
}

Result<bool> HostRuntime::start_servers(uint32_t action) {
  {
    std::lock_guard lock(run_.mutex);
    if (!process_.courier)
      return false;  // a fast worker of another host requests this early; it repeats the request once a courier exists
  }
  return nodes_.start_servers(shared_for_nodes(), action);
}

void HostRuntime::cluster_changed() {
  nodes_.wake();
  std::lock_guard lock(run_.mutex);
  if (process_.exchange) process_.exchange->wake();
  if (process_.courier) process_.courier->courier.wake();
  run_.changed.notify_all();
}

/// Runs in the parent of an --isolate host that is not the coordinator: only watches its children.
int HostRuntime::supervise() {
  std::unique_lock lock(run_.mutex);
  double give_up = kForever;
  while (run_.children->reap() > 0) {
    // If a child ends before the start, the other children wait in vain, unless the coordinator refuses them all.
    if (const auto ended = run_.children->first_ended(); ended && !interruption_ && !run_.children->started()) {
      give_up = std::min(give_up, clock_.now() + kRefusalWait);
      if (clock_.now() >= give_up) {
        run_.children->signal_all(SIGKILL);
        return fail({Code::peer_lost, *ended + " before the run had started"}, 3);
      }
    }
    run_.changed.wait_for(lock, kChildCheck);
  }
  if (!interruption_) return run_.children->exit_code();
  print_message(interruption_.end().message);
  return interruption_.code();
}

int HostRuntime::run_nodes() {
  const std::string run = run_.cluster->run_id().empty() ? "" : " of run " + run_.cluster->run_id();
  const std::string job =
      "job " + job_.name() + run + (place_.endpoint ? " at " + endpoint_text(*place_.endpoint) : "");
  if (options_.agent) log_->info("", job + " has started, on " + std::to_string(place_.local_nodes) + " nodes here");
  nodes_.start_workers(shared_for_nodes());
  RunAnnouncement announcement(*run_.cluster, options_, *log_, clock_.now(), place_.child || setup_.simulated);
  const EndMessage end = wait_for_end(announcement);
  abandoned_ = !nodes_.stop(kStopSeconds);
  int code = conclude(end);
  if (page_) page_->finish(end);
  if (options_.agent) log_->info("", job + (end.ok ? " is done" : " has failed: " + end.message));
  if (!abandoned_) {
    nodes_.drop();
    drop_services();
  }
  run_.cluster->close();
  announcement.remove();
  if (run_.children) {
    const double deadline = clock_.now() + 2;
    while (run_.children->reap() > 0 && clock_.now() < deadline) usleep(2000);
    // Reports a child whose output cannot be written. A child that the run has dropped ends with 3, which is no failure
    // of the run.
    const int child = run_.children->first_failure();
    if (code == 0 && (child == 1 || child == kByPipe)) code = child;
  }
  std::lock_guard lock(run_.mutex);
  run_.private_folder.reset();
  return code;
}

EndMessage HostRuntime::wait_for_end(RunAnnouncement& announcement) {
  MinuteLines minute_lines(process_.console, *run_.cluster, *log_, clock_, !place_.child);
  std::unique_lock lock(run_.mutex);
  for (;;) {
    if (const auto end = run_.cluster->end()) return *end;
    if (options_.progress && !setup_.simulated) {
      lock.unlock();
      minute_lines.check();
      lock.lock();
      if (run_.cluster->end()) continue;
    }
    if (announcement.due(clock_.now())) {
      lock.unlock();
      announcement.make(job_.name());
      lock.lock();
      continue;
    }
    const double pause = announcement.pause(clock_.now(), run_.children ? 0.05 : 1);
    run_.changed.wait_for(lock, pause);
    if (run_.children) run_.children->reap();
  }
}

/// The exit code of a run without errors: 0 if all lines have reached standard output; else reports the reason.
int HostRuntime::output_code() {
  const int error = process_.console.out_error();
  if (error == 0) return 0;
  if (error == EPIPE) return kByPipe;
  if (!place_.child || place_.child->index <= 1) {  // once for a group
    print_message("standard output cannot be written: " + process_.console.out_failure());
  }
  return 1;
}

int HostRuntime::conclude(const EndMessage& end) {
  const bool checkpointed = process_.flush_checkpoints().ok();  // the writer has logged a failure
  log_->flush();
  process_.console.finish();
  if (end.ok) return checkpointed ? output_code() : kNoCheckpoint;
  if (interruption_ || end.code == Code::interrupted) {
    const EndMessage& how = interruption_ ? interruption_.end() : end;
    if (how.message == kClosed.message) {
      if (!interruption_ && place_.placement.max_nodes > 1) print_message("stopped, because " + how.message);
      return kByPipe;
    }
    if (!place_.child) print_message(how.message);
    if (interruption_.code() == kByTerminate && !checkpointed) return kNoCheckpoint;
    return how.message == kTerminated.message ? kByTerminate : kByInterrupt;
  }
  int code = exit_code_of(end.code);
  if (end.origin == kNoAddress || is_service(end.origin)) {
    if (code == 2) code = 3;
    if (end.code == Code::io) code = kNoCheckpoint;  // only a failed checkpoint ends a run with this code on all hosts
    // The parent prints errors that concern all. Only this process can report that the parent has lost it.
    if (!place_.child || end.origin != kNoAddress) print_message(end.message);
    return code;
  }
  if (code == 2) code = 1;                                       // a script's wrong call is the script's error
  if (const auto traceback = nodes_.traceback_of(end.origin)) {  // empty for a barrier rule that does not return
    print_message(traceback->empty() ? end.message : *traceback);
    return code;
  }
  const bool printed = place_.child || (run_.children && place_.placement.max_nodes == 1);  // by the node's own process
  if (!printed) print_message("stopped, because " + end.message);
  return code;
}

}  // namespace actorhost
