#include "host/rehearsal/fault_settings.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "host/base/nearest.hpp"
#include "host/base/number.hpp"

namespace actorhost::rehearsal {

namespace {

constexpr std::pair<std::string_view, FaultKind> kNames[] = {
    {"kill", FaultKind::kill},    {"crash", FaultKind::crash},         {"join", FaultKind::join},
    {"stall", FaultKind::stall},  {"partition", FaultKind::partition}, {"one-way", FaultKind::one_way},
    {"break", FaultKind::broken}, {"disk-full", FaultKind::disk_full}, {"disk-error", FaultKind::disk_error}};

std::optional<double> number_in(std::string_view text) {
  const auto value = finite_number(text);
  return value && *value >= 0 ? value : std::nullopt;
}

std::optional<FaultKind> kind_named(std::string_view name) {
  const auto* const at =
      std::find_if(std::begin(kNames), std::end(kNames), [name](const auto& each) { return each.first == name; });
  return at == std::end(kNames) ? std::nullopt : std::optional(at->second);
}

bool has_duration(FaultKind kind) {
  return kind == FaultKind::stall || kind == FaultKind::partition || kind == FaultKind::one_way ||
         kind == FaultKind::disk_full;
}

/// "kill, crash, join" for the kinds that `fits` accepts.
template <typename Fits>
std::string names_of(const Fits& fits) {
  std::string names;
  for (const auto& [name, kind] : kNames) {
    if (fits(kind)) names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

std::string names_of_all() {
  return names_of([](FaultKind) { return true; });
}

/// "; did you mean stall?" for the name of a fault or another word.
std::string suggested(std::string_view name, std::vector<std::string> known) {
  for (const auto& each : kNames) known.emplace_back(each.first);
  return suggestion(std::string(name), known, "");
}

Error wrong(std::string_view part, const std::string& wants) {
  return {Code::bad_argument, "--faults: '" + std::string(part) + "': " + wants};
}

/// A part such as "kill=1/min" or "stall=2:500ms".
Result<FaultSettings::Each> parse_kind(FaultKind kind, std::string_view part, std::string_view value) {
  FaultSettings::Each out{kind};
  if (const size_t colon = value.find(':'); colon != std::string_view::npos) {
    const auto lasts = time_in(value.substr(colon + 1));
    if (!has_duration(kind)) {
      return wrong(part, "only these kinds have a duration, as in stall=2:500ms: " + names_of(has_duration));
    }
    if (!lasts) return wrong(part, "wants a duration such as 500ms, 5s or 1min after the colon");
    out.lasts = *lasts;
    value = value.substr(0, colon);
  }
  const size_t slash = value.find('/');
  const auto number = number_in(value.substr(0, slash));
  const auto per = slash == std::string_view::npos ? std::optional(kSecond) : time_in(value.substr(slash + 1));
  if (!number || *number > 1e6 || !per || *per == 0) {
    return wrong(part, "wants a number of faults, or a rate such as 1/min or 3/500ms");
  }
  if (slash != std::string_view::npos) {
    out.per_second = *number / seconds(*per);
  } else if (*number != std::floor(*number)) {
    return wrong(part, "wants a whole number of faults, or a rate such as 1/min or 3/500ms");
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
    if (name == "restart" || name == "within" || name == "after") {
      const auto time = time_in(value);
      if (!time || *time == 0) return wrong(part, "wants a time such as 500ms, 5s or 1min");
      if (name == "restart") out.restart = time;
      if (name == "within") out.within = time;
      if (name == "after") out.after = *time;
      continue;
    }
    const auto kind = kind_named(name);
    if (!kind) {
      return wrong(part, "knows " + names_of_all() + ", restart, after and within" +
                             suggested(name, {"restart", "after", "within"}));
    }
    AH_LET(const Each each, parse_kind(*kind, part, value));
    out.kinds.push_back(each);
  }
  return out;
}

Status FaultSettings::add(double at, const std::string& name, std::vector<uint32_t> hosts,
                          std::optional<double> lasts) {
  const auto kind = kind_named(name);
  if (!kind) {
    return Error{Code::bad_argument,
                 "no fault is named '" + name + "'; there are " + names_of_all() + suggested(name, {})};
  }
  if (lasts && !has_duration(*kind)) return Error{Code::bad_argument, name + " has no duration"};
  const size_t needed = *kind == FaultKind::broken ? 2 : *kind == FaultKind::join ? 0 : 1;
  const bool several = *kind == FaultKind::partition || *kind == FaultKind::one_way;
  if (hosts.size() < needed || (!several && hosts.size() > needed)) {
    constexpr const char* kWants[] = {" wants no host", " wants one host", " wants the two hosts of the connection"};
    return Error{Code::bad_argument, name + (several ? " wants the hosts of one part" : kWants[needed])};
  }
  Fault fault{time_of(at), *kind, 5 * kSecond, std::move(hosts)};
  if (lasts) fault.lasts = time_of(*lasts);
  at_times.push_back(std::move(fault));
  return {};
}

bool FaultSettings::adds_hosts() const {
  const auto joins = [](const auto& fault) { return fault.kind == FaultKind::join; };
  return restart || std::any_of(kinds.begin(), kinds.end(), joins) ||
         std::any_of(at_times.begin(), at_times.end(), joins);
}

std::string line_of(const Fault& fault) {
  const auto* const name =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& each) { return each.second == fault.kind; });
  std::string hosts;
  for (const uint32_t host : fault.hosts) hosts += (hosts.empty() ? "" : ", ") + std::to_string(host);
  if (fault.hosts.size() > 1 || fault.kind == FaultKind::partition || fault.kind == FaultKind::one_way) {
    hosts = "{ " + hosts + " }";
  }
  std::string line = "world:at(" + text_of(fault.at) + ", \"" + std::string(name->first) + "\"";
  if (!hosts.empty()) line += ", " + hosts;
  if (has_duration(fault.kind)) line += ", " + text_of(fault.lasts);
  return line + ")";
}

std::string file_of(const std::vector<Fault>& faults, std::optional<Time> restart) {
  std::string text = "return function(world)\n";
  if (restart) text += "  world:restart(" + text_of(*restart) + ")\n";
  for (const Fault& fault : faults) text += "  " + line_of(fault) + "\n";
  return text + "end\n";
}

}  // namespace actorhost::rehearsal
