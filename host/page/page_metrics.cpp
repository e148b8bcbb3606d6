#include "host/page/page_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "host/page/state_fields.hpp"

namespace actorhost {

namespace {

using nlohmann::json;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

constexpr size_t kMetricKeys = 50;  // keys with the most updates: each key is a series in Prometheus

struct NumberMetric {
  const char* field;
  const char* name;
  MetricType type;
  const char* help;
};

constexpr NumberMetric kRunMetrics[] = {
    {"t", "actorhost_run_seconds_total", MetricType::Counter, "Time since the run's start."},
    {"size", "actorhost_run_workers", MetricType::Gauge, "Workers that the run has."},
    {"epoch", "actorhost_run_epoch", MetricType::Gauge, "Number of the table of members: grows with each change."},
};

constexpr NumberMetric kHostMetrics[] = {
    {"age", "actorhost_host_heartbeat_age_seconds", MetricType::Gauge,
     "Time since the last heartbeat of this process."},
    {"rss", "actorhost_host_resident_memory_bytes", MetricType::Gauge, "Resident memory of this process."},
    {"cpu", "actorhost_host_cpu_seconds_total", MetricType::Counter, "Processor time that this process has used."},
};

constexpr NumberMetric kNodeMetrics[] = {
    {"rank", "actorhost_node_rank", MetricType::Gauge, "Rank of this worker among the workers that are not lost."},
    {"step", "actorhost_node_steps_total", MetricType::Counter, "Steps that this worker has completed: its clock."},
    {"updates", "actorhost_node_updates_total", MetricType::Counter, "Keys that this worker has pushed."},
    {"calls", "actorhost_node_collectives_total", MetricType::Counter, "Collectives that this node has entered."},
    {"tasks", "actorhost_node_tasks_total", MetricType::Counter, "Map-reduce tasks that this node has done."},
    {"seconds", "actorhost_node_running_seconds_total", MetricType::Counter, "Time since this node's script began."},
    {"slept", "actorhost_node_sleep_seconds_total", MetricType::Counter, "Time that this node was in actor.sleep."},
    {"queue", "actorhost_node_mailbox_frames", MetricType::Gauge, "Frames that wait in this node's mailbox."},
    {"lua_bytes", "actorhost_node_lua_memory_bytes", MetricType::Gauge, "Memory of this node's Lua values."},
    {"sent", "actorhost_node_sent_bytes_total", MetricType::Counter, "Bytes that this node has sent."},
    {"received", "actorhost_node_received_bytes_total", MetricType::Counter, "Bytes that this node has received."},
    {"frames_sent", "actorhost_node_sent_frames_total", MetricType::Counter, "Frames that this node has sent."},
    {"frames_received", "actorhost_node_received_frames_total", MetricType::Counter,
     "Frames that this node has received."},
};

struct HistogramMetric {
  const char* field;
  const char* name;
  const char* help;
};

constexpr HistogramMetric kHistograms[] = {
    {"step_seconds", "actorhost_step_duration_seconds", "How long steps of workers take."},
    {"wait_seconds", "actorhost_wait_duration_seconds", "How long single waits of nodes take."},
    {"message_bytes", "actorhost_message_size_bytes", "Sizes of messages between nodes."},
    {"latency_seconds", "actorhost_latency_seconds", "Round-trip time of a state request to another process."},
};

/// Collects metrics by family, in the order in which families first appear.
class Families {
 public:
  void add(MetricType type, const char* name, const char* help, Labels labels, double value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    family(type, name, help).metric.push_back(std::move(metric));
  }
  void gauge(const char* name, const char* help, Labels labels, double value) {
    add(MetricType::Gauge, name, help, std::move(labels), value);
  }
  void add(const NumberMetric& known, const json& object, const Labels& labels) {
    const json& value = field(object, known.field);
    if (value.is_number()) add(known.type, known.name, known.help, labels, value.get<double>());
  }
  void add(const HistogramMetric& known, const json& given);
  std::string serialized() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  MetricFamily& family(MetricType type, const char* name, const char* help) {
    const auto [at, added] = places_.try_emplace(name, families_.size());
    if (added) families_.push_back({name, help, type, {}});
    return families_[at->second];
  }

  std::vector<MetricFamily> families_;
  std::map<std::string, size_t> places_;
};

void Families::add(const HistogramMetric& known, const json& given) {
  const json& bounds = list(given, "bounds");
  const json& counts = list(given, "counts");
  ClientMetric metric;
  uint64_t sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (!counts[i].is_number()) return;
    sum += counts[i].get<uint64_t>();
    const bool bounded = i < bounds.size() && bounds[i].is_number();
    if (bounded) metric.histogram.bucket.push_back({sum, bounds[i].get<double>()});
  }
  metric.histogram.bucket.push_back({sum, std::numeric_limits<double>::infinity()});
  metric.histogram.sample_count = sum;  // the sum of the buckets, whatever was counted since
  metric.histogram.sample_sum = number(given, "sum");
  family(MetricType::Histogram, known.name, known.help).metric.push_back(std::move(metric));
}

/// An integer as a label; empty when the field is missing.
std::string label_of(const json& object, const char* name) {
  const json& value = field(object, name);
  return value.is_number() ? std::to_string(std::llround(value.get<double>())) : "";
}

/// The constant labels of a node. They exclude its rank, so that counters continue when ranks change.
Labels labels_of(const json& node) {
  return {{"node", label_of(node, "id")}, {"role", text(node, "role")}, {"host", text(node, "host")}};
}

Labels with(Labels labels, const char* name, std::string value) {
  labels.push_back({name, std::move(value)});
  return labels;
}

void add_run(const json& state, Families& out) {
  const json& run = field(state, "run");
  out.gauge("actorhost_run_info", "What runs: 1, with the job in labels.",
            {{"job", text(run, "job")}, {"id", text(run, "id")}, {"version", text(run, "version")}}, 1);
  for (const NumberMetric& known : kRunMetrics) out.add(known, run, {});
  out.gauge("actorhost_run_paused", "1 while the run is paused.", {}, flag(run, "paused") ? 1 : 0);
}

void add_hosts(const json& state, Families& out) {
  for (const json& host : list(state, "hosts")) {
    const Labels labels = {{"host", text(host, "host")}, {"process", label_of(host, "process")}};
    for (const NumberMetric& known : kHostMetrics) out.add(known, host, labels);
  }
}

void add_nodes(const json& state, Families& out) {
  std::map<std::string, int> states = {{"starting", 0}, {"computing", 0}, {"waiting", 0},
                                       {"ended", 0},    {"silent", 0},    {"lost", 0}};
  for (const json& node : list(state, "nodes")) {
    const Labels labels = labels_of(node);
    const std::string is = text(node, "state");
    ++states[is];
    out.gauge("actorhost_node_up", "0 when this node is silent or lost.", labels,
              is == "silent" || is == "lost" ? 0 : 1);
    out.gauge("actorhost_node_straggler", "1 for the worker that others wait for.", labels,
              flag(node, "straggler") ? 1 : 0);
    for (const NumberMetric& known : kNodeMetrics) out.add(known, node, labels);
    const json& wait = field(node, "wait");
    if (!wait.is_object()) continue;
    for (auto at = wait.begin(); at != wait.end(); ++at) {
      if (!at->is_number()) continue;
      out.add(MetricType::Counter, "actorhost_node_wait_seconds_total", "Time that this node has waited, by cause.",
              with(labels, "cause", at.key()), at->get<double>());
    }
  }
  for (const auto& [name, count] : states) {
    out.gauge("actorhost_nodes", "Nodes in each state.", {{"state", name}}, count);
  }
}

void add_engines(const json& state, Families& out) {
  for (const json& barrier : list(state, "barrier")) {
    const json& waited = field(barrier, "waited");
    for (auto at = waited.begin(); waited.is_object() && at != waited.end(); ++at) {
      if (!at->is_number()) continue;
      out.add(MetricType::Counter, "actorhost_barrier_wait_seconds_total",
              "Time that the barrier has held this worker up.", {{"node", at.key()}}, at->get<double>());
    }
    const Labels labels = {{"rule", text(barrier, "rule")}, {"run", label_of(barrier, "run")}};
    out.gauge("actorhost_barrier_waiting_workers", "Workers that wait at the barrier now.", labels,
              static_cast<double>(list(barrier, "waiting").size()));
    out.add({"passed", "actorhost_barrier_passed_total", MetricType::Counter, "Decisions that let a worker pass."},
            barrier, labels);
    out.add({"refused", "actorhost_barrier_refused_total", MetricType::Counter, "Decisions that let a worker wait."},
            barrier, labels);
    const json& merge = field(barrier, "merge");
    if (!merge.is_object()) continue;
    const Labels merge_labels = {{"rule", text(merge, "rule")}, {"run", label_of(barrier, "run")}};
    out.add({"merged", "actorhost_merge_merged_total", MetricType::Counter, "Pushes that the merge rule has merged."},
            merge, merge_labels);
    out.add(
        {"dropped", "actorhost_merge_dropped_total", MetricType::Counter, "Pushes that the merge rule has dropped."},
        merge, merge_labels);
    out.gauge("actorhost_merge_held_pushes", "Pushes that the merge rule holds now.", merge_labels,
              number(merge, "held"));
  }
  std::map<std::string, double> tasks;
  for (const json& stage : list(state, "stages")) {
    tasks["done"] += number(stage, "done");
    tasks["running"] += number(stage, "running");
    tasks["left"] += number(stage, "tasks") - number(stage, "done") - number(stage, "running");
  }
  for (const auto& [name, count] : tasks) {
    out.gauge("actorhost_mapreduce_tasks", "Tasks of the map-reduce stages that are shown.", {{"state", name}}, count);
  }
}

void add_keys(const json& state, Families& out) {
  const json& all = list(state, "keys");
  std::vector<const json*> keys;
  double bytes = 0;
  for (const json& key : all) {
    keys.push_back(&key);
    bytes += number(key, "bytes");
  }
  out.gauge("actorhost_keys", "Keys of the parameter server.", {}, static_cast<double>(all.size()));
  out.gauge("actorhost_keys_bytes", "Bytes of their values.", {}, bytes);
  std::stable_sort(keys.begin(), keys.end(),
                   [](const json* a, const json* b) { return number(*a, "updates") > number(*b, "updates"); });
  for (size_t i = 0; i < std::min(keys.size(), kMetricKeys); ++i) {
    out.add({"updates", "actorhost_key_updates_total", MetricType::Counter, "Updates merged into this key."}, *keys[i],
            {{"key", text(*keys[i], "key")}, {"shard", label_of(*keys[i], "shard")}});
  }
}

/// The newest value of each node in each series of the job.
void add_series(const json& state, Families& out) {
  const json& series = field(state, "series");
  if (!series.is_object()) return;
  for (auto at = series.begin(); at != series.end(); ++at) {
    std::map<std::pair<std::string, std::string>, double> last;  // by role and id
    for (const json& point : *at) {
      const std::string role = text(point, "role");
      const json& value = field(point, "value");
      last[{role.empty() ? "worker" : role, label_of(point, "id")}] =
          value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
    }
    for (const auto& [node, value] : last) {
      out.gauge("actorhost_report", "The newest value that the job has given to actor.report.",
                {{"series", at.key()}, {"node", node.second}, {"role", node.first}}, value);
    }
  }
}

}  // namespace

std::string metrics_text(const json& state) {
  Families out;
  add_run(state, out);
  add_hosts(state, out);
  add_nodes(state, out);
  add_engines(state, out);
  add_keys(state, out);
  add_series(state, out);
  for (const HistogramMetric& known : kHistograms) {
    const json& given = field(field(state, "histograms"), known.field);
    if (given.is_object()) out.add(known, given);
  }
  return out.serialized();
}

}  // namespace actorhost
