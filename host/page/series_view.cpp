#include "host/page/series_view.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host/page/state_fields.hpp"

namespace actorhost {

namespace {

using nlohmann::json;

constexpr size_t kSeriesPoints = 720;  // of all series together
constexpr size_t kLinePoints = 200;    // of one line
constexpr size_t kFewestPoints = 12;   // of one line
constexpr size_t kSeriesNames = 12;
constexpr size_t kSeriesNodes = 4;  // nodes with a line each; more nodes share three lines: highest, median, lowest

struct SeriesValue {
  double x = 0;
  json value;  // a number, or null
};
using SeriesLine = std::vector<SeriesValue>;
using NodeLines = std::map<std::pair<std::string, int64_t>, SeriesLine>;  // by role ("" of workers) and id

NodeLines lines_of(const json& points) {
  NodeLines out;
  for (const json& point : points) {
    if (!point.is_object()) continue;
    const std::string role = text(point, "role");
    const json& value = field(point, "value");
    out[{role == "worker" ? "" : role, std::llround(number(point, "id"))}].push_back(
        {number(point, "step", number(point, "t")), value.is_number() ? value : json()});
  }
  return out;
}

/// Every n-th value so that at most `room` remain, including the last.
json thin_line(const SeriesLine& line, size_t room) {
  json out = json::array();
  const size_t stride = (line.size() + room - 1) / room;
  for (size_t i = (line.size() - 1) % stride; i < line.size(); i += stride) {
    out.push_back({rounded(line[i].x), rounded(line[i].value)});
  }
  return out;
}

/// Divides the steps of all nodes into equal parts; returns the highest, median and lowest value of each part.
json span_of(const NodeLines& lines, size_t room) {
  double first = HUGE_VAL;
  double last = -HUGE_VAL;
  for (const auto& [node, line] : lines) {
    for (const SeriesValue& one : line) {
      first = std::min(first, one.x);
      last = std::max(last, one.x);
    }
  }
  const double width = std::max(1.0, std::ceil((last - first + 1) / static_cast<double>(room)));
  std::map<size_t, std::vector<double>> parts;
  for (const auto& [node, line] : lines) {
    for (const SeriesValue& one : line) {
      if (one.value.is_number()) parts[static_cast<size_t>((one.x - first) / width)].push_back(one.value.get<double>());
    }
  }
  json out = {{"highest", json::array()}, {"median", json::array()}, {"lowest", json::array()}};
  for (auto& [part, values] : parts) {
    std::sort(values.begin(), values.end());
    const json x = rounded(std::min(last, first + width * static_cast<double>(part + 1) - 1));
    out["highest"].push_back({x, rounded(values.back())});
    out["median"].push_back({x, rounded(values[(values.size() - 1) / 2])});
    out["lowest"].push_back({x, rounded(values.front())});
  }
  return out;
}

}  // namespace

json thin_series(const json& series) {
  std::vector<std::pair<std::string, NodeLines>> shown;
  size_t more = 0;
  size_t count = 0;  // lines
  for (auto at = series.begin(); series.is_object() && at != series.end(); ++at) {
    NodeLines lines = lines_of(*at);
    if (lines.empty()) continue;
    if (shown.size() == kSeriesNames) {
      ++more;
      continue;
    }
    count += lines.size() > kSeriesNodes ? 3 : lines.size();
    shown.emplace_back(cut(at.key()), std::move(lines));
  }
  const size_t room = std::clamp(kSeriesPoints / std::max<size_t>(count, 1), kFewestPoints, kLinePoints);
  json names = json::object();
  for (const auto& [name, lines] : shown) {
    json drawn = json::object();
    if (lines.size() > kSeriesNodes) {
      drawn = span_of(lines, room);
    } else {
      for (const auto& [node, line] : lines) {
        drawn[node.first + (node.first.empty() ? "" : " ") + std::to_string(node.second)] = thin_line(line, room);
      }
    }
    names[name] = {{"nodes", lines.size()}, {"lines", std::move(drawn)}};
  }
  return {{"names", std::move(names)}, {"more", more}};
}

}  // namespace actorhost
