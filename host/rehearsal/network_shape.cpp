#include "host/rehearsal/network_shape.hpp"

#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "host/base/nearest.hpp"
#include "host/base/number.hpp"
#include "host/base/outside_json.hpp"
#include "host/rehearsal/virtual_time.hpp"

namespace actorhost::rehearsal {

namespace {

constexpr uint32_t kMostGroups = 65'000;

struct Preset {
  std::string_view name;
  bool grouped;
  std::string_view between_latency;
  std::string_view between_bandwidth;
};
constexpr Preset kPresets[] = {{"switch", false, "", ""},
                               {"racks", true, "0.0001+uniform(0,0.0003)", "40Gbit"},
                               {"sites", true, "0.02+uniform(0,0.002)", "1Gbit"}};

struct Setting {
  std::string key;
  std::string value;
};

Error wrong(const std::string& part, const std::string& wants) {
  return {Code::bad_argument, "--network: '" + part + "': " + wants};
}

std::optional<double> bandwidth_in(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}};
  if (text == "unlimited") return 0;
  for (const auto& [unit, bits] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const auto number = finite_number(text.substr(0, text.size() - unit.size()));
    if (!number || !(*number > 0)) return {};
    return *number * bits / 8;
  }
  return {};
}

Result<double> bandwidth_of_setting(const Setting& setting) {
  if (const auto bandwidth = bandwidth_in(setting.value)) return *bandwidth;
  return wrong(setting.key + "=" + setting.value, "wants a bandwidth such as 10Gbit, 100Mbit, 64kbit or unlimited");
}

Result<Distribution> latency_of_setting(const Setting& setting) {
  if (const auto time = time_in(setting.value)) return Distribution::parse(std::to_string(*time) + "e-9");
  auto latency = Distribution::parse(setting.value);
  if (latency.ok()) return latency;
  return wrong(setting.key + "=" + setting.value,
               "wants a time such as 50us or 20ms, or a distribution in seconds: " + latency.error().message);
}

/// The settings of "a=1,b=exp(1),c": commas inside of parentheses separate nothing. A part without '=' is the shape.
std::vector<Setting> settings_of(const std::string& text) {
  std::vector<Setting> out;
  std::string part;
  int depth = 0;
  for (const char letter : text + ",") {
    depth += letter == '(' ? 1 : letter == ')' ? -1 : 0;
    if (letter != ',' || depth > 0) {
      part += letter;
      continue;
    }
    const size_t equals = part.find('=');
    if (equals == std::string::npos) {
      out.push_back({"shape", std::exchange(part, {})});
    } else {
      out.push_back({part.substr(0, equals), part.substr(equals + 1)});
      part.clear();
    }
  }
  return out;
}

Status take_shape(const std::string& text, NetworkShape& out) {
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  std::vector<std::string> known;
  for (const Preset& preset : kPresets) {
    known.emplace_back(preset.name);
    if (preset.name != name) continue;
    if (!preset.grouped) {
      if (colon != std::string::npos) return wrong(text, "a switch has no groups");
      return {};
    }
    const auto groups =
        colon == std::string::npos ? std::optional<uint32_t>(2) : number_of<uint32_t>(text.substr(colon + 1));
    if (!groups || *groups < 1 || *groups > kMostGroups) {
      return wrong(text, "wants a number of groups, as in " + name + ":4");
    }
    out.groups = *groups;
    out.between = {Distribution::parse(preset.between_latency).value(), *bandwidth_in(preset.between_bandwidth)};
    return {};
  }
  return wrong(
      text, "knows the shapes switch, racks:N and sites:N, and the names of JSON files" + suggestion(name, known, ""));
}

Status take_setting(const Setting& setting, NetworkShape& out) {
  if (setting.key == "shape") return take_shape(setting.value, out);
  for (const auto& [key, link] : {std::pair{std::string(), &out.within}, {std::string("between-"), &out.between}}) {
    if (setting.key == key + "latency") {
      AH_LET(link->latency, latency_of_setting(setting));
      return {};
    }
    if (setting.key == key + "bandwidth") {
      AH_LET(link->bandwidth, bandwidth_of_setting(setting));
      return {};
    }
  }
  const std::vector<std::string> known = {"latency", "bandwidth", "between-latency", "between-bandwidth"};
  return wrong(setting.key,
               "knows latency, bandwidth, between-latency and between-bandwidth" + suggestion(setting.key, known, ""));
}

Result<std::vector<Setting>> settings_of_file(const std::string& name) {
  std::ifstream file(name);
  if (!file) return Error{Code::io, "--network: cannot read " + name};
  std::stringstream text;
  text << file.rdbuf();
  const nlohmann::json json = parse_outside_json(text.str());
  if (!json.is_object()) return Error{Code::bad_argument, "--network: " + name + " is not a JSON object"};
  std::vector<Setting> out;
  for (const auto& [key, value] : json.items()) {
    if (key == "hosts" && value.is_object()) {
      for (const auto& [host, bandwidth] : value.items()) {
        out.push_back({"hosts." + host, bandwidth.is_string() ? bandwidth.get<std::string>() : json_text(bandwidth)});
      }
      continue;
    }
    Setting setting{key, value.is_string() ? value.get<std::string>() : json_text(value)};
    // The shape sets defaults, which other keys replace.
    out.insert(key == "shape" ? out.begin() : out.end(), std::move(setting));
  }
  return out;
}

}  // namespace

NetworkShape::NetworkShape() {
  within = {Distribution::parse("0.00005+uniform(0,0.0003)").value(), *bandwidth_in("10Gbit")};
}

Result<NetworkShape> NetworkShape::parse(const std::string& text) {
  std::vector<Setting> settings;
  const bool file = text.ends_with(".json");
  if (file) {
    AH_LET(settings, settings_of_file(text));
  } else {
    settings = settings_of(text);
  }
  NetworkShape out;
  for (const Setting& setting : settings) {
    if (!file || !setting.key.starts_with("hosts.")) {
      AH_TRY(take_setting(setting, out));
      continue;
    }
    const auto host = number_of<uint32_t>(std::string_view(setting.key).substr(6));
    if (!host) return wrong(setting.key, "wants the number of a host, as in \"hosts\": {\"3\": \"100Mbit\"}");
    AH_LET(out.hosts_of_own[*host], bandwidth_of_setting(setting));
  }
  return out;
}

double NetworkShape::bandwidth_of(uint32_t host) const {
  const auto own = hosts_of_own.find(host);
  return own == hosts_of_own.end() ? within.bandwidth : own->second;
}

}  // namespace actorhost::rehearsal
