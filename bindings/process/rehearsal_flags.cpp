#include "bindings/process/rehearsal_flags.hpp"

#include <cstdint>
#include <tuple>

#include <CLI/CLI.hpp>

#include "bindings/process/flag_values.hpp"
#include "bindings/process/run_options.hpp"
#include "host/base/allowance.hpp"

namespace actorhost {

namespace {

constexpr uint64_t kMemory = uint64_t{256} << 20;  // of a simulated host, whatever this machine has
constexpr uint32_t kMostHosts = 65'000;
constexpr double kMostSeconds = 1e9;
constexpr uint64_t kMostSeed = uint64_t{1} << 53;
constexpr uint64_t kMostSeeds = 10'000'000;
constexpr uint32_t kMostJobs = 1024;

}  // namespace

void RehearsalFlags::add_to(CLI::App& app) {
  for (const char* refused :
       {"--isolate", "--nnodes", "--node-rank", "--rdzv-endpoint", "--dashboard", "--metrics", "--token-file",
        "--tls-cert", "--tls-key", "--tls-ca", "--insecure", "--no-shared-memory", "--no-progress"}) {
    app.get_option(refused)->group("");  // not in the help
  }
  app.get_option("-n")->description("nodes on each simulated host (1)");
  app.get_option("--threads-per-node")->description("threads for large products of each node (1)");
  app.get_option("--memory")->description("memory of a host's nodes for map-reduce data (256M)");
  app.get_option("--seed")->description("of the job and of the order of all events (1)");
  app.add_option("--hosts", hosts_, "simulated hosts (3)")->type_name("N");
  app.add_option("--order", order_, "seed of the order of all events (--seed's)")->type_name("N");
  app.add_option(both_spellings("--virtual-seconds"), virtual_seconds_,
                 "ends the rehearsal at that virtual time, with exit code 98 (3600)")
      ->type_name("T");
  app.add_option(
         "--compute", compute_,
         "factor on the virtual time of computing: 0.1 ns for an operation of a product, 0.5 ns for an element of "
         "any other operation, 10 us for an engine call (1)")
      ->type_name("FACTOR");
  app.add_option("--straggler", straggler_,
                 "that share of the hosts computes slower by the factor; ...@SECONDS: others after that time")
      ->type_name("SHARE:FACTORx");
  app.add_option("--churn", churn_, "hosts that join and hosts that die each second, as join and kill in --faults")
      ->type_name("JOIN:LEAVE");
  app.add_option("--network", network_,
                 "a shape, and settings: racks:4,bandwidth=10Gbit,latency=50us,"
                 "between-bandwidth=40Gbit,between-latency=0.0001+exp(0.0001); or a JSON file with the same keys "
                 "(switch)")
      ->type_name("switch|racks:N|sites:N|FILE");
  app.add_option(
         "--faults", faults_,
         "kill=1/min,restart=5s,crash=1,stall=2:500ms,partition=1/10s:3s,one-way=1,break=4,disk-full=1:2s,"
         "disk-error=1,after=1s,within=20s: a number of faults or a rate of each kind, the durations (5s), when killed "
         "hosts start again (never), and the time in which faults begin (0s, 10s, rates always); or a file in Lua, "
         "whose function of `world` calls world:at(SECONDS, KIND, HOSTS, SECONDS)")
      ->type_name("SPEC|FILE");
  app.add_option(both_spellings("--save-faults"), save_faults_, "writes the faults that happened, for --faults")
      ->type_name("FILE.lua");
  app.add_option("--chart", chart_, "draws the last 400 messages between hosts, and the faults among them")
      ->type_name("FILE.svg");
  app.add_option(
         "--seeds", seeds_,
         "rehearses with each of these seeds in a process of its own, and prints the failures; with --seed only "
         "the order of events varies")
      ->type_name("A:B");
  app.add_option("-j", jobs_, "processes of --seeds at a time (one a core)")->type_name("N");
  app.add_option("--codes", codes_, "exit codes that are a success for --seeds: 0,3 (0)")->type_name("LIST");
  app.add_flag(
      "--shrink", shrink_,
      "finds fewer faults, hosts and smaller numbers among the job's arguments with which the first failure of "
      "--seeds still happens, and writes the faults to faults-SEED.lua");
  app.add_flag(both_spellings("--as-threads"), threads_,
               "runs each task on a thread, for a debugger; without it tasks are fibres, which are faster");
  app.add_option("--events", events_, "writes each event of the rehearsal to a file, to find where two runs differ")
      ->type_name("FILE");
}

Status RehearsalFlags::take_search(RehearsalOptions& out) const {
  if (seeds_.empty()) {
    if (jobs_.empty() && codes_.empty() && !shrink_) return {};
    return Error{Code::bad_argument, "-j, --codes and --shrink belong to --seeds A:B"};
  }
  RehearsalOptions::Search search;
  const size_t colon = seeds_.find(':');
  const auto first = number_of<uint64_t>(std::string_view(seeds_).substr(0, colon));
  const auto last =
      colon == std::string::npos ? first : number_of<uint64_t>(std::string_view(seeds_).substr(colon + 1));
  if (!first || !last || *first > *last || *last > kMostSeed || *last - *first >= kMostSeeds) {
    return bad_flag("seeds", seeds_, "A:B, the first and the last of up to ten million seeds");
  }
  search.first = *first;
  search.last = *last;
  const auto jobs = jobs_.empty() ? std::optional(own_allowance().cores) : number_of<uint32_t>(jobs_);
  if (!jobs || *jobs == 0 || *jobs > kMostJobs) {
    return Error{Code::bad_argument, "-j wants a number of processes from 1 to 1024, got '" + jobs_ + "'"};
  }
  search.jobs = *jobs;
  if (!codes_.empty()) search.codes = codes_;
  if (search.codes.find_first_not_of("0123456789,") != std::string::npos) {
    return bad_flag("codes", codes_, "exit codes, as in 0,3");
  }
  search.shrink = shrink_;
  out.search = search;
  return {};
}

Status RehearsalFlags::take(RunOptions& out) const {
  const char* const kHosts = "all its hosts are in this process; --hosts N sets their number";
  const char* const kPage = "it has no page";
  const char* const kNetwork = "its network is in memory";
  const std::tuple<const char*, bool, const char*> refused[] = {
      {"--isolate", out.isolate, kHosts},
      {"--nnodes", out.placement.nnodes.has_value(), kHosts},
      {"--node-rank", out.placement.node_rank.has_value(), kHosts},
      {"--rdzv-endpoint", out.placement.rdzv_endpoint.has_value(), kHosts},
      {"--dashboard", out.dashboard, kPage},
      {"--metrics", out.metrics, kPage},
      {"--record FILE.jsonl", out.records_states(), kPage},
      {"--record DIR/", out.records_events(), kPage},
      {"--token-file", !out.token_file.empty(), kNetwork},
      {"--tls-cert", !out.tls_cert.empty(), kNetwork},
      {"--tls-key", !out.tls_key.empty(), kNetwork},
      {"--tls-ca", !out.tls_ca.empty(), kNetwork}};
  for (const auto& [flag, given, why] : refused) {
    if (given) return Error{Code::bad_argument, std::string(flag) + " has no meaning in a rehearsal: " + why};
  }
  RehearsalOptions& rehearsal = *out.rehearsal;
  if (!hosts_.empty()) {
    const auto hosts = number_of<uint32_t>(hosts_);
    if (!hosts || *hosts == 0 || *hosts > kMostHosts) {
      return bad_flag("hosts", hosts_, "a number of hosts from 1 to " + std::to_string(kMostHosts));
    }
    rehearsal.hosts = *hosts;
  }
  if (!order_.empty()) {
    rehearsal.order = number_of<uint64_t>(order_);
    if (!rehearsal.order) return bad_flag("order", order_, "a whole number of 0 or more");
  }
  if (faults_.ends_with(".lua")) {
    rehearsal.fault_file = faults_;
  } else if (!faults_.empty()) {
    AH_LET(rehearsal.faults, rehearsal::FaultSettings::parse(faults_));
  }
  if (!straggler_.empty()) {
    AH_LET(rehearsal.stragglers, Stragglers::parse(straggler_));
  }
  if (!churn_.empty()) {
    AH_LET(const Churn churn, Churn::parse(churn_));
    rehearsal.faults.kinds.push_back({rehearsal::FaultKind::join, 0, churn.joins});
    rehearsal.faults.kinds.push_back({rehearsal::FaultKind::kill, 0, churn.leaves});
  }
  AH_TRY(take_search(rehearsal));
  if (!network_.empty()) {
    AH_LET(rehearsal.network, rehearsal::NetworkShape::parse(network_));
    const auto& own = rehearsal.network.hosts_of_own;
    if (!own.empty() && own.rbegin()->first >= rehearsal.hosts) {
      return Error{Code::bad_argument, "--network: " + network_ + " names host " + std::to_string(own.rbegin()->first) +
                                           ", but the hosts are 0 to " + std::to_string(rehearsal.hosts - 1)};
    }
  }
  for (const auto& [flag, text, value, least] :
       {std::tuple{"virtual-seconds", &virtual_seconds_, &rehearsal.virtual_seconds, 1e-6},
        {"compute", &compute_, &rehearsal.compute, 0.0}}) {
    if (text->empty()) continue;
    const auto seconds = number_of<double>(*text);
    if (!seconds || !(*seconds >= least) || *seconds > kMostSeconds) {
      return bad_flag(flag, *text, least > 0 ? "a number of seconds above 0" : "a number of 0 or more");
    }
    *value = *seconds;
  }
  rehearsal.threads = threads_;
  rehearsal.events = events_;
  rehearsal.save_faults = save_faults_;
  rehearsal.chart = chart_;
  if (!out.placement.nproc_per_node) out.placement.nproc_per_node = "1";
  if (!out.threads_per_node) out.threads_per_node = 1;
  if (!out.memory) out.memory = kMemory;
  if (!out.seed) out.seed = 1;
  out.insecure = true;
  out.progress = false;
  return {};
}

}  // namespace actorhost
