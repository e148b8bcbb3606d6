#include "host/cluster/place/rank_detect.hpp"

#include <array>
#include <charconv>
#include <cstdlib>

#include <unistd.h>
#include <xxhash.h>

#include "host/cluster/place/endpoint.hpp"
#include "host/cluster/place/pmi_job.hpp"

namespace actorhost {

namespace {

constexpr uint32_t kMaxCount = 1'000'000;
constexpr uint32_t kFirstRunPort = 20'000;  // Linux uses ports from 32768 on for outgoing connections
constexpr uint32_t kRunPorts = 12'000;
constexpr uint32_t kNextRunPort = 1'499;  // from one port of a run to the next; a prime that does not divide kRunPorts

Error wrong(const std::string& what) { return {Code::bad_argument, what}; }

std::string shown(const std::string& name, const std::string& value) { return name + "=" + value; }

// A value and its source, for messages: a typed flag or a variable.
struct Given {
  std::string name;
  std::string value;
};

Result<uint32_t> parse_count(const Given& given, uint32_t least, uint32_t most = kMaxCount) {
  uint32_t number = 0;
  const char* end = given.value.data() + given.value.size();
  const auto [at, failed] = std::from_chars(given.value.data(), end, number);
  if (failed != std::errc{} || at != end) {
    return wrong(shown(given.name, given.value) + " is no whole number");
  }
  if (number < least || number > most) {
    return wrong(shown(given.name, given.value) + " is out of range: " + std::to_string(least) + " to " +
                 std::to_string(most));
  }
  return number;
}

// Reads variables, and records the set variables as the evidence of a rule.
class Variables {
 public:
  explicit Variables(const Environment& environment) : environment_(environment) {}

  bool has(std::string_view name) const { return find(name) != nullptr; }

  /// An empty value counts as unset: shells and pod templates unset a variable this way.
  std::optional<Given> take(std::string_view name) {
    const std::string* value = find(name);
    if (value == nullptr) return std::nullopt;
    evidence_ += (evidence_.empty() ? "" : " ") + shown(std::string(name), *value);
    return Given{std::string(name), *value};
  }

  Result<uint32_t> take_count(std::string_view name, uint32_t least) {
    const std::optional<Given> given = take(name);
    if (!given) return wrong("the variable " + std::string(name) + " is missing beside " + evidence_);
    return parse_count(*given, least);
  }

  const std::string& evidence() const { return evidence_; }

 private:
  const std::string* find(std::string_view name) const {
    const auto at = environment_.find(name);
    return at == environment_.end() || at->second.empty() ? nullptr : &at->second;
  }

  const Environment& environment_;
  std::string evidence_;
};

// The variables through which a launcher gives each of its processes its rank.
struct Ranks {
  std::string_view rank, size;              // required variables
  std::string_view local_rank, local_size;  // optional variables
};

struct LocalPart {
  uint32_t rank = 0;
  uint32_t size = 0;  // 0: not given
};

Result<LocalPart> take_local(Variables& variables, const Ranks& names, uint32_t world) {
  LocalPart local;
  if (variables.has(names.local_rank)) {
    AH_LET(local.rank, variables.take_count(names.local_rank, 0));
  }
  if (variables.has(names.local_size)) {
    AH_LET(auto size, variables.take_count(names.local_size, 1));
    if (size > world) {
      return wrong(std::string(names.local_size) + "=" + std::to_string(size) + " must not be more than " +
                   std::string(names.size) + "=" + std::to_string(world));
    }
    local.size = size;
  }
  const uint32_t limit = local.size == 0 ? world : local.size;
  if (local.rank >= limit) {
    const std::string_view of = local.size == 0 ? names.size : names.local_size;
    return wrong(std::string(names.local_rank) + "=" + std::to_string(local.rank) + " must be less than " +
                 std::string(of) + "=" + std::to_string(limit));
  }
  return local;
}

// Sets node_rank, the number of hosts and local_rank; one process per rank.
Result<LocalPart> take_ranks(Variables& variables, const Ranks& names, Placement& out) {
  AH_LET(auto rank, variables.take_count(names.rank, 0));
  AH_LET(auto size, variables.take_count(names.size, 1));
  if (rank >= size) {
    return wrong(std::string(names.rank) + "=" + std::to_string(rank) + " must be less than " +
                 std::string(names.size) + "=" + std::to_string(size));
  }
  auto local = take_local(variables, names, size);
  if (!local) return std::move(local).error();
  out.node_rank = rank;
  out.min_nodes = out.max_nodes = size;
  out.nproc = 1;
  out.local_rank = local->rank;
  out.local_size = std::max(local->size, 1U);
  out.launched = true;
  return local;
}

std::string host_and_port(const std::string& host, uint32_t port) {
  const bool six = host.find(':') != std::string::npos && !host.starts_with('[');
  return (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Status take_master(Variables& variables, Placement& out) {
  uint32_t port = kDefaultRendezvousPort;
  const std::optional<Given> address = variables.take("MASTER_ADDR");
  if (const std::optional<Given> given = variables.take("MASTER_PORT")) {
    AH_LET(auto number, parse_count(*given, 1));
    // Then the launcher's own store listens on MASTER_PORT.
    const bool taken = variables.has("TORCHELASTIC_USE_AGENT_STORE") &&
                       variables.take("TORCHELASTIC_USE_AGENT_STORE")->value == "True";
    port = number + (taken ? 1U : 0U);
    if (port > 65535) return wrong(shown(given->name, given->value) + " leaves no port for the rendezvous");
  }
  if (address) out.endpoint = host_and_port(address->value, port);
  return {};
}

Status use_torchrun(Variables& variables, Placement& out) {
  out.rule = "torchrun variables";
  AH_TRY(take_ranks(variables, {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"}, out));
  AH_TRY(take_master(variables, out));
  if (const auto id = variables.take("TORCHELASTIC_RUN_ID")) out.run_id = id->value;
  return {};
}

// Sets the rendezvous on `host`; its port is derived from the launcher's job id, if there is one.
void use_ports_of_run(const std::string& host, Placement& out) {
  std::vector<uint16_t> ports = {kDefaultRendezvousPort};
  if (!out.run_id.empty()) ports = ports_of_run(out.run_id);
  out.endpoint = host_and_port(host, ports.front());
  out.other_ports.assign(ports.begin() + 1, ports.end());
}

std::optional<Given> take_node_list(Variables& variables) {
  for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
    if (variables.has(name)) return variables.take(name);
  }
  return std::nullopt;
}

// Sets the rendezvous to the first machine of the Slurm job, at a port of the run; does nothing outside Slurm.
Status take_slurm_endpoint(Variables& variables, Placement& out) {
  const std::optional<Given> list = take_node_list(variables);
  if (!list) return {};
  auto host = first_slurm_host(list->value);
  if (!host) return wrong(shown(list->name, list->value) + ": " + host.error().message);
  use_ports_of_run(*host, out);
  return {};
}

Status use_mpi(Variables& variables, std::string rule, const Ranks& names, const char* job_id, Placement& out) {
  out.rule = std::move(rule);
  AH_LET(auto local, take_ranks(variables, names, out));
  if (const auto id = variables.take(job_id)) out.run_id = id->value;
  if (local.size == out.max_nodes) {
    use_ports_of_run("127.0.0.1", out);
    return {};
  }
  return take_slurm_endpoint(variables, out);
}

// `actorhost launch` starts one process per host. A host may have many nodes, and its number of nodes is a flag.
Status use_launch(Variables& variables, Placement& out) {
  out.rule = "actorhost launch";
  AH_TRY(take_ranks(variables, {"ACTORHOST_LAUNCH_RANK", "ACTORHOST_LAUNCH_SIZE", "", ""}, out));
  out.nproc = std::nullopt;
  if (const auto id = variables.take("ACTORHOST_LAUNCH_ID")) out.run_id = id->value;
  if (const auto host = variables.take("ACTORHOST_LAUNCH_HOST")) use_ports_of_run(host->value, out);
  return {};
}

// Sets the number of the step's tasks on this machine, if a variable gives it.
void take_slurm_neighbours(Variables& variables, uint32_t node, Placement& out) {
  for (const char* name : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}) {
    if (!variables.has(name)) continue;
    const uint32_t tasks = slurm_tasks_on(variables.take(name)->value, node);
    if (tasks > out.local_rank && tasks <= out.max_nodes) out.local_size = tasks;
    return;
  }
}

// Sets the cores that Slurm gives to this process. Its processes share the task's cores if the task is another
// launcher.
Status take_slurm_cores(Variables& variables, Placement& out) {
  if (!variables.has("SLURM_PROCID")) return {};
  const bool per_task = variables.has("SLURM_CPUS_PER_TASK");
  const char* const name = per_task ? "SLURM_CPUS_PER_TASK" : "SLURM_CPUS_ON_NODE";
  if (!variables.has(name)) return {};
  AH_LET(auto cores, variables.take_count(name, 1));
  const bool shared = !per_task || out.rule == "torchrun variables";
  out.cores = std::max(1U, shared ? cores / std::max(1U, out.local_size) : cores);
  out.cores_source = shown(name, std::to_string(cores));
  if (shared && out.local_size > 1) out.cores_source += " for " + std::to_string(out.local_size) + " processes";
  return {};
}

Status use_slurm(Variables& variables, Placement& out) {
  out.rule = "Slurm variables";
  AH_TRY(take_ranks(variables, {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", ""}, out));
  if (variables.has("SLURM_NODEID")) {
    AH_LET(auto node, variables.take_count("SLURM_NODEID", 0));
    take_slurm_neighbours(variables, node, out);
  }
  if (const auto id = variables.take("SLURM_JOB_ID")) out.run_id = id->value;
  // Several steps of one job may run at once.
  if (const auto step = variables.take("SLURM_STEP_ID"); step && !out.run_id.empty()) out.run_id += "." + step->value;
  return take_slurm_endpoint(variables, out);
}

// Flags and ACTORHOST_ variables: the flag if given, else the variable.
class Overrides {
 public:
  Overrides(const PlacementFlags& flags, Variables& variables) : flags_(flags), variables_(variables) {}

  std::optional<Given> nnodes() { return pick(flags_.nnodes, "--nnodes", "ACTORHOST_NNODES"); }
  std::optional<Given> node_rank() { return pick(flags_.node_rank, "--node-rank", "ACTORHOST_NODE_RANK"); }
  std::optional<Given> nproc() { return pick(flags_.nproc_per_node, "--nproc-per-node", "ACTORHOST_NPROC_PER_NODE"); }
  std::optional<Given> endpoint() { return pick(flags_.rdzv_endpoint, "--rdzv-endpoint", "ACTORHOST_RDZV_ENDPOINT"); }
  std::optional<Given> run_id() { return pick(flags_.rdzv_id, "--rdzv-id", "ACTORHOST_RDZV_ID"); }
  const std::string& evidence() const { return evidence_; }

 private:
  std::optional<Given> pick(const std::optional<std::string>& flag, std::string name, std::string_view variable) {
    std::optional<Given> given = flag ? Given{std::move(name), *flag} : variables_.take(variable);
    if (given && flag) evidence_ += (evidence_.empty() ? "" : " ") + given->name + " " + given->value;
    return given;
  }

  const PlacementFlags& flags_;
  Variables& variables_;
  std::string evidence_;
};

Status read_nnodes(const Given& given, Placement& out) {
  const size_t colon = given.value.find(':');
  auto least = parse_count({given.name, given.value.substr(0, colon)}, 1);
  if (!least) return wrong(shown(given.name, given.value) + " is neither a number of hosts nor MIN:MAX");
  out.min_nodes = out.max_nodes = *least;
  if (colon == std::string::npos) return {};
  auto most = parse_count({given.name, given.value.substr(colon + 1)}, 1);
  if (!most) return wrong(shown(given.name, given.value) + " is neither a number of hosts nor MIN:MAX");
  if (*most < *least) return wrong(shown(given.name, given.value) + ": the smaller number must be first");
  out.max_nodes = *most;
  return {};
}

Status read_node_rank(const Given& rank, const std::optional<Given>& nnodes, Placement& out) {
  if (!nnodes) return wrong(shown(rank.name, rank.value) + " needs --nnodes (or ACTORHOST_NNODES)");
  AH_LET(auto number, parse_count(rank, 0));
  if (number >= out.max_nodes) {
    return wrong(shown(rank.name, rank.value) + " must be less than " + shown(nnodes->name, nnodes->value));
  }
  out.node_rank = number;
  return {};
}

Status use_given_shape(const std::optional<Given>& nnodes, const std::optional<Given>& rank, Placement& out) {
  const bool flagged = (nnodes && nnodes->name.starts_with("--")) || (rank && rank->name.starts_with("--"));
  out.rule = flagged ? "flags" : "ACTORHOST_* variables";
  if (nnodes) AH_TRY(read_nnodes(*nnodes, out));
  if (rank) AH_TRY(read_node_rank(*rank, nnodes, out));
  return {};
}

// The address of pod 0 of an indexed Job with a headless service: the Job's name with -0.
Result<std::string> first_pod(std::string_view hostname, uint32_t index, const std::string& service) {
  const std::string ending = "-" + std::to_string(index);
  if (!hostname.ends_with(ending)) {
    return wrong("JOB_COMPLETION_INDEX=" + std::to_string(index) + ": the host name \"" + std::string(hostname) +
                 "\" does not end in " + ending + "; give --rdzv-endpoint");
  }
  return std::string(hostname.substr(0, hostname.size() - ending.size())) + "-0." + service;
}

Status use_kubernetes(Variables& variables, const std::optional<Given>& nnodes, std::string_view hostname,
                      Placement& out) {
  out.rule = "Kubernetes indexed Job";
  AH_LET(auto index, variables.take_count("JOB_COMPLETION_INDEX", 0));
  AH_TRY(read_nnodes(*nnodes, out));
  if (index >= out.max_nodes) {
    return wrong("JOB_COMPLETION_INDEX=" + std::to_string(index) + " must be less than " +
                 shown(nnodes->name, nnodes->value));
  }
  out.node_rank = index;
  if (const auto service = variables.take("ACTORHOST_SERVICE")) {
    AH_LET(auto host, first_pod(hostname, index, service->value));
    out.endpoint = host_and_port(host, kDefaultRendezvousPort);
  }
  return {};
}

// Picks the rule, which fills `out`.
Status use_first_rule(Variables& variables, Overrides& overrides, std::string_view hostname, Placement& out) {
  const std::optional<Given> nnodes = overrides.nnodes();
  const std::optional<Given> rank = overrides.node_rank();
  const bool indexed = variables.has("JOB_COMPLETION_INDEX");
  if (variables.has("ACTORHOST_LAUNCH_RANK")) return use_launch(variables, out);
  if (rank || (nnodes && !indexed)) return use_given_shape(nnodes, rank, out);
  if (nnodes) return use_kubernetes(variables, nnodes, hostname, out);

  // Two of the three variables are required: RANK alone is too common a name to identify a launcher.
  const int torchrun = static_cast<int>(variables.has("RANK")) + static_cast<int>(variables.has("WORLD_SIZE")) +
                       static_cast<int>(variables.has("MASTER_ADDR"));
  if (torchrun >= 2) return use_torchrun(variables, out);
  if (variables.has("OMPI_COMM_WORLD_RANK")) {
    return use_mpi(
        variables, "Open MPI variables",
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
        "PMIX_NAMESPACE", out);
  }
  if (variables.has("PMI_RANK")) {
    return use_mpi(variables, "PMI variables", {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
                   "PMI_JOBID", out);
  }
  if (variables.has("SLURM_PROCID")) return use_slurm(variables, out);
  if (indexed) {
    const std::string index = shown("JOB_COMPLETION_INDEX", variables.take("JOB_COMPLETION_INDEX")->value);
    return wrong(index + ": a Kubernetes Job does not provide its size; set ACTORHOST_NNODES or give --nnodes");
  }
  out.rule = "single host";
  return {};
}

Status apply_overrides(Overrides& overrides, Placement& out) {
  if (const std::optional<Given> nproc = overrides.nproc()) {
    out.nproc = std::nullopt;
    if (nproc->value != "auto") {
      auto count = parse_count(*nproc, 1, kMaxNodes);
      if (!count) return wrong(count.error().message + " (or auto)");
      out.nproc = *count;
    }
  }
  if (const std::optional<Given> id = overrides.run_id()) out.run_id = id->value;
  const std::optional<Given> endpoint = overrides.endpoint();
  // A single host needs no rendezvous, whatever its launcher sets.
  if (!endpoint && out.max_nodes == 1) out.endpoint.clear();
  if (out.max_nodes == 1) out.node_rank = 0;
  if (endpoint) out.endpoint = endpoint->value;
  if (endpoint || out.max_nodes == 1) out.other_ports.clear();
  if (out.endpoint.empty()) return {};
  if (auto parsed = parse_endpoints(out.endpoint); !parsed) {
    return wrong((endpoint ? endpoint->name : out.rule) + ": " + parsed.error().message);
  }
  return {};
}

std::string plural(uint32_t count, const std::string& word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

}  // namespace

Result<Placement> detect_placement(const PlacementFlags& flags, const Environment& environment,
                                   std::string_view hostname) {
  Placement out;
  Variables variables(environment);
  Overrides overrides(flags, variables);
  AH_TRY(use_first_rule(variables, overrides, hostname, out));
  AH_TRY(take_slurm_cores(variables, out));
  AH_TRY(apply_overrides(overrides, out));
  out.evidence = overrides.evidence();
  if (!variables.evidence().empty()) out.evidence += (out.evidence.empty() ? "" : " ") + variables.evidence();
  if (out.max_nodes > 1 && out.endpoint.empty()) {
    return wrong(out.rule + " (" + out.evidence + "): " + std::to_string(out.max_nodes) +
                 " hosts, but no address where they meet; give --rdzv-endpoint HOST:PORT (or " +
                 "ACTORHOST_RDZV_ENDPOINT)");
  }
  return out;
}

std::string describe(const Placement& placement) {
  std::string text = placement.rule;
  if (!placement.evidence.empty()) text += " " + placement.evidence;
  text += ": host ";
  text += placement.node_rank ? std::to_string(*placement.node_rank) : "?";
  text += " of " + std::to_string(placement.min_nodes);
  if (placement.elastic()) text += " to " + std::to_string(placement.max_nodes);
  text += ", " + (placement.nproc ? plural(*placement.nproc, "node") : std::string("a node per core")) + " here";
  if (!placement.endpoint.empty()) text += ", rendezvous " + placement.endpoint;
  for (const uint16_t port : placement.other_ports) {
    text += (port == placement.other_ports.front() ? " (or, if it is in use, port " : ", ") + std::to_string(port);
  }
  if (!placement.other_ports.empty()) text += ")";
  if (!placement.run_id.empty()) text += ", run " + placement.run_id;
  return text;
}

std::vector<uint16_t> ports_of_run(std::string_view run_id) {
  const uint64_t hash = XXH3_64bits(run_id.data(), run_id.size());
  std::vector<uint16_t> ports;
  for (uint32_t i = 0; i < kPortsOfARun; ++i) {
    ports.push_back(static_cast<uint16_t>(kFirstRunPort + (hash % kRunPorts + i * kNextRunPort) % kRunPorts));
  }
  return ports;
}

uint32_t slurm_tasks_on(std::string_view list, uint32_t node) {
  const auto number = [](std::string_view text) {
    uint32_t out = 0;
    return std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc{} ? out : 0;
  };
  for (uint64_t first = 0; !list.empty();) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view part = list.substr(0, comma);
    const size_t times = part.find("(x");
    first += times == std::string_view::npos ? 1 : number(part.substr(times + 2));
    if (node < first) return number(part);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return 0;
}

Result<std::string> first_slurm_host(std::string_view node_list) {
  const Error malformed = wrong("\"" + std::string(node_list) + "\" is no Slurm node list such as node[01-03,7]");
  std::string host;
  size_t at = 0;
  while (at < node_list.size() && node_list[at] != ',') {
    const char c = node_list[at];
    if (c != '[') {
      if (c == ']' || c == ' ') return malformed;
      host += c;
      ++at;
      continue;
    }
    const size_t close = node_list.find(']', at);
    if (close == std::string_view::npos) return malformed;
    const std::string_view ranges = node_list.substr(at + 1, close - at - 1);
    const std::string_view first = ranges.substr(0, ranges.find_first_of(",-"));
    if (first.empty() || first.find_first_not_of("0123456789") != std::string_view::npos) return malformed;
    host += first;
    at = close + 1;
  }
  if (host.empty()) return malformed;
  return host;
}

Environment current_environment() {
  if (const char* socket = std::getenv("PMI_FD"); socket != nullptr && std::getenv("PMI_JOBID") == nullptr) {
    ::setenv("PMI_JOBID", query_pmi_job(std::atoi(socket)).c_str(), 1);
  }
  Environment result;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view line = *at;
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos) result.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return result;
}

std::string current_hostname() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

}  // namespace actorhost
