#pragma once
// The command line of `actorhost run` and `actorhost agent` as plain values, checked without a cluster. All flags are
// in one table. The coordinator's `shared_settings` apply to all hosts.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bindings/process/rehearsal_options.hpp"
#include "host/base/clock.hpp"
#include "host/base/distribution.hpp"
#include "host/base/log.hpp"
#include "host/base/result.hpp"
#include "host/cluster/place/rank_detect.hpp"
#include "host/engine/peer/key_groups.hpp"
#include "host/page/page_address.hpp"

namespace actorhost {

/// `--inject`: heterogeneity for experiments.
struct Injection {
  double straggler_share = 0;   // share of slow workers, 0..1
  double straggler_factor = 1;  // factor on the time of each push
  Distribution delay;           // seconds before each push

  static Result<Injection> parse(const std::string& text);
  bool any() const { return straggler_share > 0 || !delay.zero(); }
};

/// Default limit for one round of answers of a barrier rule in Lua.
inline constexpr double kRuleSeconds = 10;

struct RunOptions {
  bool agent = false;
  std::optional<RehearsalOptions> rehearsal;
  bool once = false;  // agent: leave after one job
  bool stay = false;  // agent: wait for jobs until a signal arrives
  std::string script;
  std::vector<std::string> args;

  PlacementFlags placement;
  bool isolate = false;
  double start_timeout = 60;
  double grace = 20;  // seconds after SIGTERM for a last checkpoint

  std::string barrier;
  std::string merge;
  std::string attack;
  /// The flags that modules of the standard library parse, with their values.
  std::map<std::string, std::string> policies() const {
    return {{"barrier", barrier}, {"merge", merge}, {"attack", attack}};
  }
  std::string resample;
  std::optional<std::string> resume;  // the folder; empty: the folder of --checkpoint
  std::string checkpoint;
  std::optional<double> seconds;
  double rule_timeout = kRuleSeconds;
  double callback_timeout = kForever;  // limit for other callbacks that all workers wait for
  uint32_t servers = 1;
  uint32_t replicas = kReplicas;  // of each key of peers
  std::optional<uint64_t> seed;
  std::string inject_text;
  Injection inject;
  std::string record;                        // the trace file
  bool dashboard = false;                    // serve the page
  bool metrics = false;                      // serve /metrics
  std::string page_address = kPageAddress;   // of page and metrics
  std::optional<uint32_t> threads_per_node;  // of kernels; no value: the host divides its cores
  std::optional<uint64_t> memory;  // bytes of map-reduce data on this host; no value: a share of the machine's memory
  uint32_t parallelism = 1;        // initial number of workers, as the coordinator counts
  std::string run_key;             // unique to the run, drawn by the coordinator, the same on every node

  bool print_all = false;
  bool progress = true;
  bool must_be_found = false;  // a run that observers cannot find ends: the console's own cluster
  LogLevel log_level = LogLevel::info;
  bool log_json = false;
  std::string token_file;
  std::string tls_cert, tls_key, tls_ca;
  bool insecure = false;
  bool no_shared_memory = false;

  /// The contents of --record: completed steps, activities of each node, the state each second, or series of numbers.
  bool records_steps() const { return record.ends_with(".csv"); }
  bool records_spans() const { return record.ends_with(".json"); }
  bool records_states() const { return record.ends_with(".jsonl"); }
  bool records_events() const { return record.ends_with("/"); }
  /// The given flags that apply to the whole run: name -> value.
  std::map<std::string, std::string> shared_settings() const;
  /// Replaces these settings by the coordinator's.
  Status apply(const std::map<std::string, std::string>& settings);
};

struct ParsedCommand {
  RunOptions options;
  std::optional<int> exit_code;  // set by --help, --version and usage errors: exit with this code
  std::string output;            // text to print: help and version to stdout, errors to stderr
};

/// A flag as `--help` shows it.
struct FlagText {
  std::string names;  // "-n,--nproc-per-node"
  std::string value;  // the name of its value: "N", "[DIR]" if it may be omitted, "all|first"; empty without a value
  std::string help;
};

/// The flags of `run`, `agent` or `rehearse`; none for a subcommand in Lua.
std::vector<FlagText> flag_texts(const std::string& command);

/// `args` excludes the program's name. A usage error names the flag and its expected values.
ParsedCommand parse_command(const std::vector<std::string>& args);

}  // namespace actorhost
