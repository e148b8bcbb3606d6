#include "host/page/page_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "host/page/state_fields.hpp"

namespace actorhost {

namespace {

using nlohmann::json;
using Nodes = std::vector<const json*>;

constexpr size_t kSeriesPoints = 480;  // of all series together
constexpr size_t kLinePoints = 200;    // of one line
constexpr size_t kSeriesNames = 12;
constexpr size_t kSeriesNodes = 4;  // lines of one name
constexpr size_t kKeys = 16;
constexpr size_t kStages = 24;
constexpr size_t kLogLines = 24;
constexpr size_t kWaiting = 32;  // rows of who waits at a barrier
constexpr size_t kAwaited = 8;   // names in each of them
constexpr size_t kMissing = 16;
constexpr size_t kHosts = 24;
constexpr size_t kStepBins = 20;
constexpr size_t kTextBytes = 120;  // of one line of a log, a reason, a place

/// Four significant digits: enough for a picture, and a third of the bytes.
json rounded(const json& value) {
  if (!value.is_number_float()) return value;
  if (!std::isfinite(value.get<double>())) return json();
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.4g", value.get<double>());
  const double near = std::strtod(digits.data(), nullptr);
  const bool whole = std::abs(near) < 1e15 && near == std::floor(near);
  return whole ? json(static_cast<int64_t>(near)) : json(near);
}

/// Cut to a length that ends between two characters.
std::string cut(std::string text) {
  if (text.size() <= kTextBytes) return text;
  size_t end = kTextBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

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

json node_row(const json& node) {
  return chosen(node, {"id",    "rank",     "name",      "role",      "host",    "state",  "cause", "what",
                       "since", "seconds",  "wait",      "step",      "updates", "action", "where", "queue",
                       "sent",  "received", "lua_bytes", "straggler", "lost_at", "reason"});
}

bool is_worker(const json& node) { return text(node, "role") != "server"; }

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

/// What needs attention first.
int order_of_state(const json& node) {
  static const std::vector<std::string> kOrder = {"lost", "silent", "waiting", "starting", "computing", "ended"};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), text(node, "state")) - kOrder.begin());
}

void sort_nodes(Nodes& nodes, const std::string& by) {
  const auto with = [&](auto&& key) {
    std::stable_sort(nodes.begin(), nodes.end(), [&](const json* a, const json* b) { return key(*a) < key(*b); });
  };
  with([](const json& node) { return std::pair(is_worker(node) ? 0 : 1, number(node, "id")); });
  // A server has no steps, so it comes behind the workers there.
  const auto steps = [](const json& node) { return is_worker(node) ? number(node, "step") : HUGE_VAL; };
  if (by == "state") with(order_of_state);
  if (by == "step") with(steps);
  if (by == "ahead") with([&](const json& node) { return is_worker(node) ? -number(node, "step") : HUGE_VAL; });
  if (by == "wait") with([](const json& node) { return -waited(node); });
  if (by == "updates") with([](const json& node) { return -number(node, "updates"); });
  if (by == "sent") with([](const json& node) { return -number(node, "sent"); });
  if (by == "host") with([](const json& node) { return text(node, "host"); });
}

/// Of the workers that still run: quantiles, and how many are at which steps.
json steps_of(const Nodes& nodes) {
  std::vector<double> steps;
  for (const json* node : nodes) {
    if (is_worker(*node) && text(*node, "state") != "lost") steps.push_back(number(*node, "step"));
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

json totals_of(const Nodes& nodes) {
  std::map<std::string, int> states;
  std::map<std::string, double> sums;
  json wait = json::object();
  for (const json* node : nodes) {
    ++states[text(*node, "state")];
    sums[is_worker(*node) ? "workers" : "servers"] += 1;
    if (is_worker(*node)) sums["updates"] += number(*node, "updates");
    for (const char* name : {"sent", "received", "frames_sent", "seconds"}) sums[name] += number(*node, name);
    const json& causes = field(*node, "wait");
    if (!causes.is_object() || !is_worker(*node)) continue;
    for (auto at = causes.begin(); at != causes.end(); ++at) {
      if (at->is_number()) wait[at.key()] = number(wait, at.key().c_str()) + at->get<double>();
    }
  }
  json out(sums);
  out["states"] = states;
  out["wait"] = brief(wait);
  out["steps"] = steps_of(nodes);
  return out;
}

/// Who others wait for in a collective, as the rendezvous host says.
json collective_of(const json& state) {
  const json& given = field(state, "collective");
  const json& missing = list(given, "missing");
  if (missing.empty()) return json();
  json out = chosen(given, {"what"});
  out["missing"] = first_of(missing, kMissing);
  out["missing_count"] = missing.size();
  return out;
}

json window_of(Nodes nodes, const PageView& view, json& out) {
  sort_nodes(nodes, view.sort);
  const size_t last_page = nodes.empty() ? 0 : (nodes.size() - 1) / kWindowNodes * kWindowNodes;
  const size_t from = std::min(view.offset, last_page);
  const size_t to = std::min(from + kWindowNodes, nodes.size());
  out["view"] = {{"total", nodes.size()}, {"offset", from}, {"sort", view.sort}, {"window", kWindowNodes}};
  json notable = json::array();
  for (size_t i = 0; i < nodes.size() && notable.size() < kNotableNodes; ++i) {
    if ((i < from || i >= to) && is_notable(*nodes[i])) notable.push_back(node_row(*nodes[i]));
  }
  out["notable"] = std::move(notable);
  json window = json::array();
  for (size_t i = from; i < to; ++i) window.push_back(node_row(*nodes[i]));
  return window;
}

json barriers_of(const json& state) {
  json out = json::array();
  size_t room = kWaiting;
  for (const json& one : list(state, "barrier")) {
    json shown = chosen(one, {"run", "rule", "passed", "refused"});
    json rows = json::array();
    const json& waiting = list(one, "waiting");
    for (const json& who : waiting) {
      if (room == 0) break;
      --room;
      json row = chosen(who, {"id", "step", "since"});
      const json& awaited = list(who, "for");
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

/// The silent ones first.
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

/// The last `count` of an array.
json tail(const json& rows, size_t count) {
  json out = json::array();
  for (size_t i = rows.size() - std::min(rows.size(), count); i < rows.size(); ++i) out.push_back(brief(rows[i]));
  return out;
}

}  // namespace

json thin_series(const json& series) {
  json out = json::object();
  if (!series.is_object()) return out;
  std::vector<std::pair<json*, std::vector<json>>> lines;
  for (auto at = series.begin(); at != series.end() && out.size() < kSeriesNames; ++at) {
    std::map<std::string, std::vector<json>> by_node;
    for (const json& point : *at) {
      const json& value = field(point, "value");
      if (!value.is_number()) continue;
      const json& step = field(point, "step");
      by_node[std::to_string(std::llround(number(point, "id")))].push_back(
          {rounded(step.is_number() ? step : field(point, "t")), rounded(value)});
    }
    json& name = out[cut(at.key())] = json::object();
    for (auto& [id, points] : by_node) {
      if (name.size() == kSeriesNodes) break;
      lines.emplace_back(&(name[id] = json::array()), std::move(points));
    }
  }
  // Pointers into `out` hold: an object's values stay where they are.
  const size_t room = std::clamp(kSeriesPoints / std::max<size_t>(lines.size(), 1), size_t{8}, kLinePoints);
  for (auto& [line, points] : lines) {
    const size_t stride = (points.size() + room - 1) / room;
    for (size_t i = (points.size() - 1) % stride; i < points.size(); i += stride) line->push_back(points[i]);
  }
  return out;
}

json page_message(const json& state, const PageView& view) {
  Nodes nodes;
  const json& all = list(state, "nodes");
  for (const json& node : all) nodes.push_back(&node);
  json out = {{"run", brief(field(state, "run"))}, {"totals", totals_of(nodes)}};
  out["nodes"] = window_of(nodes, view, out);
  out["collective"] = collective_of(state);
  out["hosts"] = hosts_of(state);
  out["totals"]["processes"] = list(state, "hosts").size();
  out["barrier"] = barriers_of(state);
  out["keys"] = keys_of(state);
  out["stages"] = tail(list(state, "stages"), kStages);
  out["members"] = tail(list(state, "members"), kLogLines);
  out["log"] = tail(list(state, "log"), kLogLines);
  const json& thin = field(state, "thin_series");  // of a recorded state
  out["series"] = thin.is_object() ? thin : thin_series(field(state, "series"));
  return out;
}

}  // namespace actorhost
