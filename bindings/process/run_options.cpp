#include "bindings/process/run_options.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>
#include <tuple>

#include <CLI/CLI.hpp>

#include "bindings/process/flag_values.hpp"
#include "bindings/process/rehearsal_flags.hpp"
#include "bindings/process/usage_text.hpp"
#include "bindings/process/version.hpp"
#include "host/base/nearest.hpp"

namespace actorhost {

namespace {

struct RawFlags {
  std::string nodes, nnodes, node_rank, endpoint, run_id;
  std::string resume, dashboard, metrics;  // for --help only: take_flags_with_optional_values reads them
  std::string seed, seconds, log_level = "info", log_format = "text", print, servers, replicas, threads, memory,
                             parallelism, start_timeout, grace, rule_timeout, callback_timeout, join;
  bool no_progress = false;
};

constexpr uint64_t kLeastMemory = uint64_t{16} << 20;

/// "512M": a number of bytes, with K, M, G or T for 2^10, 2^20, ...
std::optional<uint64_t> parse_bytes(std::string text) {
  constexpr std::string_view kUnits = "KMGT";
  int shift = 0;
  if (!text.empty()) {
    const size_t unit = kUnits.find(static_cast<char>(std::toupper(static_cast<unsigned char>(text.back()))));
    if (unit != std::string_view::npos) {
      shift = 10 * (static_cast<int>(unit) + 1);
      text.pop_back();
    }
  }
  const auto number = number_of<double>(text);
  if (!number || !(*number >= 0) || std::ldexp(*number, shift) >= 0x1p62) return std::nullopt;
  return static_cast<uint64_t>(std::ldexp(*number, shift));
}

Status take_numbers(const RawFlags& raw, RunOptions& out) {
  if (!raw.seed.empty()) {
    out.seed = number_of<uint64_t>(raw.seed);
    if (!out.seed || *out.seed > (uint64_t{1} << 53))
      return bad_flag("seed", raw.seed, "a whole number from 0 to 2^53");
  }
  if (!raw.seconds.empty()) {
    out.seconds = number_of<double>(raw.seconds);
    if (!out.seconds || !(*out.seconds > 0) || !std::isfinite(*out.seconds)) {
      return bad_flag("seconds", raw.seconds, "a number of seconds above 0");
    }
  }
  for (const auto& [flag, text, value] : {std::tuple{"start-timeout", &raw.start_timeout, &out.start_timeout},
                                          {"grace", &raw.grace, &out.grace},
                                          {"rule-timeout", &raw.rule_timeout, &out.rule_timeout},
                                          {"callback-timeout", &raw.callback_timeout, &out.callback_timeout}}) {
    if (text->empty()) continue;
    const auto s = number_of<double>(*text);
    if (!s || !(*s > 0) || !std::isfinite(*s)) return bad_flag(flag, *text, "a number of seconds above 0");
    *value = *s;
  }
  if (!raw.servers.empty()) {
    const auto s = number_of<uint32_t>(raw.servers);
    if (!s || *s == 0 || *s > 64) return bad_flag("servers", raw.servers, "a number of shards from 1 to 64");
    out.servers = *s;
  }
  if (!raw.replicas.empty()) {
    const auto r = number_of<uint32_t>(raw.replicas);
    if (!r || *r == 0 || *r > kMostReplicas) {
      return bad_flag("replicas", raw.replicas, "a number of copies from 1 to " + std::to_string(kMostReplicas));
    }
    out.replicas = *r;
  }
  if (!raw.memory.empty()) {
    out.memory = parse_bytes(raw.memory);
    if (!out.memory || *out.memory < kLeastMemory) {
      return bad_flag("memory", raw.memory, "a size of at least 16M, as 512M or 4G");
    }
  }
  if (!raw.parallelism.empty()) out.parallelism = number_of<uint32_t>(raw.parallelism).value_or(1);
  if (!raw.threads.empty()) {
    const auto t = number_of<uint32_t>(raw.threads);
    if (!t || *t == 0 || *t > 256)
      return bad_flag("threads-per-node", raw.threads, "a number of threads from 1 to 256");
    out.threads_per_node = *t;
  }
  return {};
}

Status take_words(const RawFlags& raw, RunOptions& out) {
  parse_log_level(raw.log_level, out.log_level);
  out.log_json = raw.log_format == "json";
  out.print_all = raw.print == "all";
  const bool known_record = out.records_steps() || out.records_spans() || out.records_states() || out.records_events();
  if (!out.record.empty() && !known_record) {
    return bad_flag("record", out.record, "a name that ends in .csv, .json or .jsonl, or a folder that ends in /");
  }
  out.progress = !raw.no_progress;
  if (!out.resample.empty()) {
    const bool poll = out.resample.starts_with("poll:") && number_of<double>(out.resample.substr(5)).value_or(-1) > 0;
    if (out.resample != "event" && out.resample != "sticky" && !poll) {
      return bad_flag("resample", out.resample, "event, sticky or poll:SECONDS");
    }
  }
  if (!out.inject_text.empty()) {
    AH_LET(out.inject, Injection::parse(out.inject_text));
  }
  return {};
}

void add_cluster_flags(CLI::App& app, RawFlags& raw, RunOptions& out) {
  app.add_option("-n,--nproc-per-node,--nproc_per_node,--nproc", raw.nodes,
                 "nodes on this host; auto: one for each core that it may use")
      ->type_name("N|auto");
  app.add_option(both_spellings("--threads-per-node"), raw.threads,
                 "threads for large products of each node (usable cores / nodes, at least 1)")
      ->type_name("N");
  app.add_option("--memory", raw.memory,
                 "memory of this host's nodes for map-reduce data (60 % of their available memory)")
      ->type_name("SIZE");
  app.add_option(both_spellings("--start-timeout"), raw.start_timeout, "seconds to wait for the other hosts (60)")
      ->type_name("S");
  app.add_option(both_spellings("--rdzv-id"), raw.run_id, "name of the run; hosts of another run are refused")
      ->type_name("ID");
  app.add_option(both_spellings("--token-file"), out.token_file,
                 "shared secret (made on first use in the user's configuration folder)")
      ->type_name("FILE");
  app.add_option(both_spellings("--tls-cert"), out.tls_cert, "PEM certificate of this host")->type_name("FILE");
  app.add_option(both_spellings("--tls-key"), out.tls_key, "PEM key of this host")->type_name("FILE");
  app.add_option(both_spellings("--tls-ca"), out.tls_ca, "PEM certificates for checking other hosts")
      ->type_name("FILE");
  app.add_flag("--insecure", out.insecure, "no token (a warning on every start)");
  app.add_flag(both_spellings("--no-shared-memory"), out.no_shared_memory, "connections within this machine too");
  app.add_option(both_spellings("--log-level"), raw.log_level, "least level of the lines that are logged (info)")
      ->type_name("trace|debug|info|warn|error|off");
  app.add_option(both_spellings("--log-format"), raw.log_format,
                 "text, or json: a line is an object with t, level, job, host, who, text, and a worker's rank (text)")
      ->type_name("text|json");
  app.add_option("--print", raw.print, "all: every rank's print, tagged; first: the first live rank's (first)")
      ->type_name("all|first");
  app.add_flag(both_spellings("--no-progress"), raw.no_progress, "no progress bar");
}

void add_run_flags(CLI::App& app, RawFlags& raw, RunOptions& out) {
  app.add_option("--nnodes", raw.nnodes, "hosts to wait for; MIN:MAX: an elastic run")->type_name("N");
  app.add_option(both_spellings("--rdzv-endpoint"), raw.endpoint,
                 "the coordinator's address, the same everywhere; after commas, addresses to join by if it has failed")
      ->type_name("HOST:PORT")
      ->check(not_empty);
  app.add_option(both_spellings("--node-rank"), raw.node_rank, "this host's place; 0 listens")->type_name("K");
  app.add_flag("--isolate", out.isolate, "local nodes as processes instead of threads");
  app.add_option("--barrier", out.barrier, "bsp, asp, ssp:4, pssp:10:4, ..., or FILE.lua[:NAME]")->type_name("RULE");
  app.add_option("--merge", out.merge, "all, mean, drop:2, buffer:8, ..., or FILE.lua[:NAME]")->type_name("RULE");
  app.add_option("--attack", out.attack, "sign, noise, label, lie: wrong pushes, for experiments")
      ->type_name("KIND[:WORKERS[:FACTOR]]");
  app.add_option("--resample", out.resample, "when a sampled barrier draws again")
      ->type_name("event|sticky|poll:SECONDS");
  app.add_option(both_spellings("--rule-timeout"), raw.rule_timeout,
                 "limit for the answers of a barrier rule in Lua (10)")
      ->type_name("S");
  app.add_option(
         both_spellings("--callback-timeout"), raw.callback_timeout,
         "limit for other callbacks that all workers wait for: schedule, pull, ... on a server, pull and init of "
         "peers (no limit)")
      ->type_name("S");
  app.add_option("--servers", raw.servers, "parameter-server shards (1)")->type_name("S");
  app.add_option("--replicas", raw.replicas, "copies of each key of peers, on different hosts if there are enough (3)")
      ->type_name("R");
  app.add_option("--checkpoint", out.checkpoint, "folder for checkpoints, on a disk or s3://BUCKET/KEY")
      ->type_name("DIR");
  app.add_option("--grace", raw.grace, "seconds after SIGTERM for a last checkpoint, if the run has checkpoints (20)")
      ->type_name("S");
  app.add_option("--resume", raw.resume, "continue from the newest complete checkpoint in DIR (--checkpoint's)")
      ->type_name("[DIR]");
  app.add_option("--dashboard", raw.dashboard, std::string("a web page of the run (") + kPageAddress + ")")
      ->type_name("[ADDR]");
  app.add_option("--metrics", raw.metrics, "/metrics for Prometheus, on the same address")->type_name("[ADDR]");
  app.add_option("--seconds", raw.seconds, "stop the engine after that many seconds")->type_name("T");
  app.add_option("--seed", raw.seed, "makes the run reproducible; with --resume the checkpoint's by default")
      ->type_name("N");
  app.add_option("--inject", out.inject_text, "straggler=SHARE:FACTORx,delay=DIST: heterogeneity for experiments")
      ->type_name("SPEC");
  app.add_option(
         "--record", out.record,
         "on the coordinator; FILE.csv: every step; FILE.json: each node's activities, for chrome://tracing or "
         "Perfetto; FILE.jsonl: a state each second; DIR/: the values of actor.report and the steps, for TensorBoard")
      ->type_name("FILE");
}

/// The names of a flag, without the second spellings: "-n,--nproc-per-node".
std::string shown_names(const std::string& names) {
  std::string shown;
  std::istringstream words(names);
  for (std::string name; std::getline(words, name, ',');) {
    if (name.find('_') == std::string::npos) shown += (shown.empty() ? "" : ",") + name;
  }
  return shown;
}

/// Shows one spelling of each flag and omits usage lines, which usage_text() has.
class HelpFormat final : public CLI::Formatter {
 public:
  HelpFormat() { column_width(32); }
  std::string make_usage(const CLI::App*, std::string) const override { return {}; }
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    return shown_names(CLI::Formatter::make_option_name(option, positional));
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string shown = CLI::Formatter::make_option_opts(option);
    return shown.substr(0, shown.find(" Excludes: "));
  }
};

ParsedCommand usage_error(const std::string& message) {
  ParsedCommand command;
  command.exit_code = 2;
  command.output = "actorhost: " + message + "\n" + usage_text() + "run 'actorhost --help' for the flags\n";
  return command;
}

/// The error for a word that is neither a flag of `app` nor a flag's value.
ParsedCommand unknown_flag(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  const std::string name = word.substr(0, word.find('='));
  const std::string bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  return usage_error("unknown flag '" + word + "'" + suggestion(bare, names, "--"));
}

/// Removes a flag and its value at `i` from `args`. The value is optional: the next word is the value only if `may_be`
/// accepts the word.
std::optional<std::string> take_flag(std::vector<std::string>& args, size_t i, const std::string& flag,
                                     bool (*may_be)(const std::string&)) {
  const auto at = args.begin() + static_cast<std::ptrdiff_t>(i);
  std::string value;
  if (at->starts_with(flag + "=")) {
    value = at->substr(flag.size() + 1);
    args.erase(at);
    return value;
  }
  if (*at != flag) return std::nullopt;
  const bool follows = i + 1 < args.size() && may_be(args[i + 1]);
  if (follows) value = args[i + 1];
  args.erase(at, at + (follows ? 2 : 1));
  return value;
}

/// Chooses between `run`, `agent` and `rehearse`; false if the word is another one.
bool choose_command(const std::string& word, RunOptions& out) {
  out.agent = word == "agent";
  if (word == "rehearse") out.rehearsal.emplace();
  return out.agent || out.rehearsal || word == "run";
}

/// The parser of the chosen command, which stores the flags in `raw`, `rehearsal` and the options.
struct CommandLine {
  explicit CommandLine(RunOptions& out);
  RawFlags raw;
  RehearsalFlags rehearsal;
  CLI::App app;
};

CommandLine::CommandLine(RunOptions& out)
    : app(out.agent ? "lends this machine's nodes; jobs' scripts arrive over the network"
          : out.rehearsal
              ? "runs a job on simulated hosts in this process, on virtual time; the same seed gives the same run to "
                "the bit"
              : "runs a job: every node runs the whole script") {
  app.formatter(std::make_shared<HelpFormat>());
  app.name(out.agent ? "actorhost agent" : out.rehearsal ? "actorhost rehearse" : "actorhost");
  app.set_version_flag("--version", std::string("actorhost ") + kVersion);
  app.prefix_command(!out.agent);
  add_cluster_flags(app, raw, out);
  if (out.agent) {
    app.add_option("--join", raw.join, "coordinator's address")->type_name("HOST:PORT")->required()->check(not_empty);
    auto* once = app.add_flag("--once", out.once, "leave after one job");
    app.add_flag("--stay", out.stay, "wait for jobs until SIGTERM or Ctrl-C; each job runs in a process of its own")
        ->excludes(once);
  } else {
    add_run_flags(app, raw, out);
    if (out.rehearsal) rehearsal.add_to(app);
  }
}

/// Refuses values outside the set that a flag's type names: "all|first". Such a set has only small letters.
Status check_words(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string set = option->get_type_name();
    if (option->empty() || set.find_first_not_of("abcdefghijklmnopqrstuvwxyz|") != std::string::npos) continue;
    std::vector<std::string> words = CLI::detail::split(set, '|');
    const std::string value = option->results().back();
    if (words.size() < 2 || std::find(words.begin(), words.end(), value) != words.end()) continue;
    const std::string last = std::move(words.back());
    words.pop_back();
    return bad_flag(option->get_lnames().front(), value, CLI::detail::join(words, ", ") + " or " + last);
  }
  return {};
}

bool may_be_folder(const std::string& word) { return !word.starts_with("-") && !word.ends_with(".lua"); }

/// "8787", "HOST:8787": words that cannot be a script's name.
bool may_be_address(const std::string& word) {
  const size_t port = word.rfind(':') == std::string::npos ? 0 : word.rfind(':') + 1;
  return port < word.size() && word.find_first_not_of("0123456789", port) == std::string::npos;
}

/// Reads the flags with optional values: a following script is not the value. The CLI parser cannot make this
/// distinction.
Status take_flags_with_optional_values(std::vector<std::string>& args, RunOptions& out) {
  std::optional<std::string> address;
  for (size_t i = 0; i < args.size();) {
    const bool of_a_flag = i > 0 && (args[i - 1] == "--barrier" || args[i - 1] == "--merge");
    if (args[i].ends_with(".lua") && !args[i].starts_with("-") && !of_a_flag) break;  // the job: the rest belongs to it
    if (auto folder = take_flag(args, i, "--resume", may_be_folder)) {
      out.resume = std::move(*folder);
      continue;
    }
    bool taken = false;
    for (const auto& [flag, wanted] : {std::pair{"--dashboard", &out.dashboard}, {"--metrics", &out.metrics}}) {
      const auto given = taken ? std::nullopt : take_flag(args, i, flag, may_be_address);
      if (!given) continue;
      taken = *wanted = true;
      if (given->empty()) continue;
      if (address && *address != *given) {
        return Error{Code::bad_argument, "--dashboard and --metrics are served at one address, got '" + *address +
                                             "' and '" + *given + "'"};
      }
      address = given;
    }
    if (!taken) ++i;
  }
  if (!address) return {};
  out.page_address = *address;
  if (const auto parsed = parse_page_address(*address); !parsed) return parsed.error();
  return {};
}

}  // namespace

Result<Injection> Injection::parse(const std::string& text) {
  Injection out;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = at;
    for (int depth = 0; end < text.size() && (depth > 0 || text[end] != ','); ++end) {
      depth += (text[end] == '(') - (text[end] == ')');
    }
    const std::string part = text.substr(at, end - at);
    at = end + 1;
    if (part.starts_with("delay=")) {
      auto delay = Distribution::parse(part.substr(6));
      if (!delay) return Error{Code::bad_argument, "--inject: " + delay.error().message};
      out.delay = std::move(*delay);
    } else if (part.starts_with("straggler=")) {
      const std::string value = part.substr(10);
      const size_t colon = value.find(':');
      std::string factor = colon == std::string::npos ? "" : value.substr(colon + 1);
      if (factor.ends_with("x")) factor.pop_back();
      const auto share = number_of<double>(value.substr(0, colon));
      const auto times = number_of<double>(factor);
      if (!share || !times || !(*share >= 0 && *share <= 1) || !(*times >= 1) || !std::isfinite(*times)) {
        return bad_flag("inject", part, "straggler=SHARE:FACTORx with a share from 0 to 1 and a factor of 1 or more");
      }
      out.straggler_share = *share;
      out.straggler_factor = *times;
    } else {
      return bad_flag("inject", part, "straggler=SHARE:FACTORx or delay=DISTRIBUTION");
    }
  }
  return out;
}

std::map<std::string, std::string> RunOptions::shared_settings() const {
  std::map<std::string, std::string> out;
  if (!barrier.empty()) out["barrier"] = barrier;
  if (!merge.empty()) out["merge"] = merge;
  if (!attack.empty()) out["attack"] = attack;
  if (!resample.empty()) out["resample"] = resample;
  if (!checkpoint.empty()) out["checkpoint"] = checkpoint;
  if (seconds) out["seconds"] = CLI::detail::to_string(*seconds);
  if (rule_timeout != kRuleSeconds) out["rule_timeout"] = CLI::detail::to_string(rule_timeout);
  if (servers != 1) out["servers"] = std::to_string(servers);
  if (replicas != kReplicas) out["replicas"] = std::to_string(replicas);
  if (seed) out["seed"] = std::to_string(*seed);
  if (!inject_text.empty()) out["inject"] = inject_text;
  return out;
}

Status RunOptions::apply(const std::map<std::string, std::string>& settings) {
  const auto get = [&](const char* name) {
    const auto at = settings.find(name);
    return at == settings.end() ? std::string() : at->second;
  };
  RawFlags raw;
  raw.seconds = get("seconds");
  raw.servers = get("servers");
  raw.replicas = get("replicas");
  raw.rule_timeout = get("rule_timeout");
  raw.seed = get("seed");
  raw.parallelism = get("parallelism");
  barrier = get("barrier");
  merge = get("merge");
  attack = get("attack");
  resample = get("resample");
  checkpoint = get("checkpoint");
  run_key = get("run_key");
  inject_text = get("inject");
  inject = {};
  seconds.reset();
  servers = 1;
  replicas = kReplicas;
  rule_timeout = kRuleSeconds;
  AH_TRY(take_numbers(raw, *this));
  if (!inject_text.empty()) {
    AH_LET(inject, Injection::parse(inject_text));
  }
  return {};
}

std::vector<FlagText> flag_texts(const std::string& command) {
  RunOptions options;
  if (!choose_command(command, options)) return {};
  const CommandLine line(options);
  std::vector<FlagText> texts;
  for (const CLI::Option* option : line.app.get_options()) {
    if (option->get_group().empty()) continue;  // not in the help
    texts.push_back({shown_names(option->get_name(false, true)),
                     option->get_type_size() == 0 ? std::string() : option->get_type_name(),
                     option->get_description()});
  }
  return texts;
}

ParsedCommand parse_command(const std::vector<std::string>& given) {
  std::vector<std::string> args = given;
  ParsedCommand command;
  RunOptions& out = command.options;
  if (!args.empty() && choose_command(args[0], out)) args.erase(args.begin());
  CommandLine line(out);
  CLI::App& app = line.app;
  if (!out.agent) {
    if (auto taken = take_flags_with_optional_values(args, out); !taken) return usage_error(taken.error().message);
  }
  try {
    std::vector<std::string> reversed(args.rbegin(), args.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    command.exit_code = 0;
    command.output = usage_text() + "\n" + app.help() + kVariables + kExitCodes;
    return command;
  } catch (const CLI::CallForVersion&) {
    command.exit_code = 0;
    command.output = std::string("actorhost ") + kVersion + "\n";
    return command;
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();  // "--seed: 1 required TEXT missing"
    const char* const what = text.ends_with("missing") ? " wants a value" : " is given twice";
    return usage_error(text.substr(0, text.find(':')) + what);
  } catch (const CLI::ExtrasError&) {
    const std::string word = app.remaining().front();
    return word.starts_with("-") ? unknown_flag(app, word) : usage_error("an agent takes no job, got '" + word + "'");
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what());
  }
  if (auto checked = check_words(app); !checked) return usage_error(checked.error().message);
  const RawFlags& raw = line.raw;
  for (const auto& take : {take_numbers, take_words}) {
    if (auto taken = take(raw, out); !taken) return usage_error(taken.error().message);
  }
  const auto given_or_none = [](const std::string& text) { return text.empty() ? std::nullopt : std::optional(text); };
  out.placement.nproc_per_node = given_or_none(raw.nodes);
  out.placement.nnodes = given_or_none(raw.nnodes);
  out.placement.node_rank = given_or_none(raw.node_rank);
  out.placement.rdzv_endpoint = given_or_none(raw.endpoint);
  out.placement.rdzv_id = given_or_none(raw.run_id);
  if (out.agent) {
    out.placement.rdzv_endpoint = raw.join;
    return command;
  }
  if (out.rehearsal) {
    if (auto taken = line.rehearsal.take(out); !taken) return usage_error(taken.error().message);
  }
  const std::vector<std::string> rest = app.remaining();
  if (rest.empty()) return usage_error("no job given");
  if (rest[0].starts_with("-") && rest[0] != "-") return unknown_flag(app, rest[0]);
  out.script = rest[0];
  out.args.assign(rest.begin() + 1, rest.end());
  return command;
}

}  // namespace actorhost
