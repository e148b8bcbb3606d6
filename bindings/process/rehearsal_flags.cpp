#include "bindings/process/rehearsal_flags.hpp"

#include <cstdint>
#include <tuple>
#include <utility>

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
  app.add_option("--hosts", hosts_, "simulated hosts (3), each with -n nodes (1)")->type_name("N");
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
  const std::pair<const char*, bool> refused[] = {{"--isolate", out.isolate},
                                                  {"--nnodes", out.placement.nnodes.has_value()},
                                                  {"--node-rank", out.placement.node_rank.has_value()},
                                                  {"--rdzv-endpoint", out.placement.rdzv_endpoint.has_value()},
                                                  {"--dashboard", out.dashboard},
                                                  {"--metrics", out.metrics},
                                                  {"--tls-cert", !out.tls_cert.empty()},
                                                  {"--tls-ca", !out.tls_ca.empty()}};
  for (const auto& [flag, given] : refused) {
    if (!given) continue;
    return Error{Code::bad_argument, std::string(flag) +
                                         " has no meaning in a rehearsal: all its hosts are in this process; --hosts N "
                                         "sets their number"};
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
