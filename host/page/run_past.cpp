#include "host/page/run_past.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "host/page/state_fields.hpp"

namespace actorhost {

namespace {

using nlohmann::json;
using Each = std::vector<std::pair<std::string, double>>;

constexpr float kNoValue = std::numeric_limits<float>::quiet_NaN();

}  // namespace

// ---- points ----

void PastReader::put(PastPoint& point, const std::string& group, const std::string& line, double value) {
  const auto known = indices_.find({group, line});
  if (known == indices_.end() && lines_.size() == kLines) return;
  const uint16_t index = known != indices_.end() ? known->second : static_cast<uint16_t>(lines_.size());
  if (known == indices_.end()) {
    indices_[{group, line}] = index;
    lines_.emplace_back(group, line);
  }
  point.values.emplace_back(index, static_cast<float>(value));
}

void PastReader::put_each(PastPoint& point, const std::string& group, const Each& each) {
  if (each.empty()) return;
  std::vector<double> values;
  for (const auto& [line, value] : each) values.push_back(value);
  std::sort(values.begin(), values.end());
  put(point, group, "highest", values.back());
  put(point, group, "median", values[(values.size() - 1) / 2]);
  put(point, group, "lowest", values.front());
  if (each.size() > kLineEach) return;
  for (const auto& [line, value] : each) put(point, group, line, value);
}

/// The growth of a count since the previous state, a second; nothing without a previous count or after a fall.
std::optional<double> PastReader::rate(const std::string& name, double count, double passed) {
  const auto before = counts_.find(name);
  std::optional<double> out;
  if (before != counts_.end() && passed > 0 && count >= before->second) out = (count - before->second) / passed;
  counts_[name] = count;
  return out;
}

PastPoint PastReader::read(const json& state) {
  PastPoint point;
  point.t = number(field(state, "run"), "t");
  const double passed = point.t - t_;
  if (t_ < 0 || passed < 0) counts_.clear();
  t_ = point.t;
  double updates = 0;
  double sent = 0;
  std::map<std::string, Each> progress;
  for (const json& node : list(state, "nodes")) {
    sent += number(node, "sent");
    if (text(node, "role") == "server") continue;
    updates += number(node, "updates");
    if (text(node, "state") == "lost") continue;
    const std::string id = std::to_string(std::llround(number(node, "id")));
    for (const auto& [name, group] : {std::pair{"step", "steps"}, {"calls", "collectives"}, {"tasks", "tasks"}}) {
      progress[group].emplace_back(id, number(node, name));
    }
  }
  for (const auto& [group, each] : progress) {
    const bool any = std::any_of(each.begin(), each.end(), [](const auto& one) { return one.second > 0; });
    if (any) put_each(point, group, each);
  }
  if (const auto now = rate("updates", updates, passed); now && updates > 0) put(point, "updates", "all", *now);
  if (const auto now = rate("bytes", sent, passed); now && sent > 0) put(point, "bytes", "all", *now);
  Each processors;
  Each memory;
  for (const json& host : list(state, "hosts")) {
    if (flag(host, "silent")) continue;
    const std::string process = std::to_string(std::llround(number(host, "process")));
    if (const auto used = rate("cpu " + process, number(host, "cpu"), passed)) processors.emplace_back(process, *used);
    if (field(host, "rss").is_number()) memory.emplace_back(process, number(host, "rss"));
  }
  put_each(point, "cpu", processors);
  put_each(point, "memory", memory);
  return point;
}

json PastReader::values(const PastPoint& point) const {
  json out = json::object();
  for (const auto& [index, value] : point.values) {
    const auto& [group, line] = lines_[index];
    out[group][line] = rounded_count(value);
  }
  return out;
}

// ---- slots ----

/// Appends a later slot: of each line the extremes stay, in the order of their times.
void RunPast::join(Slot& into, const Slot& later) {
  into.end = later.end;
  into.values.resize(std::max(into.values.size(), later.values.size()), {kNoValue, kNoValue});
  for (size_t i = 0; i < later.values.size(); ++i) {
    const std::array<float, 4> four = {into.values[i][0], into.values[i][1], later.values[i][0], later.values[i][1]};
    size_t least = four.size();
    size_t most = four.size();
    for (size_t k = 0; k < four.size(); ++k) {
      if (std::isnan(four[k])) continue;
      if (least == four.size() || four[k] < four[least]) least = k;
      if (most == four.size() || four[k] >= four[most]) most = k;
    }
    if (least < four.size()) into.values[i] = {four[std::min(least, most)], four[std::max(least, most)]};
  }
}

void RunPast::add(const PastPoint& point) {
  if (!slots_.empty() && point.t <= slots_.back().end) return;
  Slot slot{point.t, point.t, {}};
  for (const auto& [index, value] : point.values) {
    if (slot.values.size() <= index) slot.values.resize(index + size_t{1}, {kNoValue, kNoValue});
    if (std::isfinite(value)) slot.values[index] = {value, value};
  }
  slot.values.shrink_to_fit();
  const bool soon = slots_.size() > wide_ && point.t < slots_.back().begin + 0.9 * kFineWidth;
  if (soon) {
    join(slots_.back(), slot);
  } else {
    slots_.push_back(std::move(slot));
  }
  while (wide_ < slots_.size() && slots_[wide_].begin < point.t - kFineSeconds) {
    Slot& old = slots_[wide_];
    if (wide_ > 0 && old.begin < slots_[wide_ - 1].begin + kSlotWidth) {
      join(slots_[wide_ - 1], old);
      slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(wide_));
    } else {
      ++wide_;
    }
  }
  while (slots_.front().end < point.t - kSeconds) {
    slots_.pop_front();
    if (wide_ > 0) --wide_;
  }
}

json RunPast::message(const PastReader& reader) const {
  std::vector<Slot> shown;
  const double span = slots_.empty() ? 0 : slots_.back().end - slots_.front().begin;
  const double width = slots_.size() > kMessageSlots ? span / (kMessageSlots - 1) : 0;
  for (const Slot& slot : slots_) {
    if (!shown.empty() && slot.begin < shown.back().begin + width) {
      join(shown.back(), slot);
    } else {
      shown.push_back(slot);
    }
  }
  json times = json::array();
  for (const Slot& slot : shown) times.push_back({rounded_time(slot.begin), rounded_time(slot.end)});
  json lines = json::object();
  for (size_t i = 0; i < reader.lines().size(); ++i) {
    json values = json::array();
    bool any = false;
    for (const Slot& slot : shown) {
      const Extremes at = i < slot.values.size() ? slot.values[i] : Extremes{kNoValue, kNoValue};
      any = any || !std::isnan(at[0]);
      if (std::isnan(at[0])) {
        values.push_back(nullptr);
      } else if (at[0] == at[1]) {
        values.push_back(rounded_count(at[0]));
      } else {
        values.push_back({rounded_count(at[0]), rounded_count(at[1])});
      }
    }
    const auto& [group, line] = reader.lines()[i];
    if (any) lines[group][line] = std::move(values);
  }
  return {{"t", std::move(times)}, {"lines", std::move(lines)}};
}

}  // namespace actorhost
