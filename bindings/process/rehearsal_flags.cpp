#include "bindings/process/rehearsal_flags.hpp"

#include <cstdint>
#include <tuple>

#include <CLI/CLI.hpp>

#include "bindings/process/flag_values.hpp"
#include "bindings/process/run_options.hpp"

namespace actorhost {

namespace {

constexpr uint64_t kMemory = uint64_t{256} << 20;  // of a simulated host, whatever this machine has
constexpr uint32_t kMostHosts = 65'000;
constexpr double kMostSeconds = 1e9;

}  // namespace

void RehearsalFlags::add_to(CLI::App& app) {
  for (const char* refused : {"--isolate", "--nnodes", "--node-rank", "--rdzv-endpoint", "--dashboard", "--metrics",
                              "--token-file", "--tls-cert", "--tls-key", "--tls-ca", "--insecure", "--no-progress"}) {
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
  app.add_option("--jitter", jitter_, "seconds, maximum of the random part of a write's latency (0.0003)")
      ->type_name("T");
  app.add_option(
         "--faults", faults_,
         "kill=1/min,restart=5s,stall=2:500ms,partition=1/10s:3s,one-way=1,break=4,within=20s: a number of "
         "faults or a rate of each kind, the durations (5s), when killed hosts start again (never), and the time "
         "in which faults begin (10s)")
      ->type_name("SPEC");
  app.add_flag(both_spellings("--as-threads"), threads_,
               "runs each task on a thread, for a debugger; without it tasks are fibres, which are faster");
  app.add_option("--events", events_, "writes each event of the rehearsal to a file, to find where two runs differ")
      ->type_name("FILE");
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
  if (!faults_.empty()) {
    AH_LET(rehearsal.faults, rehearsal::FaultSettings::parse(faults_));
  }
  for (const auto& [flag, text, value, least] :
       {std::tuple{"virtual-seconds", &virtual_seconds_, &rehearsal.virtual_seconds, 1e-6},
        {"compute", &compute_, &rehearsal.compute, 0.0},
        {"jitter", &jitter_, &rehearsal.jitter, 0.0}}) {
    if (text->empty()) continue;
    const auto seconds = number_of<double>(*text);
    if (!seconds || !(*seconds >= least) || *seconds > kMostSeconds) {
      return bad_flag(flag, *text, least > 0 ? "a number of seconds above 0" : "a number of 0 or more");
    }
    *value = *seconds;
  }
  rehearsal.threads = threads_;
  rehearsal.events = events_;
  if (!out.placement.nproc_per_node) out.placement.nproc_per_node = "1";
  if (!out.threads_per_node) out.threads_per_node = 1;
  if (!out.memory) out.memory = kMemory;
  if (!out.seed) out.seed = 1;
  out.insecure = true;
  out.progress = false;
  return {};
}

}  // namespace actorhost
