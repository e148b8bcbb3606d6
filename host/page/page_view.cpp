#include "host/page/page_view.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "host/page/series_view.hpp"
#include "host/page/state_fields.hpp"

namespace actorhost {

namespace {

using nlohmann::json;
using Nodes = std::vector<const json*>;

constexpr size_t kKeys = 16;
constexpr size_t kStages = 24;
constexpr size_t kLogLines = 24;
constexpr size_t kWaiting = 32;  // rows of workers that wait at a barrier
constexpr size_t kAwaited = 8;   // names in each row
constexpr size_t kMissing = 16;
constexpr double kLongWait = 1;  // seconds
constexpr size_t kHosts = 24;
constexpr size_t kStepBins = 20;
constexpr size_t kStreamSpans = 100;  // of one node
constexpr size_t kOutputLines = 20;   // of the chosen node, and as many lines of its log

json brief(const json& value) {
  if (value.is_string()) return cut(value.get<std::string>());
  if (value.is_object() || value.is_array()) {
    json out = value.is_object() ? json::object() : json::array();
    for (auto at = value.begin(); at != value.end(); ++at) {
      if (value.is_object()) {
        out[at.key()] = brief(*at);
      } else {
        out.push_back(brief(*at));
      }
    }
    return out;
  }
  return rounded(value);
}

json chosen(const json& object, std::initializer_list<const char*> names) {
  json out = json::object();
  for (const char* name : names) {
    if (const json& found = field(object, name); !found.is_null()) out[name] = brief(found);
  }
  return out;
}

json first_of(const json& rows, size_t count) {
  json out = json::array();
  for (size_t i = 0; i < std::min(rows.size(), count); ++i) out.push_back(brief(rows[i]));
  return out;
}

bool is_worker(const json& node) { return text(node, "role") != "server"; }

/// The measure of a worker's progress: its steps, or in a run without steps its collectives or tasks.
struct ProgressMeasure {
  const char* field;
  const char* what;
};

ProgressMeasure progress_of(const Nodes& nodes) {
  for (const ProgressMeasure known : {ProgressMeasure{"step", "steps"}, {"calls", "collectives"}, {"tasks", "tasks"}}) {
    for (const json* node : nodes) {
      if (is_worker(*node) && number(*node, known.field) > 0) return known;
    }
  }
  return {"step", "steps"};
}

/// The idle seconds of a node, by cause. A worker held by the barrier waits for the server or for peers; `held` has the
/// barrier's seconds, which this function moves to the cause "barrier".
json waits_of(const json& node, const json& held) {
  json out = field(node, "wait");
  if (!out.is_object()) out = json::object();
  if (const double slept = number(node, "slept"); slept > 0) out["sleep"] = slept;
  const std::string id = std::to_string(std::llround(number(node, "id")));
  double at_barrier = is_worker(node) ? number(held, id.c_str()) : 0;
  for (const char* cause : {"server", "peer"}) {
    const double waited = number(out, cause);
    const double part = std::min(waited, at_barrier);
    if (part <= 0) continue;
    out[cause] = waited - part;
    out["barrier"] = number(out, "barrier") + part;
    at_barrier -= part;
  }
  return out;
}

json node_row(const json& node, const ProgressMeasure& progress, const json& held) {
  json out = chosen(node, {"id",    "rank", "name",     "role",      "host",      "state",   "cause",
                           "for",   "what", "since",    "seconds",   "updates",   "action",  "where",
                           "queue", "sent", "received", "lua_bytes", "straggler", "lost_at", "reason"});
  if (is_worker(node) && field(node, progress.field).is_number()) out["progress"] = number(node, progress.field);
  out["wait"] = brief(waits_of(node, held));
  return out;
}

bool is_notable(const json& node) {
  const std::string state = text(node, "state");
  return state == "lost" || state == "silent" || flag(node, "straggler");
}

double waited(const json& node) {
  double sum = 0;
  const json& wait = field(node, "wait");
  if (!wait.is_object()) return 0;
  for (const auto& seconds : wait) sum += seconds.is_number() ? seconds.get<double>() : 0;
  return sum;
}

/// Most urgent state first.
int order_of_state(const json& node) {
  static const std::vector<std::string> kOrder = {"lost", "silent", "waiting", "starting", "computing", "ended"};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), text(node, "state")) - kOrder.begin());
}

void sort_nodes(Nodes& nodes, const std::string& by, const char* progress) {
  const auto with = [&](auto&& key) {
    std::stable_sort(nodes.begin(), nodes.end(), [&](const json* a, const json* b) { return key(*a) < key(*b); });
  };
  with([](const json& node) { return std::pair(is_worker(node) ? 0 : 1, number(node, "id")); });
  // A server has no steps, so it is sorted behind the workers.
  const auto steps = [&](const json& node, double sign) {
    return is_worker(node) ? sign * number(node, progress) : HUGE_VAL;
  };
  if (by == "state") with(order_of_state);
  if (by == "step") with([&](const json& node) { return steps(node, 1); });
  if (by == "ahead") with([&](const json& node) { return steps(node, -1); });
  if (by == "wait") with([](const json& node) { return -waited(node); });
  if (by == "updates") with([](const json& node) { return -number(node, "updates"); });
  if (by == "sent") with([](const json& node) { return -number(node, "sent"); });
  if (by == "host") with([](const json& node) { return text(node, "host"); });
}

/// Quantiles and a histogram of the steps of the workers, except lost workers.
json steps_of(const Nodes& nodes, const char* progress) {
  std::vector<double> steps;
  for (const json* node : nodes) {
    if (is_worker(*node) && text(*node, "state") != "lost") steps.push_back(number(*node, progress));
  }
  if (steps.empty()) return json::object();
  std::sort(steps.begin(), steps.end());
  const auto quantile = [&](double q) { return steps[static_cast<size_t>(q * static_cast<double>(steps.size() - 1))]; };
  const double width = std::max(1.0, std::ceil((steps.back() - steps.front() + 1) / static_cast<double>(kStepBins)));
  const auto bins = static_cast<size_t>((steps.back() - steps.front()) / width) + 1;
  std::vector<int> counts(std::min(bins, kStepBins + 1));
  for (const double step : steps) {
    ++counts[std::min(static_cast<size_t>((step - steps.front()) / width), counts.size() - 1)];
  }
  return {{"min", steps.front()}, {"q10", quantile(0.1)},   {"median", quantile(0.5)}, {"q90", quantile(0.9)},
          {"max", steps.back()},  {"first", steps.front()}, {"width", width},          {"counts", counts}};
}

json totals_of(const Nodes& nodes, const ProgressMeasure& progress, const json& held) {
  std::map<std::string, int> states;
  std::map<std::string, double> sums;
  json wait = json::object();
  for (const json* node : nodes) {
    ++states[text(*node, "state")];
    sums[is_worker(*node) ? "workers" : "servers"] += 1;
    if (is_worker(*node)) sums["updates"] += number(*node, "updates");
    for (const char* name : {"sent", "received"}) sums[name] += number(*node, name);
    if (!is_worker(*node)) continue;
    sums["worker_seconds"] += number(*node, "seconds");
    const json causes = waits_of(*node, held);
    for (auto at = causes.begin(); at != causes.end(); ++at) {
      if (at->is_number()) wait[at.key()] = number(wait, at.key().c_str()) + at->get<double>();
    }
  }
  json out(sums);
  out["states"] = states;
  out["wait"] = brief(wait);
  out["progress"] = progress.what;
  out["steps"] = steps_of(nodes, progress.field);
  return out;
}

/// The workers that a collective has waited for, for a second or more, as the coordinator reports them.
json collective_of(const json& state, const Nodes& nodes) {
  const json& given = field(state, "collective");
  const json& missing = list(given, "missing");
  double since = 0;
  for (const json* node : nodes) {
    if (text(*node, "cause") == "collective") since = std::max(since, number(*node, "since"));
  }
  if (missing.empty() || since < kLongWait) return json();
  json out = chosen(given, {"what"});
  out["missing"] = first_of(missing, kMissing);
  out["missing_count"] = missing.size();
  return out;
}

json window_of(Nodes nodes, const PageView& view, const ProgressMeasure& progress, const json& held, json& out) {
  sort_nodes(nodes, view.sort, progress.field);
  const size_t last_page = nodes.empty() ? 0 : (nodes.size() - 1) / kWindowNodes * kWindowNodes;
  const size_t from = std::min(view.offset, last_page);
  const size_t to = std::min(from + kWindowNodes, nodes.size());
  out["view"] = {{"total", nodes.size()}, {"offset", from}, {"sort", view.sort}, {"window", kWindowNodes}};
  json notable = json::array();
  for (size_t i = 0; i < nodes.size() && notable.size() < kNotableNodes; ++i) {
    if ((i < from || i >= to) && is_notable(*nodes[i])) notable.push_back(node_row(*nodes[i], progress, held));
  }
  out["notable"] = std::move(notable);
  json window = json::array();
  for (size_t i = from; i < to; ++i) window.push_back(node_row(*nodes[i], progress, held));
  return window;
}

json barriers_of(const json& state) {
  json out = json::array();
  size_t room = kWaiting;
  for (const json& one : list(state, "barrier")) {
    json shown = chosen(one, {"run", "rule", "passed", "refused", "merge"});
    json rows = json::array();
    const json& waiting = list(one, "waiting");
    for (const json& waiter : waiting) {
      if (room == 0) break;
      --room;
      json row = chosen(waiter, {"id", "step", "since"});
      const json& awaited = list(waiter, "for");
      row["for"] = first_of(awaited, kAwaited);
      row["for_count"] = awaited.size();
      rows.push_back(std::move(row));
    }
    shown["waiting"] = std::move(rows);
    shown["waiting_count"] = waiting.size();
    out.push_back(std::move(shown));
    if (out.size() == 4) break;
  }
  return out;
}

json keys_of(const json& state) {
  const json& all = list(state, "keys");
  Nodes keys;
  for (const json& key : all) keys.push_back(&key);
  std::stable_sort(keys.begin(), keys.end(),
                   [](const json* a, const json* b) { return number(*a, "updates") > number(*b, "updates"); });
  json top = json::array();
  for (size_t i = 0; i < std::min(keys.size(), kKeys); ++i) top.push_back(brief(*keys[i]));
  return {{"count", all.size()}, {"top", std::move(top)}};
}

/// Silent hosts first.
json hosts_of(const json& state) {
  const json& all = list(state, "hosts");
  json out = json::array();
  for (const bool silent : {true, false}) {
    for (const json& host : all) {
      if (flag(host, "silent") == silent && out.size() < kHosts) out.push_back(brief(host));
    }
  }
  return out;
}

/// Adds the recent spans of a node: [index of its name and category, cell, begin, duration]. The cell counts from
/// `first`, the milliseconds from its beginning, by the process's clock; host/cluster/STATE.md describes the cells.
void add_stream(json& out, const json& node) {
  const json& stream = field(node, "stream");
  for (const char* name : {"first", "next", "width", "at"}) {
    if (!field(stream, name).is_number()) return;
  }
  const double first = number(stream, "first");
  const double width = number(stream, "width");
  json spans = json::array();
  const json& given = list(stream, "list");
  for (size_t i = given.size() - std::min(given.size(), kStreamSpans); i < given.size(); ++i) {
    const json& span = given[i];
    if (!span.is_array() || span.size() != 5 || !span[0].is_string() || !span[1].is_string()) continue;
    if (!std::all_of(span.begin() + 2, span.end(), [](const json& one) { return one.is_number(); })) continue;
    const json name = {cut(span[0].get<std::string>()), cut(span[1].get<std::string>())};
    json& names = out["names"];
    auto known = std::find(names.begin(), names.end(), name);
    const auto index = known - names.begin();
    if (known == names.end()) names.push_back(name);
    const double begin = span[3].get<double>();
    spans.push_back({index, std::llround(span[2].get<double>() - first), std::llround(1e3 * (begin - first * width)),
                     rounded(1e3 * (span[4].get<double>() - begin))});
  }
  json row = chosen(node, {"id", "role", "process"});
  for (const char* name : {"first", "next", "width", "at"}) row[name] = field(stream, name);
  row["spans"] = std::move(spans);
  out["nodes"].push_back(std::move(row));
}

json stream_of(const json& state, const json& window) {
  json out = {{"names", json::array()}, {"nodes", json::array()}};
  std::map<std::string, const json*> rows;
  for (const json& node : list(state, "nodes")) rows[node_key(node)] = &node;
  for (size_t i = 0; i < std::min(window.size(), kStreamNodes); ++i) add_stream(out, *rows.at(node_key(window[i])));
  return out;
}

/// The chosen node with the newest lines of its output and of its log; null if the run does not know the node.
json detail_of(const json& state, const Nodes& nodes, const std::string& key, const ProgressMeasure& progress,
               const json& held) {
  for (const json* node : nodes) {
    if (node_key(*node) != key) continue;
    json out = node_row(*node, progress, held);
    out["output"] = json::array();
    const json& output = list(*node, "output");
    for (size_t i = output.size() - std::min(output.size(), kOutputLines); i < output.size(); ++i) {
      out["output"].push_back(brief(output[i]));
    }
    Nodes lines;
    for (const json& line : list(state, "log")) {
      const std::string who = text(line, "who");
      if (who == text(*node, "name") || who == key) lines.push_back(&line);
    }
    out["log"] = json::array();
    for (size_t i = lines.size() - std::min(lines.size(), kOutputLines); i < lines.size(); ++i) {
      out["log"].push_back(brief(*lines[i]));
    }
    return out;
  }
  return json();
}

/// The last `count` rows of an array.
json tail(const json& rows, size_t count) {
  json out = json::array();
  for (size_t i = rows.size() - std::min(rows.size(), count); i < rows.size(); ++i) out.push_back(brief(rows[i]));
  return out;
}

}  // namespace

std::string node_key(const json& node) {
  return (is_worker(node) ? "worker " : "server ") + std::to_string(std::llround(number(node, "id")));
}

std::vector<std::string> sections_for(const json& message, const PageView& view) {
  std::vector<std::string> out;
  if (!view.node.empty()) out.push_back("output:" + view.node);
  if (!view.stream) return out;
  const json& window = list(message, "nodes");
  for (size_t i = 0; i < std::min(window.size(), kStreamNodes); ++i) out.push_back("stream:" + node_key(window[i]));
  return out;
}

json page_message(const json& state, const PageView& view) {
  Nodes nodes;
  const json& all = list(state, "nodes");
  for (const json& node : all) nodes.push_back(&node);
  const ProgressMeasure progress = progress_of(nodes);
  const json& barriers = list(state, "barrier");
  const json& held = barriers.empty() ? barriers : field(barriers.back(), "waited");
  json out = {{"run", brief(field(state, "run"))}, {"totals", totals_of(nodes, progress, held)}};
  if (out["run"].is_object()) out["run"]["t"] = rounded_time(number(field(state, "run"), "t"));
  out["nodes"] = window_of(nodes, view, progress, held, out);
  if (view.stream) out["stream"] = stream_of(state, out["nodes"]);
  if (!view.node.empty()) out["detail"] = detail_of(state, nodes, view.node, progress, held);
  out["collective"] = collective_of(state, nodes);
  out["hosts"] = hosts_of(state);
  out["totals"]["processes"] = list(state, "hosts").size();
  out["barrier"] = barriers_of(state);
  out["keys"] = keys_of(state);
  out["stages"] = tail(list(state, "stages"), kStages);
  out["members"] = tail(list(state, "members"), kLogLines);
  out["log"] = tail(list(state, "log"), kLogLines);
  const json& thin = field(state, "thin_series");  // of a recorded state
  out["series"] = field(thin, "names").is_object() ? thin : thin_series(field(state, "series"));
  return out;
}

}  // namespace actorhost
