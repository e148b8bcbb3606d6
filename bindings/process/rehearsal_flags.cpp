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
  app.add_option("--hosts", hosts_, "simulated hosts (1), each with -n nodes (1)")->type_name("N");
  app.add_option("--order", order_, "seed of the order of all events (--seed's)")->type_name("N");
  app.add_option(both_spellings("--virtual-seconds"), virtual_seconds_,
                 "ends the rehearsal at that virtual time, with exit code 98 (3600)")
      ->type_name("T");
  app.add_option("--jitter", jitter_, "seconds, maximum of the random part of a write's latency (0.0003)")
      ->type_name("T");
  app.add_option("--breaks", breaks_, "breaks this number of connections at random times (0)")->type_name("N");
  app.add_option(both_spellings("--break-within"), break_within_,
                 "seconds after the first connection in which the breaks happen (0.5)")
      ->type_name("T");
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
    const auto hosts = parse_number<uint32_t>(hosts_);
    if (!hosts || *hosts == 0 || *hosts > kMostHosts) {
      return bad_flag("hosts", hosts_, "a number of hosts from 1 to " + std::to_string(kMostHosts));
    }
    rehearsal.hosts = *hosts;
  }
  if (!order_.empty()) {
    rehearsal.order = parse_number<uint64_t>(order_);
    if (!rehearsal.order) return bad_flag("order", order_, "a whole number of 0 or more");
  }
  if (!breaks_.empty()) {
    const auto breaks = parse_number<uint32_t>(breaks_);
    if (!breaks) return bad_flag("breaks", breaks_, "a whole number of 0 or more");
    rehearsal.breaks = *breaks;
  }
  for (const auto& [flag, text, value, least] :
       {std::tuple{"virtual-seconds", &virtual_seconds_, &rehearsal.virtual_seconds, 1e-6},
        {"jitter", &jitter_, &rehearsal.jitter, 0.0},
        {"break-within", &break_within_, &rehearsal.break_within, 1e-9}}) {
    if (text->empty()) continue;
    const auto seconds = parse_number<double>(*text);
    if (!seconds || !(*seconds >= least) || *seconds > kMostSeconds) {
      return bad_flag(flag, *text, least > 0 ? "a number of seconds above 0" : "a number of seconds of 0 or more");
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
