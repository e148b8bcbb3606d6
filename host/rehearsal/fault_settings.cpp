#include "host/rehearsal/fault_settings.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "host/base/nearest.hpp"
#include "host/base/number.hpp"

namespace actorhost::rehearsal {

namespace {

constexpr std::pair<std::string_view, FaultKind> kNames[] = {{"kill", FaultKind::kill},
                                                             {"stall", FaultKind::stall},
                                                             {"partition", FaultKind::partition},
                                                             {"one-way", FaultKind::one_way},
                                                             {"break", FaultKind::broken}};

std::optional<double> number_in(std::string_view text) {
  const auto value = finite_number(text);
  return value && *value >= 0 ? value : std::nullopt;
}

/// "500ms", "2s"; a bare unit is one of it.
std::optional<Time> time_of(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"us", 1e-6}, {"ms", 1e-3}, {"min", 60}, {"s", 1}};
  for (const auto& [unit, each] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const std::string_view digits = text.substr(0, text.size() - unit.size());
    const auto value = digits.empty() ? std::optional(1.0) : number_in(digits);
    if (!value || *value * each > 1e9) return {};
    return static_cast<Time>(*value * each * static_cast<double>(kSecond));
  }
  return {};
}

Error wrong(std::string_view part, const std::string& wants) {
  return {Code::bad_argument, "--faults: '" + std::string(part) + "': " + wants};
}

/// A part such as "kill=1/min" or "stall=2:500ms".
Result<FaultSettings::Each> parse_kind(FaultKind kind, std::string_view part, std::string_view value) {
  FaultSettings::Each out{kind};
  if (const size_t colon = value.find(':'); colon != std::string_view::npos) {
    const auto lasts = time_of(value.substr(colon + 1));
    if (!lasts || kind == FaultKind::kill || kind == FaultKind::broken) {
      return wrong(part, "only stall, partition and one-way have a duration, as in stall=2:500ms");
    }
    out.lasts = *lasts;
    value = value.substr(0, colon);
  }
  const size_t slash = value.find('/');
  const auto number = number_in(value.substr(0, slash));
  const auto per = slash == std::string_view::npos ? std::optional(kSecond) : time_of(value.substr(slash + 1));
  if (!number || *number > 1e6 || !per || *per == 0) {
    return wrong(part, "wants a number of faults, or a rate such as 1/min or 3/500ms");
  }
  if (slash != std::string_view::npos) {
    out.per_second = *number / seconds(*per);
  } else {
    out.count = static_cast<uint32_t>(*number);
  }
  return out;
}

}  // namespace

Result<FaultSettings> FaultSettings::parse(const std::string& text) {
  FaultSettings out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string_view part = std::string_view(text).substr(at, end - at);
    at = end + 1;
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = part.substr(0, equals);
    const std::string_view value = part.substr(std::min(equals + 1, part.size()));
    if (name == "restart" || name == "within") {
      const auto time = time_of(value);
      if (!time || *time == 0) return wrong(part, "wants a time such as 500ms, 5s or 1min");
      if (name == "restart") out.restart = time;
      if (name == "within") out.within = *time;
      continue;
    }
    const auto* const kind =
        std::find_if(std::begin(kNames), std::end(kNames), [name](const auto& each) { return each.first == name; });
    if (kind == std::end(kNames)) {
      std::vector<std::string> known = {"restart", "within"};
      for (const auto& each : kNames) known.emplace_back(each.first);
      return wrong(part, "knows kill, stall, partition, one-way, break, restart and within" +
                             suggestion(std::string(name), known, ""));
    }
    AH_LET(const Each each, parse_kind(kind->second, part, value));
    out.kinds.push_back(each);
  }
  return out;
}

}  // namespace actorhost::rehearsal
