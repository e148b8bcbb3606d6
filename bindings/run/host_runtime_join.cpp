// How a host joins its run: the job, its place among the hosts, the cluster, the checkpoint and the trace.

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "bindings/process/version.hpp"
#include "bindings/run/barrier_flag.hpp"
#include "bindings/run/cluster_config.hpp"
#include "bindings/run/host_runtime.hpp"
#include "bindings/run/stage_bar.hpp"
#include "host/base/nearest.hpp"
#include "host/base/printable.hpp"
#include "host/data/file/atomic_dir.hpp"

namespace actorhost {

namespace {

constexpr double kProbeSeconds = 1;  // seconds for each further address to reply whether it has a run
constexpr uint64_t kProcessBytes = uint64_t{128} << 20;  // a process's need besides its data: 110 MB for two nodes

constexpr double kQuiet = 2;  // seconds of waiting for a name before a log line
constexpr std::chrono::milliseconds kResolveInterval(250);

bool is_unreachable(const Error& error) { return error.code == Code::unreachable || error.code == Code::peer_lost; }

uint64_t random_number() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

Status HostRuntime::prepare() {
  AH_TRY(open_job());
  lines_.set_job(job_.name());
  return find_place();
}

Status HostRuntime::open_job() {
  auto file = rule_file_of(options_.barrier);
  if (!file) return file.error();
  rule_file_ = std::move(*file);
  if (!rule_file_.empty()) job_.set_barrier_file(rule_file_);
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

/// Checks the file of --barrier on the host that distributes it.
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
    const std::string flag = "--rdzv-endpoint";  // an agent's flag has another name
    const size_t at = error.message.find(flag);
    if (options_.agent && at != std::string::npos) error.message.replace(at, flag.size(), "--join");
    return error;
  }
  placement_ = std::move(*placement);
  if (options_.agent) placement_.node_rank.reset();  // an agent takes any free place
  allowance_ = own_allowance();
  if (placement_.cores) allowance_.limit_cores(*placement_.cores, placement_.cores_source);
  const uint32_t others = placement_.cores ? 1 : std::max(1U, placement_.local_size);
  local_nodes_ = placement_.nproc.value_or(std::max(1U, allowance_.cores / others));
  const std::string where = child_ ? child_->url : placement_.endpoint;
  if (where.empty()) {
    if (placement_.max_nodes == 1) return {};
    return Error{Code::bad_argument, "--nnodes " + std::to_string(placement_.max_nodes) +
                                         " needs --rdzv-endpoint HOST:PORT, the same on every host"};
  }
  auto endpoints = parse_endpoints(where);
  if (!endpoints) return endpoints.error();
  endpoint_ = endpoints->front();
  other_endpoints_.assign(endpoints->begin() + 1, endpoints->end());
  if (child_) {
    share_cores();  // with its siblings
    local_nodes_ = 1;
    token_ = child_->token;
    return {};
  }
  AH_TRY(check_tls_files(options_));
  const bool tls = !options_.tls_cert.empty() || !options_.tls_ca.empty();
  const auto secure = [tls](Endpoint& endpoint) {
    if (endpoint.scheme == Endpoint::Scheme::tcp && tls) endpoint.scheme = Endpoint::Scheme::tls;
  };
  secure(*endpoint_);
  for (Endpoint& endpoint : other_endpoints_) secure(endpoint);
  auto token = load_token(options_, *log_);
  if (!token) return token.error();
  token_ = std::move(*token);
  return {};
}

/// The number of hosts of this run on this machine, as known from the launcher and the coordinator's address.
uint32_t HostRuntime::hosts_here() const {
  const uint32_t hosts = std::max(1U, placement_.local_size);
  if (!endpoint_) return hosts;
  const auto one_machine = is_loopback(*endpoint_);
  return one_machine && *one_machine ? std::max(hosts, placement_.max_nodes) : hosts;
}

/// Sets --threads-per-node, unless given, to this host's cores divided by its nodes. The hosts of a machine share its
/// cores, unless the launcher gives each host its own cores.
void HostRuntime::share_cores() {
  if (options_.threads_per_node) return;
  const uint32_t nodes = local_nodes_ * (placement_.cores ? 1 : hosts_here());
  options_.threads_per_node = std::clamp(allowance_.cores / std::max(1U, nodes), 1U, 256U);
}

/// This process's limit for map-reduce data: its part of --memory, which the host's processes share; or its part of 60
/// percent of the available memory, which all processes of the machine's hosts share.
uint64_t HostRuntime::memory_share() const {
  uint64_t bytes = options_.memory.value_or(0);
  if (bytes == 0) bytes = allowance_.memory / 10 * 6 / hosts_here();
  bytes /= std::max(1U, child_ ? child_->size : options_.isolate ? local_nodes_ : 1);
  // Leaves room for uncounted memory: the program, Lua's values, mapped files, rows in flight, growing tables, and
  // memory cached by the allocator.
  bytes -= std::min(bytes / 3, kProcessBytes);
  return bytes / 8 * 5;
}

/// "; 2 of 8 cores (the affinity mask)", for the log line of a host that may use less than the whole machine.
std::string HostRuntime::limits_text() const {
  std::string text;
  if (!allowance_.cores_limit.empty()) {
    text += "; " + std::to_string(allowance_.cores) + " of " + std::to_string(allowance_.machine_cores) + " cores (" +
            allowance_.cores_limit + ")";
  }
  if (!allowance_.memory_limit.empty()) {
    text += "; " + std::to_string(allowance_.memory >> 20) + " of " + std::to_string(allowance_.machine_memory >> 20) +
            " MiB of memory (" + allowance_.memory_limit + ")";
  }
  return text;
}

Status HostRuntime::join_cluster() {
  // If a launcher shows the output of all its tasks, only one host logs the line.
  const bool logged_by_other = child_ || (placement_.launched && placement_.node_rank != 0U);
  log_->write(logged_by_other ? LogLevel::debug : LogLevel::info, "",
              "placement: " + describe(placement_) + limits_text());
  if (!child_ && !endpoint_ && options_.isolate) {
    auto folder = PrivateFolder::make();
    if (!folder) return folder.error();
    endpoint_ = Endpoint{Endpoint::Scheme::ipc, "", 0, folder->path() + "/head"};
    {
      std::lock_guard lock(mutex_);
      private_folder_ = std::move(*folder);
    }
    token_ = std::to_string(random_number()) + std::to_string(random_number());
  }
  ClusterConfig base = base_config(options_, placement_, job_, token_, local_nodes_);
  if (child_) return open_cluster(joining(base));
  if (!endpoint_) return open_cluster(coordinator_config(base, ""));
  auto own = await_own_address(base);
  if (!own) return own.error();
  if (cluster_) return {};  // joined a run at a further address
  const bool must_listen = placement_.node_rank == 0U;
  const bool may_listen = !options_.agent && (must_listen || (*own && !placement_.node_rank));
  Status listened;
  if (may_listen) {
    AH_TRY(may_listen_at(*endpoint_, options_));
    if (options_.isolate) AH_TRY(may_join_at(*endpoint_, options_));  // its children join there
    if (!must_listen && !other_endpoints_.empty()) {
      Status joined = join_others(base);
      if (joined || !is_unreachable(joined.error())) return joined;
    }
    listened = listen(base, must_listen);
    if (listened || must_listen || listened.error().code != Code::io) return listened;
  }
  AH_TRY(may_join_at(*endpoint_, options_));
  if (options_.isolate) {
    std::string places = endpoint_url(*endpoint_);
    for (const Endpoint& other : other_endpoints_) places += "," + endpoint_url(other);
    return spawn_children(places, base.self.group, 0, local_nodes_);
  }
  Status joined = open_cluster(joining(base));
  if (joined) return joined;
  Error error = with_hint(std::move(joined).error(), *endpoint_);
  if (listened.ok() || error.message.find("does not answer") == std::string::npos) return error;
  error.message += " (this host tried to join because it cannot listen there: " + listened.error().message + ")";
  return error;
}

/// Whether the coordinator's address is an address of this machine. A pod's name may be unknown at first, so this
/// retries until --start-timeout has passed. Meanwhile it tries to join a run at the further addresses.
Result<bool> HostRuntime::await_own_address(ClusterConfig& base) {
  const double begun = clock_.now();
  for (bool logged = false;;) {
    auto own = is_own_address(*endpoint_);
    base.waited = clock_.now() - begun;
    if (own || own.error().code != Code::unreachable) return own;
    const Error& error = own.error();
    if (base.waited >= options_.start_timeout) {
      return Error{error.code,
                   error.message + "; retried for " + seconds_text(options_.start_timeout) +
                       " (--start-timeout): check the name and the resolver of this machine, or give an address"};
    }
    if (!other_endpoints_.empty() && placement_.node_rank != 0U) {
      const Status joined = join_others(base);
      if (joined || !is_unreachable(joined.error())) return joined ? Result<bool>(true) : joined.error();
    }
    if (!logged && base.waited >= kQuiet) {
      logged = true;
      log_->info("", "waiting until the coordinator's name is known: " + error.message);
    }
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kResolveInterval, [this] { return interrupted_.load(); })) {
      return Error{Code::interrupted, "interrupted"};
    }
  }
}

ClusterConfig HostRuntime::joining(const ClusterConfig& base) const {
  return member_config(base, *endpoint_, placement_.other_ports, other_endpoints_, child_);
}

/// Tries to join a run whose first host has failed, before this host would start a run as its first host.
Status HostRuntime::join_others(const ClusterConfig& base) {
  if (options_.isolate) return Error{Code::unreachable, ""};  // its processes are not started twice
  ClusterConfig config = joining(base);
  config.url = config.other_urls.front();
  config.other_urls.erase(config.other_urls.begin());
  config.once = true;
  config.waited = 0;
  config.start_timeout = kProbeSeconds * static_cast<double>(other_endpoints_.size());
  return open_cluster(std::move(config));
}

/// Listens as the coordinator, at the first free port of the run.
Status HostRuntime::listen(const ClusterConfig& base, bool must_listen) {
  const std::string first = endpoint_url(*endpoint_);
  Status listened = open_cluster(coordinator_config(base, first));
  const auto taken = [&] { return !listened && listened.error().code == Code::io && !cluster_; };
  for (const uint16_t port : placement_.other_ports) {
    if (!taken()) return listened;
    log_->info("", listened.error().message + ", so the coordinator listens at port " + std::to_string(port));
    endpoint_->port = port;
    listened = open_cluster(coordinator_config(base, endpoint_url(*endpoint_)));
  }
  if (must_listen || !taken()) return listened;
  // If two hosts begin to listen in the same instant, the kernel may refuse both. They retry at different times.
  std::this_thread::sleep_for(std::chrono::microseconds(1000 + random_number() % 10'000));
  return open_cluster(coordinator_config(base, first));
}

Status HostRuntime::open_cluster(ClusterConfig config) {
  const bool is_coordinator = config.place != ClusterConfig::Place::member;
  const bool parent = is_coordinator && options_.isolate;
  share_cores();
  if (is_coordinator) {
    AH_TRY(check_rule_file());
    AH_TRY(load_checkpoint());
    AH_TRY(open_checkpoints());
    if (!options_.seed && process_.resumed) options_.seed = process_.resumed->state.seed;
    if (!options_.seed) options_.seed = random_number() >> 33;
    options_.parallelism = local_nodes_ * placement_.min_nodes;
    options_.run_key = std::to_string(random_number());
    config.coordinator.settings = options_.shared_settings();
    config.coordinator.settings["parallelism"] = std::to_string(options_.parallelism);
    config.coordinator.settings["run_key"] = options_.run_key;
    if (options_.records_spans()) config.coordinator.settings["spans"] = "1";
    config.about = {{"seed", std::to_string(*options_.seed)}};
  }
  config.about["version"] = kVersion;
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
    if (interrupted_) cluster_->stop(end_by_signal());  // an interrupt arrived before the cluster existed
  }
  if (auto opened = cluster_->open(); !opened) {
    std::unique_ptr<Cluster> failed;  // destroyed without the lock, which its thread may be waiting for
    {
      std::lock_guard lock(mutex_);
      failed.swap(cluster_);
    }
    return opened;
  }
  if (interrupted_) return Error{Code::interrupted, "interrupted"};
  if (is_coordinator) AH_TRY(lock_checkpoints());
  add_sections();
  lines_.set_job(job_.name());
  if (is_coordinator) AH_TRY(open_trace());
  AH_TRY(open_page());
  if (parent) AH_TRY(spawn_children(cluster_->bound_url(), group, 1, local_nodes_ + 1));
  if (!is_coordinator) AH_TRY(options_.apply(cluster_->settings()));
  seed_ = options_.seed.value_or(0);
  if (is_coordinator) log_->info("", "seed " + std::to_string(seed_));
  AH_TRY(parent ? start_with_children() : cluster_->wait_for_start());
  if (child_) child_->report_started();
  const uint32_t workers = parent ? 0 : child_ ? 1 : local_nodes_;
  DataService::Options exchange{memory_share(), std::max(1U, workers)};
  limit_block(allowance_.memory);
  if (options_.memory) {
    limit_cached_blocks(exchange.memory / 16);
  } else if (!allowance_.memory_limit.empty()) {  // above a control group's limit the kernel kills the process
    limit_cached_blocks(allowance_.memory / 8 / hosts_here());
  }
  process_.data.limit(exchange.memory / std::max(1U, workers));
  if (is_coordinator && options_.progress && Console::status_columns() > 0) {
    exchange.progress = [bar = StageBar(clock_), this](const auto& progress) mutable {
      if (const auto line = bar.line(progress)) process_.console.status(*line);
    };
  }
  auto service = std::make_unique<DataService>(*cluster_, clock_, *log_, exchange);
  auto courier = std::make_unique<CourierWithTasks>(*cluster_, clock_, *log_);
  {
    std::lock_guard lock(mutex_);
    process_.exchange = std::move(service);
    process_.courier = std::move(courier);
  }
  if (is_coordinator) cluster_->servers_ended();  // starts servers that could not start before
  return {};
}

/// --resume: loads the parameter server's newest complete checkpoint on the coordinator, whose servers hold the values.
/// A job with its own checkpoints (actor.checkpoint, iterate) reads them later.
Status HostRuntime::load_checkpoint() {
  if (!options_.resume || process_.resumed) return {};
  std::string directory = options_.resume->empty() ? options_.checkpoint : *options_.resume;
  if (directory.empty()) directory = "checkpoints";
  auto loaded = load_newest_checkpoint(directory, *log_);
  if (!loaded) return loaded.error();
  if (options_.checkpoint.empty()) options_.checkpoint = directory;
  if (!*loaded) {
    const auto others = has_complete(directory);
    if (!others) return others.error();
    if (*others) return {};
    return Error{Code::bad_argument, "--resume: there is no complete checkpoint in '" + directory + "'"};
  }
  process_.resumed = std::move(**loaded);
  log_->info("", "resuming from the newest checkpoint in '" + directory + "' (" +
                     std::to_string(process_.resumed->state.updates) + " updates)");
  return {};
}

/// --checkpoint on the coordinator: tests the folder before the run begins. A later failure ends the run on all hosts.
Status HostRuntime::open_checkpoints() {
  process_.checkpoint_failed = [this](const Error& error) {
    std::lock_guard lock(mutex_);
    if (cluster_) cluster_->stop({Code::io, false, "a checkpoint cannot be written: " + error.message, kNoAddress});
  };
  if (options_.checkpoint.empty()) return {};
  const Status may = try_to_checkpoint(options_.checkpoint);
  no_checkpoints_ = !may.ok();
  return may.ok() ? may : Status(Error{Code::refused, "--checkpoint: " + may.error().message});
}

/// Locks the folder of --checkpoint for this run once this host is the coordinator. Other hosts with the same command
/// must not lock it.
Status HostRuntime::lock_checkpoints() {
  if (options_.checkpoint.empty()) return {};
  const Status locked = process_.locks.take(options_.checkpoint, CheckpointFolder{}.prefix);
  no_checkpoints_ = !locked.ok();
  return locked.ok() ? locked : Status(Error{Code::refused, "--checkpoint: " + locked.error().message});
}

/// --record: opens the trace on the coordinator, which receives the nodes' reports. Opens it only once this host is the
/// coordinator: another host with the same command must not touch the file.
Status HostRuntime::open_trace() {
  if (options_.record.empty() || options_.records_states()) return {};
  if (options_.records_spans()) {
    auto chrome = ChromeTrace::open(options_.record, *log_, clock_.now());
    if (!chrome) return chrome.error();
    cluster_->record(std::move(*chrome));
    return {};
  }
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

/// --dashboard, --metrics and --record FILE.jsonl. They run on the coordinator, which has the state of the run.
Status HostRuntime::open_page() {
  if (!PageHost::wanted(options_) || child_) return {};
  if (!cluster_->is_coordinator()) {
    if (options_.dashboard || options_.metrics) log_->info("", "the page of this run is on its coordinator");
    return {};
  }
  auto page = PageHost::open(options_, *cluster_, clock_, *log_);
  if (!page) return page.error();
  page_ = std::move(*page);
  return {};
}

/// Waits for the start. Children are not restarted, so a child that ends before the start ends the run.
Status HostRuntime::start_with_children() {
  bool started = false;  // guarded by the lock
  std::thread watcher([&] {
    std::unique_lock lock(mutex_);
    for (; !started && cluster_->epoch() == 0; changed_.wait_for(lock, std::chrono::milliseconds(20))) {
      children_->reap();
      const auto ended = children_->first_ended();
      if (!ended || children_->started()) continue;
      return cluster_->stop({Code::peer_lost, false, *ended + " before the run had started", kNoAddress});
    }
  });
  Status waited = cluster_->wait_for_start();
  {
    std::lock_guard lock(mutex_);
    started = true;
    changed_.notify_all();
  }
  watcher.join();
  return waited;
}

Status HostRuntime::spawn_children(const std::string& url, uint64_t group, uint32_t first, uint32_t size) {
  std::lock_guard lock(mutex_);
  children_ = std::make_unique<ChildSupervisor>();
  process_.console.take_turns(children_->output_lock());
  std::vector<ChildPlace> places;
  for (uint32_t index = first; index < size; ++index) {
    places.push_back({url, group, size, index, -1, token_});
    if (placement_.node_rank) places.back().node_rank = static_cast<int32_t>(*placement_.node_rank);
  }
  return children_->spawn(setup_.command_line, std::move(places));
}

}  // namespace actorhost
