#pragma once
// The command line of `actorhost run` and `actorhost agent`, as plain values, checked as far as that goes without a
// cluster. One table of flags: what the rendezvous host decides for all hosts is in `shared_settings`.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/distribution.hpp"
#include "host/base/log.hpp"
#include "host/base/result.hpp"
#include "host/cluster/rank_detect.hpp"
#include "host/engine/peer/key_groups.hpp"
#include "host/page/page_address.hpp"

namespace actorhost {

/// `--inject`: heterogeneity for experiments.
struct Injection {
  double straggler_share = 0;   // of the workers, 0..1
  double straggler_factor = 1;  // times as long for each push
  Distribution delay;           // seconds before each push

  static Result<Injection> parse(const std::string& text);
  bool any() const { return straggler_share > 0 || !delay.zero(); }
};

/// How long a barrier rule in Lua may take for a round of answers, by default.
inline constexpr double kRuleSeconds = 10;

struct RunOptions {
  bool agent = false;
  bool once = false;  // agent: leave after one job
  std::string script;
  std::vector<std::string> args;

  PlacementFlags placement;
  bool isolate = false;
  double start_timeout = 60;
  double grace = 20;  // seconds after SIGTERM for a last checkpoint

  std::string barrier;
  std::string resample;
  std::optional<std::string> resume;  // the folder, or empty for the one of --checkpoint
  std::string checkpoint;
  std::optional<double> seconds;
  double rule_timeout = kRuleSeconds;
  double callback_timeout = kForever;  // of other callbacks for which all wait
  uint32_t servers = 1;
  uint32_t replicas = kReplicas;  // of each key of peers
  std::optional<uint64_t> seed;
  std::string inject_text;
  Injection inject;
  std::string record;                        // the trace's file
  bool dashboard = false;                    // serve the page
  bool metrics = false;                      // serve /metrics
  std::string page_address = kPageAddress;   // of both
  std::optional<uint32_t> threads_per_node;  // of kernels; not given: the host shares its cores out
  std::optional<uint64_t> memory;  // bytes of map-reduce data on this host; not given: a share of the machine's
  uint32_t parallelism = 1;        // workers that the run begins with, as its rendezvous host reckons
  std::string run_key;             // drawn by the rendezvous host: that of no other run, the same on every node

  bool print_all = false;
  bool progress = true;
  LogLevel log_level = LogLevel::info;
  bool log_json = false;
  std::string token_file;
  std::string tls_cert, tls_key, tls_ca;
  bool insecure = false;

  /// What --record is to say: when steps are completed, what each node does when, or the state each second.
  bool records_steps() const { return record.ends_with(".csv"); }
  bool records_spans() const { return record.ends_with(".json"); }
  bool records_states() const { return record.ends_with(".jsonl"); }
  /// Flags that hold for the whole run: name -> value, only those that were given.
  std::map<std::string, std::string> shared_settings() const;
  /// Takes the rendezvous host's over these.
  Status apply(const std::map<std::string, std::string>& settings);
};

struct ParsedCommand {
  RunOptions options;
  std::optional<int> exit_code;  // --help, --version or a usage error: leave with this
  std::string output;            // what to print then: help and version to stdout, errors to stderr
};

/// `args` without the program's name. A usage error names the flag and what it wants.
ParsedCommand parse_command(const std::vector<std::string>& args);

}  // namespace actorhost
