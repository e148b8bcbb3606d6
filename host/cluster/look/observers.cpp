#include "host/cluster/look/observers.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "host/base/outside_json.hpp"
#include "host/cluster/look/straggler.hpp"

namespace actorhost {

namespace {

using nlohmann::json;

constexpr size_t kMostLost = 1000;    // most rows of lost nodes
constexpr size_t kMostChanges = 200;  // most membership changes
constexpr double kShareSeconds = 5;   // shortest interval for finding the straggler

/// Appends arrays and merges objects; of two numbers or texts the first stays.
void merge(json& into, json&& from) {
  for (auto& [name, value] : from.items()) {
    json& here = into[name];
    if (here.is_null()) {
      here = std::move(value);
    } else if (here.is_array() && value.is_array()) {
      for (json& item : value) here.push_back(std::move(item));
    } else if (here.is_object() && value.is_object()) {
      merge(here, std::move(value));
    }
  }
}

/// In a run of peers each process reports its own workers: merges the rows of one run.
void join_barrier(json& rows, json&& row) {
  if (!row.is_object()) return;
  for (json& here : rows) {
    if (here["run"] != row.value("run", json())) continue;
    for (const char* count : {"passed", "refused"}) {
      const json more = row.value(count, json());
      if (more.is_number_unsigned() && here.value(count, json()).is_number_unsigned()) {
        here[count] = here[count].get<uint64_t>() + more.get<uint64_t>();
      }
    }
    merge(here, std::move(row));
    return;
  }
  rows.push_back(std::move(row));
}

/// Seconds of a node's waits with the causes that count.
double waited(const json& node, const std::function<bool(const std::string& cause)>& counts) {
  double sum = 0;
  for (const auto& [cause, seconds] : node.at("wait").items()) {
    if (seconds.is_number() && counts(cause)) sum += seconds.get<double>();
  }
  return sum;
}

bool meets_others(const std::string& cause) {
  return cause == "server" || cause == "peer" || cause == "collective" || cause == "action";
}

bool is_node_row(const json& row) {
  return row.is_object() && row.value("id", json()).is_number() && row.value("role", json()).is_string() &&
         row.value("state", json()).is_string() && row.value("wait", json()).is_object() &&
         row.value("seconds", json()).is_number() &&
         (row["role"] == "server" ||
          (row.value("step", json()).is_number_unsigned() && row.value("calls", json()).is_number_unsigned()));
}

}  // namespace

Observers::Observers(Sources sources) : sources_(std::move(sources)), lost_(std::make_unique<json>(json::array())) {}
Observers::~Observers() = default;

void Observers::request_state(const std::vector<std::string>& sections, Callback callback, double now) {
  const uint32_t number = ++number_;
  Observation observation{std::move(callback), {}, {}, now + kReportSeconds, now};
  const MembershipPtr table = sources_.membership();
  const std::set<ProcessId> silent = sources_.suspected();
  for (const ProcessInfo& info : table->processes()) {
    if (info.process == sources_.self()) continue;
    if (sources_.request_report(info.process, number, sections) && !silent.contains(info.process))
      observation.missing.insert(info.process);
  }
  observation.reports[sources_.self()] = std::make_unique<json>(sources_.state.report(sections));
  if (observation.missing.empty()) return observation.callback(merged(observation, now));
  observations_.emplace(number, std::move(observation));
}

void Observers::on_report(ProcessId process, uint32_t number, std::string_view text, double now) {
  const auto at = observations_.find(number);
  if (at == observations_.end() || at->second.missing.erase(process) == 0) return;
  latency_seconds_.add(now - at->second.requested_at);
  json report = parse_outside_json(text);
  if (report.is_object() && report.value("nodes", json()).is_array()) {
    at->second.reports[process] = std::make_unique<json>(std::move(report));
  }
  if (!at->second.missing.empty()) return;
  const Observation observation = std::move(at->second);
  observations_.erase(at);
  observation.callback(merged(observation, now));
}

void Observers::note(uint64_t epoch, std::string text) {
  changes_.push_back({sources_.state.age(), epoch, std::move(text)});
  if (changes_.size() > kMostChanges) changes_.pop_front();
}

void Observers::on_members(const Membership& before, const Membership& after) {
  std::erase_if(seen_, [&](const auto& one) { return after.process(one.first) == nullptr; });
  std::string joined;
  for (const ProcessInfo& info : after.processes()) {
    if (before.process(info.process) == nullptr) joined += (joined.empty() ? "; joined: " : ", ") + info.host;
  }
  const auto count = [](size_t n, const std::string& one, const char* more) {
    return std::to_string(n) + " " + one + (n == 1 ? "" : more);
  };
  note(after.epoch(), count(after.size(), "worker", "s") + ", " + count(after.processes().size(), "process", "es") +
                          (before.epoch() == 0 ? "" : joined));
}

void Observers::add_members(json& out) const {
  for (const Change& change : changes_) {
    out["members"].push_back({{"t", change.time}, {"epoch", change.epoch}, {"text", change.text}});
  }
}

void Observers::on_lost(const std::string& host, const std::vector<NodeId>& workers, const std::string& reason) {
  note(sources_.membership()->epoch(), host + " is lost with " + std::to_string(workers.size()) +
                                           (workers.size() == 1 ? " worker: " : " workers: ") + reason);
  for (const NodeId id : workers) {
    if (lost_->size() >= kMostLost) lost_->erase(lost_->begin());
    json row = last_row(id);
    row["name"] = "worker " + std::to_string(id);
    row["state"] = "lost";
    row["host"] = host;
    row["lost_at"] = sources_.state.age();
    row["reason"] = reason;
    lost_->push_back(std::move(row));
  }
}

/// The last reported row of a worker, without its state at that time.
json Observers::last_row(NodeId worker) const {
  for (const auto& [process, rows] : seen_) {
    for (const json& row : *rows) {
      if (row["id"] == worker && row["role"] == "worker") return row;
    }
  }
  return {{"id", worker}, {"role", "worker"}};
}

/// Stores the rows of a process's report.
void Observers::note_rows(ProcessId process, json rows) {
  for (json& row : rows) {
    for (const char* now : {"state", "since", "cause", "what", "queue", "for", "spans", "stream"}) row.erase(now);
  }
  seen_[process] = std::make_unique<json>(std::move(rows));
}

/// Adds the rows of a process that has not reported in time: the last reported rows of its nodes.
void Observers::add_silent(json& nodes, const ProcessInfo& info, double now) const {
  json rows = json::array();
  if (const auto seen = seen_.find(info.process); seen != seen_.end()) rows = *seen->second;
  if (rows.empty()) {
    for (const Member& member : sources_.membership()->workers()) {
      if (member.process == info.process) rows.push_back({{"id", member.id}, {"role", "worker"}});
    }
  }
  for (json& row : rows) {
    row["state"] = "silent";
    row["since"] = age_of(info.process, now);
    name_node(row, info);
    nodes.push_back(std::move(row));
  }
}

void Observers::tick(double now) {
  for (auto at = observations_.begin(); at != observations_.end();) {
    if (now < at->second.deadline) {
      ++at;
      continue;
    }
    const Observation observation = std::move(at->second);
    at = observations_.erase(at);
    observation.callback(merged(observation, now));
  }
}

double Observers::next_time() const {
  double next = kForever;
  for (const auto& [number, observation] : observations_) next = std::min(next, observation.deadline);
  return next;
}

/// Seconds since the last frame of a process; null if its link has closed.
json Observers::age_of(ProcessId process, double now) const {
  const double last = sources_.last_frame(process);
  return last > 0 ? json(std::max(0.0, now - last)) : json();
}

json Observers::host_row(const ProcessInfo& info, const Observation& observation, double now) const {
  json row = {{"process", info.process}, {"host", info.host}, {"url", info.url}, {"silent", false}, {"age", 0.0}};
  if (info.process != sources_.self()) row["age"] = age_of(info.process, now);
  const auto report = observation.reports.find(info.process);
  if (report == observation.reports.end()) {
    row["silent"] = true;
    return row;
  }
  for (const char* name : {"rss", "cpu"}) row[name] = report->second->value(name, json());
  return row;
}

void Observers::name_node(json& node, const ProcessInfo& info) const {
  node["process"] = info.process;
  node["host"] = info.host;
  const auto id = node["id"].get<NodeId>();
  if (node["role"] == "server") {
    node["name"] = "server " + std::to_string(id);
    return;
  }
  const auto rank = sources_.membership()->rank_of(id);
  node["name"] = rank ? "rank " + std::to_string(*rank) : "worker " + std::to_string(id);
  if (rank) node["rank"] = *rank;
}

/// Marks the straggler by the workers' waits since an earlier request some seconds ago, or since the start.
void Observers::mark_straggler(json& nodes, double now) {
  const bool note = now >= latest_.at + kShareSeconds;
  if (note) before_ = std::exchange(latest_, {now});
  std::vector<WaitShare> together;
  std::vector<WaitShare> in_all;
  for (const json& node : nodes) {
    if (!node.contains("rank") || node["state"] == "silent" || node["state"] == "ended") continue;
    const auto id = node["id"].get<NodeId>();
    const Share share{waited(node, meets_others), waited(node, [](const std::string&) { return true; }),
                      node["seconds"].get<double>()};
    const auto before = before_.of.find(id);
    const Share base = before == before_.of.end() ? Share{0, 0, 0} : before->second;
    const double seconds = share.seconds - base.seconds;
    const auto step = node["step"].get<uint64_t>();
    together.push_back({id, share.together - base.together, seconds, step});
    in_all.push_back({id, share.in_all - base.in_all, seconds, step});
    if (note) latest_.of[id] = share;
  }
  // A worker that waits for a lock or an event in its step delays the workers that wait for it after their steps.
  auto slow = straggler_of(together);
  if (!slow) slow = straggler_of(in_all);
  for (json& node : nodes) {
    if (slow && node.contains("rank") && node["id"] == *slow) node["straggler"] = true;
  }
}

/// The collective that the foremost workers wait in, with the missing workers: {what, calls, missing: ids}; null if
/// there is none.
json Observers::collective_of(const json& nodes) {
  uint64_t most = 0;
  const json* foremost = nullptr;
  for (const json& node : nodes) {
    if (node["role"] != "worker" || node["state"] != "waiting" || node.value("with_all", json()) != true) continue;
    if (foremost != nullptr && node["calls"].get<uint64_t>() <= most) continue;
    most = node["calls"].get<uint64_t>();
    foremost = &node;
  }
  if (foremost == nullptr) return nullptr;
  json missing = json::array();
  for (const json& node : nodes) {
    if (node["role"] != "worker" || node["state"] == "lost" || node["state"] == "ended") continue;
    if (node.value("what", json()) == "joining") continue;  // it waits to be admitted
    if (!node.contains("calls") || node["calls"].get<uint64_t>() < most) missing.push_back(node["id"]);
  }
  if (missing.empty()) return nullptr;
  return {{"what", foremost->value("what", json())}, {"calls", most}, {"missing", std::move(missing)}};
}

std::string Observers::merged(const Observation& observation, double now) {
  json out = {{"hosts", json::array()}, {"nodes", json::array()}};
  const MembershipPtr table = sources_.membership();
  json nodes = *lost_;
  std::vector<ProcessInfo> processes = table->processes();
  if (processes.empty()) processes.push_back({0, "", ""});  // the run has not started
  for (const ProcessInfo& info : processes) {
    out["hosts"].push_back(host_row(info, observation, now));
    const auto at = observation.reports.find(info.process);
    if (at == observation.reports.end()) {
      add_silent(nodes, info, now);
      continue;
    }
    json report = *at->second;
    json rows = json::array();
    for (json& node : report["nodes"]) {
      if (is_node_row(node)) rows.push_back(std::move(node));
    }
    if (info.process != sources_.self()) note_rows(info.process, rows);
    for (json& node : rows) {
      name_node(node, info);
      nodes.push_back(std::move(node));
    }
    for (const char* own : {"nodes", "rss", "cpu", "t"}) report.erase(own);
    if (const json sizes = report.value("histograms", json()); sizes.is_object()) {
      for (const auto& [name, histogram] : sizes.items()) add_histogram(out["histograms"][name], histogram);
      report.erase("histograms");
    }
    if (json barriers = report.value("barrier", json()); barriers.is_array()) {
      for (json& row : barriers) join_barrier(out["barrier"], std::move(row));
      report.erase("barrier");
    }
    merge(out, std::move(report));
  }
  if (out.contains("histograms")) add_histogram(out["histograms"]["latency_seconds"], latency_seconds_);
  mark_straggler(nodes, now);
  if (json waits = collective_of(nodes); !waits.is_null()) out["collective"] = std::move(waits);
  out["nodes"] = std::move(nodes);
  json run = {{"epoch", table->epoch()}, {"size", table->size()}, {"t", sources_.state.age()}};
  sources_.describe_run(run);
  out["run"] = std::move(run);
  return json_text(out);
}

}  // namespace actorhost
