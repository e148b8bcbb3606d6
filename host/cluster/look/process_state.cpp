#include "host/cluster/look/process_state.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <set>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "host/base/names.hpp"

namespace actorhost {

namespace {

using nlohmann::json;

constexpr std::array<const char*, 4> kStateNames = {"starting", "computing", "waiting", "ended"};

constexpr double kStreamCell = 0.05;  // seconds

/// A node's recent spans, in seconds since `begun`: each [name, category, number, begin, end].
json spans_report(SpanRing::Snapshot&& snapshot, double now, double begun) {
  json list = json::array();
  for (TimeSpan& span : snapshot.spans) {
    list.push_back({std::move(span.name), std::move(span.category), span.number, span.begin - begun, span.end - begun});
  }
  return {{"first", snapshot.first}, {"at", now - begun}, {"list", std::move(list)}};
}

/// Returns the nodes that the wanted sections with this prefix name: "worker 3" for "stream:worker 3".
std::set<std::string> named_nodes(const std::vector<std::string>& wanted, std::string_view prefix) {
  std::set<std::string> out;
  for (const std::string& name : wanted) {
    if (name.starts_with(prefix)) out.insert(name.substr(prefix.size()));
  }
  return out;
}

std::string node_key(Address address) {
  return (is_server(address) ? "server " : "worker ") + std::to_string(address_index(address));
}

/// The resident memory of this process in bytes.
uint64_t resident_bytes() {
  unsigned long long pages = 0;
  unsigned long long resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  const bool read = std::fscanf(file, "%llu %llu", &pages, &resident) == 2;
  std::fclose(file);
  return read ? resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

}  // namespace

void add_histogram(json& into, const Histogram& histogram) {
  json own = {
      {"bounds", json::array()}, {"counts", json::array()}, {"sum", histogram.sum()}, {"count", histogram.count()}};
  for (size_t i = 0; i < Histogram::kBuckets; ++i) {
    if (i + 1 < Histogram::kBuckets) own["bounds"].push_back(histogram.bound(i));
    own["counts"].push_back(histogram.count(i));
  }
  add_histogram(into, own);
}

void add_histogram(json& into, const json& other) {
  const json counts = other.value("counts", json());
  if (into.is_null() && counts.is_array()) {
    into = other;
    return;
  }
  if (!counts.is_array() || counts.size() != into["counts"].size()) return;
  const auto number = [](const json& value) { return value.is_number() ? value.get<double>() : 0; };
  const auto whole = [](const json& value) { return value.is_number_unsigned() ? value.get<uint64_t>() : 0; };
  for (size_t i = 0; i < counts.size(); ++i) into["counts"][i] = whole(into["counts"][i]) + whole(counts[i]);
  into["sum"] = number(into["sum"]) + number(other.value("sum", json()));
  into["count"] = whole(into["count"]) + whole(other.value("count", json()));
}

ProcessState::ProcessState(const Clock& clock) : clock_(clock), begun_(clock.now()) {}
ProcessState::~ProcessState() = default;

std::shared_ptr<NodeStats> ProcessState::add_node(Address address, std::function<size_t()> queue_length) {
  auto stats = std::make_shared<NodeStats>(clock_);
  std::lock_guard lock(nodes_mutex_);
  // The servers of a new run replace the servers of the previous run.
  std::erase_if(nodes_, [address](const Entry& entry) { return entry.address == address; });
  nodes_.push_back({address, stats, std::move(queue_length), clock_.now()});
  return stats;
}

void ProcessState::section(const std::string& name, Section fill) {
  std::lock_guard lock(sections_mutex_);
  sections_[name] = std::move(fill);
}

void ProcessState::drop(const std::string& name) {
  std::lock_guard lock(sections_mutex_);
  sections_.erase(name);
}

json ProcessState::node_report(const Entry& entry, double now) const {
  const NodeStats& stats = *entry.stats;
  const NodeStats::Snapshot snapshot = stats.snapshot();
  const NodeStats::State state = snapshot.state;
  const double since = now - snapshot.since;
  json out = {{"id", address_index(entry.address)},
              {"role", is_server(entry.address) ? "server" : "worker"},
              {"state", name_of(kStateNames, state)},
              {"since", state == NodeStats::State::starting ? now - entry.begun : std::max(0.0, since)},
              {"seconds", (state == NodeStats::State::ended ? snapshot.since : now) - entry.begun},
              {"queue", entry.queue_length ? entry.queue_length() : 0},
              {"sent", static_cast<uint64_t>(stats.message_bytes.sum()) + stats.courier.bytes_sent.get()},
              {"received", stats.bytes_received.get() + stats.courier.bytes_received.get()},
              {"frames_sent", stats.message_bytes.count() + stats.courier.frames_sent.get()},
              {"frames_received", stats.frames_received.get() + stats.courier.frames_received.get()},
              {"lua_bytes", stats.lua_bytes.get()}};
  if (is_server(entry.address)) {
    out["shard"] = address_index(entry.address);
  } else {
    out.update({{"step", stats.step.get()},
                {"updates", stats.updates.get()},
                {"calls", stats.calls.get()},
                {"tasks", stats.tasks.get()}});
  }
  out["wait"] = json::object();
  for (size_t i = 0; i < kCauseNames.size(); ++i) {
    const auto cause = static_cast<Cause>(i);
    double seconds = snapshot.waited[i];
    if (state == NodeStats::State::waiting && snapshot.call.cause == cause) seconds += std::max(0.0, since);
    if (cause == Cause::sleep) {
      out["slept"] = seconds;
    } else if (seconds > 0) {
      out["wait"][kCauseNames[i]] = seconds;
    }
  }
  if (state == NodeStats::State::waiting) {
    out["cause"] = kCauseNames[static_cast<size_t>(snapshot.call.cause)];
    if (auto awaited = stats.awaited(); !awaited.ids.empty()) {
      out["for"] = std::move(awaited.ids);
      out["since"] = std::max(since, now - awaited.since);
    }
  }
  if (snapshot.call.name != nullptr && state != NodeStats::State::ended) out["what"] = snapshot.call.name;
  if (snapshot.call.with_all) out["with_all"] = true;
  auto [action, where] = stats.action();
  if (!action.empty()) {
    out["action"] = std::move(action);
    out["where"] = std::move(where);
  }
  return out;
}

/// The recent spans of a node in cells of time, for a stream of bounded size. A span belongs to the cell of its end.
/// Shorter spans than a cell become one span for each name and cell. The report contains the complete cells from
/// `first` to `next` - 1. A reader that stores `next` takes each cell once.
json ProcessState::stream_report(Entry& entry, double now) const {
  const auto cell_of = [this](double time) { return static_cast<int64_t>(std::floor((time - begun_) / kStreamCell)); };
  SpanRing::Snapshot recent = entry.stats->poll_spans();
  if (now > entry.streamed_at + SpanRing::kPatience) entry.streams_from = now;
  entry.streamed_at = now;
  double from = std::max(entry.streams_from, now - SpanRing::kRetainedSeconds);
  if (recent.spans.size() >= SpanRing::kMaxSpans) from = std::max(from, recent.spans.front().end);
  const int64_t first = cell_of(from) + 1;
  const int64_t next = std::max(first, cell_of(now));
  json list = json::array();
  std::map<std::string, size_t> joined;  // by name: the row of the current cell
  int64_t current = first;
  for (TimeSpan& span : recent.spans) {
    const int64_t cell = cell_of(span.end);
    if (cell < first || cell >= next) continue;
    if (cell != current) joined.clear();
    current = cell;
    const double seconds = span.end - span.begin;
    if (seconds < kStreamCell) {
      if (const auto at = joined.find(span.name); at != joined.end()) {
        json& row = list[at->second];
        row[4] = row[4].get<double>() + seconds;
        continue;
      }
      joined[span.name] = list.size();
    }
    list.push_back({span.name, span.category, cell, span.begin - begun_, span.end - begun_});
  }
  return {{"first", first}, {"next", next}, {"width", kStreamCell}, {"at", now - begun_}, {"list", std::move(list)}};
}

json ProcessState::report(const std::vector<std::string>& wanted) const {
  const double now = clock_.now();
  json out = {{"t", now - begun_}, {"rss", resident_bytes()}, {"cpu", cpu_seconds()}, {"nodes", json::array()}};
  {
    std::lock_guard lock(nodes_mutex_);
    for (const Entry& entry : nodes_) out["nodes"].push_back(node_report(entry, now));
  }
  const auto is_wanted = [&](const char* name) {
    return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  if (is_wanted("trace")) {
    std::lock_guard lock(nodes_mutex_);
    for (size_t i = 0; i < nodes_.size() && i < out["nodes"].size(); ++i) {
      out["nodes"][i]["spans"] = spans_report(nodes_[i].stats->poll_spans(), now, begun_);
    }
  }
  if (const auto streams = named_nodes(wanted, "stream:"), outputs = named_nodes(wanted, "output:");
      !streams.empty() || !outputs.empty()) {
    std::lock_guard lock(nodes_mutex_);
    for (size_t i = 0; i < nodes_.size() && i < out["nodes"].size(); ++i) {
      const std::string key = node_key(nodes_[i].address);
      if (streams.contains(key)) out["nodes"][i]["stream"] = stream_report(nodes_[i], now);
      if (outputs.contains(key)) out["nodes"][i]["output"] = nodes_[i].stats->output();
    }
  }
  if (is_wanted("histograms")) {
    std::lock_guard lock(nodes_mutex_);
    for (const Entry& entry : nodes_) {
      add_histogram(out["histograms"]["wait_seconds"], entry.stats->wait_seconds);
      add_histogram(out["histograms"]["message_bytes"], entry.stats->message_bytes);
    }
  }
  std::lock_guard lock(sections_mutex_);
  for (const std::string& name : wanted) {
    if (const auto at = sections_.find(name); at != sections_.end()) at->second(out);
  }
  return out;
}

}  // namespace actorhost
