#include "bindings/host_runtime.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <random>

#include <unistd.h>

#include "bindings/barrier_flag.hpp"
#include "bindings/cluster_config.hpp"
#include "bindings/signal_watch.hpp"
#include "bindings/stage_bar.hpp"
#include "bindings/version.hpp"

namespace actorhost {

namespace {

const EndMessage kInterrupted{Code::interrupted, false, "interrupted", kNoAddress};
constexpr double kStopSeconds = 1.0;  // what nodes get to leave their Lua after a stop request

uint64_t random_number() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

/// What this process may have at all: the machine's memory, or its control group's.
uint64_t machine_memory() {
  uint64_t bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t limit = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> limit) bytes = std::min(bytes, limit);
  return bytes;
}

/// "[12:30:01.250 warn] line", in local time.
std::string log_line(LogLevel level, std::string_view line) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm local{};
  localtime_r(&now.tv_sec, &local);
  char stamp[64];
  std::snprintf(stamp, sizeof stamp, "[%02d:%02d:%02d.%03ld %s] ", local.tm_hour, local.tm_min, local.tm_sec,
                now.tv_nsec / 1000000, log_level_name(level));
  return stamp + std::string(line);
}

/// Ends the process under threads that still run. Not fflush(nullptr): it would wait for a stream that one of them
/// reads from (io.popen, io.read).
[[noreturn]] void leave(int code) {
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
    case Code::bad_data:
    case Code::mismatch:
    case Code::unsupported: return 1;
    default: return 3;
  }
}

HostRuntime::HostRuntime(RunOptions options, Setup setup) : options_(std::move(options)), setup_(std::move(setup)) {
  process_.functions = std::move(setup_.functions);
}

HostRuntime::~HostRuntime() {
  drop_nodes();
  drop_exchange();
  cluster_.reset();  // while there is a lock: its thread may be about to tell of a change
  remove_private_socket(socket_path_);
}

/// Waits for the nodes' threads, outside of the lock, which a node's last call takes.
void HostRuntime::drop_nodes() {
  std::vector<std::unique_ptr<NodeThread>> done[2];
  std::lock_guard lock(mutex_);
  done[0].swap(workers_);
  done[1].swap(servers_);
}

/// The same for the thread of the exchange.
void HostRuntime::drop_exchange() {
  std::unique_ptr<DataService> done;
  std::lock_guard lock(mutex_);
  done.swap(process_.exchange);
}

int HostRuntime::fail(const Error& error, int code) {
  process_.console.err("actorhost: " + error.message);
  return code;
}

void HostRuntime::interrupt() {
  interrupted_ = true;
  std::lock_guard lock(mutex_);
  if (cluster_) cluster_->stop(kInterrupted);
}

/// Tells the cluster, or the children where they have none here. False while somebody else has the lock, who may hold
/// it for as long as it likes: the watcher waits for nobody.
bool HostRuntime::tell_of_interrupt() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  if (cluster_) {
    cluster_->stop(kInterrupted);
  } else if (children_) {
    children_->signal_all(SIGTERM);
  }
  return true;
}

int HostRuntime::run() {
  SignalWatch signals(setup_.watch_signals);
  auto child = ChildPlace::take_from_environment();
  if (!child) return fail(child.error(), 2);
  child_ = std::move(*child);
  if (options_.isolate && options_.progress) process_.console.share_terminal();
  log_ = std::make_unique<Log>(options_.log_level, [this](LogLevel level, std::string_view line) {
    process_.console.err(log_line(level, line));
  });
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
  if (abandoned_) {  // a node is stuck in a compiled loop, which nothing but the process's end can stop
    leave(code);
  }
  return code;
}

/// The exit code when this host could not take part; says why.
int HostRuntime::refused(const Error& error) {
  if (interrupted_ || (child_ && error.code == Code::interrupted)) return 130;  // the parent says so
  if (setup_.may_find_nobody && error.code == Code::unreachable) {
    log_->info("", "no further job at " + endpoint_text(*endpoint_) + ", leaving");
    return 0;
  }
  const int code = exit_code_of(error.code);
  return fail(error, code == 1 ? 3 : code);
}

/// On the watcher's thread: turns the first signal into an interrupt, and ends the process when it does not end by
/// itself or a second one comes.
void HostRuntime::watch(const SignalWatch& signals, const std::atomic<bool>& over) {
  double give_up = kForever;
  bool told = true;
  while (!over && clock_.now() < give_up) {
    if (!told) told = tell_of_interrupt();
    const int signal = signals.wait(give_up == kForever ? -1 : 50);
    if (signal == 0 || (signal == SIGINT && child_)) continue;
    if (give_up != kForever) break;
    give_up = clock_.now() + 2 * kStopSeconds;
    interrupted_ = true;
    told = false;
  }
  if (over) return;
  if (std::unique_lock lock(mutex_, std::try_to_lock); lock) remove_private_socket(socket_path_);
  leave(130);
}

Status HostRuntime::prepare() {
  AH_TRY(open_job());
  return find_place();
}

Status HostRuntime::open_job() {
  auto file = rule_file_of(options_.barrier);
  if (!file) return file.error();
  rule_file_ = std::move(*file);
  if (!rule_file_.empty()) job_.set_barrier_file(rule_file_);
  if (options_.agent) return {};
  if (setup_.from_text) {
    job_.receive(options_.script, setup_.source);
    return {};
  }
  auto opened = job_.open(options_.script);
  if (!opened && options_.script.find_first_of("./") == std::string::npos) {
    return Error{Code::bad_argument, "'" + options_.script + "' is neither a Lua file here nor a command (run, agent)"};
  }
  return opened;
}

/// The file of --barrier, on the host that gives it to the others.
Status HostRuntime::check_rule_file() const {
  if (rule_file_.empty() || child_) return {};
  const auto found = job_.find_here(rule_file_);
  if (!found) return Error{Code::bad_argument, "--barrier: " + found.error().message};
  return {};
}

Status HostRuntime::find_place() {
  auto placement = detect_placement(options_.placement, current_environment(), current_hostname());
  if (!placement) {
    Error error = std::move(placement).error();
    const std::string flag = "--rdzv-endpoint";  // an agent's has another name
    const size_t at = error.message.find(flag);
    if (options_.agent && at != std::string::npos) error.message.replace(at, flag.size(), "--join");
    return error;
  }
  placement_ = std::move(*placement);
  if (options_.agent) placement_.node_rank.reset();  // it takes the place that is left
  const uint32_t cores = std::max(1U, std::thread::hardware_concurrency());
  local_nodes_ = placement_.nproc.value_or(cores);
  const std::string where = child_ ? child_->url : placement_.endpoint;
  if (where.empty()) {
    share_cores(cores);
    if (placement_.max_nodes == 1) return {};
    return Error{Code::bad_argument, "--nnodes " + std::to_string(placement_.max_nodes) +
                                         " needs --rdzv-endpoint HOST:PORT, the same on every host"};
  }
  auto endpoint = parse_endpoint(where);
  if (!endpoint) return endpoint.error();
  endpoint_ = std::move(*endpoint);
  share_cores(cores);
  if (child_) {
    local_nodes_ = 1;
    token_ = child_->token;
    return {};
  }
  AH_TRY(check_tls_files(options_));
  const bool tls = !options_.tls_cert.empty() || !options_.tls_ca.empty();
  if (endpoint_->scheme == Endpoint::Scheme::tcp && tls) endpoint_->scheme = Endpoint::Scheme::tls;
  auto token = load_token(options_, *log_);
  if (!token) return token.error();
  token_ = std::move(*token);
  return {};
}

/// --threads-per-node, where it is not given: the cores over the nodes of this machine, as far as these are known.
void HostRuntime::share_cores(uint32_t cores) {
  if (options_.threads_per_node) return;
  uint32_t hosts = placement_.local_size;
  if (endpoint_) {
    const auto one_machine = is_loopback(*endpoint_);
    if (one_machine && *one_machine) hosts = std::max(hosts, placement_.max_nodes);
  }
  options_.threads_per_node = std::clamp(cores / std::max(1U, local_nodes_ * hosts), 1U, 256U);
}

/// What this process may use for map-reduce data: --memory or 60 % of the machine's, shared with the host's other
/// processes, and without --memory with the machine's other hosts.
uint64_t HostRuntime::memory_share() const {
  uint64_t bytes = options_.memory.value_or(0);
  if (bytes == 0) {
    bytes = machine_memory() * 6 / 10;
    uint32_t hosts = placement_.local_size;
    if (endpoint_) {
      const auto one_machine = is_loopback(*endpoint_);
      if (one_machine && *one_machine) hosts = std::max(hosts, placement_.max_nodes);
    }
    bytes /= std::max(1U, hosts);
  }
  bytes /= std::max(1U, child_ ? child_->size : options_.isolate ? local_nodes_ : 1);
  return bytes / 8 * 5;  // the rest is for what nobody counts: rows on their way, Lua's own, what the allocator keeps
}

Status HostRuntime::join_cluster() {
  if (!child_) log_->info("", "placement: " + describe(placement_));
  if (!child_ && !endpoint_ && options_.isolate) {
    auto path = private_socket_path();
    if (!path) return path.error();
    {
      std::lock_guard lock(mutex_);
      socket_path_ = std::move(*path);
    }
    endpoint_ = Endpoint{Endpoint::Scheme::ipc, "", 0, socket_path_};
    token_ = std::to_string(random_number()) + std::to_string(random_number());
  }
  const ClusterConfig base = base_config(options_, placement_, job_, token_, local_nodes_);
  if (child_) return open_cluster(member_config(base, *endpoint_, child_));
  if (!endpoint_) return open_cluster(head_config(base, ""));
  auto own = is_own_address(*endpoint_);
  if (!own) return own.error();
  const bool must_listen = placement_.node_rank == 0U;
  const bool may_listen = !options_.agent && (must_listen || (*own && !placement_.node_rank));
  Status listened;
  if (may_listen) {
    AH_TRY(may_listen_at(*endpoint_, options_));
    if (options_.isolate) AH_TRY(may_join_at(*endpoint_, options_));  // its children do
    listened = open_cluster(head_config(base, endpoint_url(*endpoint_)));
    if (listened || must_listen || listened.error().code != Code::io) return listened;
  }
  AH_TRY(may_join_at(*endpoint_, options_));
  if (options_.isolate) return spawn_children(endpoint_url(*endpoint_), base.self.group, 0, local_nodes_);
  Status joined = open_cluster(member_config(base, *endpoint_, std::nullopt));
  if (joined) return joined;
  Error error = with_hint(std::move(joined).error(), *endpoint_);
  if (listened.ok() || error.message.find("does not answer") == std::string::npos) return error;
  error.message += " (this host tried to join because it cannot listen there: " + listened.error().message + ")";
  return error;
}

Status HostRuntime::open_cluster(ClusterConfig config) {
  const bool head = config.place != ClusterConfig::Place::member;
  const bool parent = head && options_.isolate;
  if (head) {
    AH_TRY(check_rule_file());
    AH_TRY(load_checkpoint());
    if (!options_.seed) options_.seed = random_number() >> 33;
    options_.parallelism = local_nodes_ * placement_.min_nodes;
    config.head.settings = options_.shared_settings();
    config.head.settings["parallelism"] = std::to_string(options_.parallelism);
  }
  if (parent) {
    config.self.nodes = 0;
    config.self.group_size = local_nodes_ + 1;
  }
  const uint64_t group = config.self.group;
  {
    auto cluster =
        std::make_unique<Cluster>(std::move(config), job_, clock_, *log_, static_cast<ClusterEvents&>(*this));
    std::lock_guard lock(mutex_);
    cluster_ = std::move(cluster);
    if (interrupted_) cluster_->stop(kInterrupted);  // that came when there was nobody to tell
  }
  if (auto opened = cluster_->open(); !opened) {
    std::unique_ptr<Cluster> failed;  // goes outside of the lock: its thread, which it joins, may be taking it
    {
      std::lock_guard lock(mutex_);
      failed.swap(cluster_);
    }
    return opened;
  }
  if (interrupted_) return Error{Code::interrupted, "interrupted"};
  if (head) AH_TRY(open_trace());
  if (parent) AH_TRY(spawn_children(cluster_->bound_url(), group, 1, local_nodes_ + 1));
  if (!head) AH_TRY(options_.apply(cluster_->settings()));
  seed_ = options_.seed.value_or(0);
  if (head) log_->info("", "seed " + std::to_string(seed_));
  AH_TRY(cluster_->wait_for_start());
  const uint32_t workers = parent ? 0 : child_ ? 1 : local_nodes_;
  DataService::Options exchange{memory_share(), std::max(1U, workers)};
  if (options_.memory) limit_kept_blocks(exchange.memory / 16);
  if (head && options_.progress && Console::status_columns() > 0) {
    exchange.progress = [bar = StageBar(clock_), this](const auto& progress) mutable {
      if (const auto line = bar.line(progress)) process_.console.status(*line);
    };
  }
  auto service = std::make_unique<DataService>(*cluster_, clock_, *log_, exchange);
  std::lock_guard lock(mutex_);
  process_.exchange = std::move(service);
  return {};
}

/// --resume: the newest complete checkpoint, on the rendezvous host, whose servers hold the values.
Status HostRuntime::load_checkpoint() {
  if (!options_.resume || process_.resumed) return {};
  std::string directory = options_.resume->empty() ? options_.checkpoint : *options_.resume;
  if (directory.empty()) directory = "checkpoints";
  auto loaded = load_newest_checkpoint(directory, *log_);
  if (!loaded) return loaded.error();
  if (!*loaded) {
    return Error{Code::bad_argument, "--resume: there is no complete checkpoint in '" + directory + "'"};
  }
  process_.resumed = std::move(**loaded);
  log_->info("", "resuming from the newest checkpoint in '" + directory + "' (" +
                     std::to_string(process_.resumed->state.updates) + " updates)");
  if (options_.checkpoint.empty()) options_.checkpoint = directory;
  return {};
}

/// --record, on the rendezvous host, whose server 0 knows what happens. Not before this host is known to be that one:
/// another with the same command must leave the file alone.
Status HostRuntime::open_trace() {
  if (options_.record.empty()) return {};
  auto trace = ParamTrace::open(options_.record,
                                {{"version", kVersion},
                                 {"job", job_.name()},
                                 {"seed", std::to_string(*options_.seed)},
                                 {"servers", std::to_string(options_.servers)},
                                 {"resample", options_.resample}},
                                *log_);
  if (!trace) return trace.error();
  process_.trace = std::move(*trace);
  return {};
}

Status HostRuntime::spawn_children(const std::string& url, uint64_t group, uint32_t first, uint32_t size) {
  std::lock_guard lock(mutex_);
  children_ = std::make_unique<ChildSupervisor>();
  for (uint32_t index = first; index < size; ++index) {
    ChildPlace place{url, group, size, index, -1, token_};
    if (placement_.node_rank) place.node_rank = static_cast<int32_t>(*placement_.node_rank);
    AH_TRY(children_->spawn(setup_.command_line, place));
  }
  return {};
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

/// Shards for `action`. A server's VM serves one run and stays in it, so that values can be read afterwards; the next
/// run gets new VMs, and the shards' values stay where they are (ProcessShared::stores).
Result<bool> HostRuntime::start_servers(uint32_t action) {
  std::vector<std::unique_ptr<NodeThread>> old;
  {
    std::lock_guard lock(mutex_);
    const int64_t finished = process_.finished_run;
    const bool right = !servers_leave_ && (action == kAnyAction || finished < 0 || action <= finished);
    if (!servers_.empty() && right) return true;
    for (const auto& server : servers_) {
      if (!servers_leave_) server->request_stop();
    }
    // Mostly at once, since a server that serves waits in an engine call; but its script may have more to do.
    servers_leave_ = !std::all_of(servers_.begin(), servers_.end(), [](const auto& server) { return server->done(); });
    if (servers_leave_) return false;
    old.swap(servers_);
  }
  old.clear();  // joins threads that have nothing left to do
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
  if (process_.exchange) process_.exchange->look();
  changed_.notify_all();
}

/// The parent of an --isolate host that is not the rendezvous host: nothing to do but to look after its children.
int HostRuntime::supervise() {
  std::unique_lock lock(mutex_);
  while (children_->reap() > 0) changed_.wait_for(lock, std::chrono::milliseconds(20));
  if (!interrupted_) return children_->exit_code();
  process_.console.err("actorhost: interrupted");
  return 130;
}

int HostRuntime::run_nodes() {
  start_workers();
  const EndMessage end = wait_for_end();
  abandoned_ = !stop_nodes(kStopSeconds);
  const int code = conclude(end);
  if (!abandoned_) {
    drop_nodes();
    drop_exchange();
  }
  cluster_->close();
  if (children_) {
    const double deadline = clock_.now() + 2;
    while (children_->reap() > 0 && clock_.now() < deadline) usleep(2000);
  }
  remove_private_socket(socket_path_);
  return code;
}

EndMessage HostRuntime::wait_for_end() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (const auto end = cluster_->end()) return *end;
    changed_.wait_for(lock, std::chrono::milliseconds(children_ ? 50 : 1000));
    if (children_) children_->reap();
  }
}

/// True when all nodes have come out of their Lua in time.
bool HostRuntime::stop_nodes(double seconds) {
  std::unique_lock lock(mutex_);
  for (const auto& node : workers_) node->request_stop();
  for (const auto& node : servers_) node->request_stop();
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] {
    const auto done = [](const auto& node) { return node->done(); };
    return std::all_of(workers_.begin(), workers_.end(), done) && std::all_of(servers_.begin(), servers_.end(), done);
  });
}

int HostRuntime::conclude(const EndMessage& end) {
  if (auto flushed = process_.flush_checkpoints(); !flushed) log_->error("checkpoint", flushed.error().message);
  log_->flush();
  if (end.ok) return 0;
  if (interrupted_ || end.code == Code::interrupted) {
    if (!child_) process_.console.err("actorhost: interrupted");
    return 130;
  }
  int code = exit_code_of(end.code);
  if (end.origin == kNoAddress || is_service(end.origin)) {
    if (code == 2) code = 3;
    // The parent says what concerns all; that this process is lost to it only this one can say.
    if (!child_ || end.origin != kNoAddress) process_.console.err("actorhost: " + end.message);
    return code;
  }
  if (code == 2) code = 1;  // a script's wrong call is the script's error
  for (const auto& list : {&workers_, &servers_}) {
    for (const auto& node : *list) {
      if (node->address() != end.origin || !node->done()) continue;
      process_.console.err("actorhost: " + node->traceback());
      return code;
    }
  }
  const bool said = child_ || (children_ && placement_.max_nodes == 1);  // by the process whose node it was
  if (!said) process_.console.err("actorhost: stopped, because " + end.message);
  return code;
}

}  // namespace actorhost
