#include "host/sim/scenario.hpp"

#include <cmath>
#include <optional>
#include <string_view>

#include "host/base/number.hpp"

namespace actorhost {

namespace {

Error bad_value(const char* parameter, const std::string& text, const char* form) {
  return {Code::bad_argument, std::string(parameter) + " wants " + form + ", got '" + text + "'"};
}

Error bad(const std::string& message) { return {Code::bad_argument, message}; }

}  // namespace

Result<Stragglers> Stragglers::parse(const std::string& text) {
  const char* form = "SHARE:FACTORx or SHARE:FACTORx@SECONDS, a share from 0 to 1 and a factor of 1 or more";
  Stragglers out;
  std::string rest = text;
  if (const size_t at = rest.find('@'); at != std::string::npos) {
    const auto change = finite_number(std::string_view(rest).substr(at + 1));
    if (!change || !(*change > 0)) return bad_value("straggler", text, form);
    out.change = *change;
    rest.resize(at);
  }
  const size_t colon = rest.find(':');
  std::string factor = colon == std::string::npos ? "1" : rest.substr(colon + 1);
  if (factor.ends_with('x')) factor.pop_back();
  const auto share = finite_number(std::string_view(rest).substr(0, colon));
  const auto times = finite_number(factor);
  const bool none = share && *share == 0 && colon == std::string::npos;
  if (!share || !times || !(*share >= 0 && *share <= 1) || !(*times >= 1) || (colon == std::string::npos && !none)) {
    return bad_value("straggler", text, form);
  }
  out.share = *share;
  out.factor = *times;
  return out;
}

Result<Churn> Churn::parse(const std::string& text) {
  const size_t colon = text.find(':');
  const auto joins = finite_number(std::string_view(text).substr(0, colon));
  const auto leaves =
      colon == std::string::npos ? std::nullopt : finite_number(std::string_view(text).substr(colon + 1));
  if (!joins || !leaves || *joins < 0 || *leaves < 0) {
    return bad_value("churn", text, "JOIN:LEAVE, nodes that join and leave each second, 0 or more");
  }
  return Churn{*joins, *leaves};
}

Result<Failures> Failures::parse(const std::string& text) {
  const size_t colon = text.find(':');
  const auto life = finite_number(std::string_view(text).substr(0, colon));
  const auto repair =
      colon == std::string::npos ? std::optional(0.0) : finite_number(std::string_view(text).substr(colon + 1));
  if (!life || !repair || *life < 0 || *repair < 0) {
    return bad_value("failures", text,
                     "LIFE or LIFE:REPAIR, the mean seconds until a node crashes and until a new node joins");
  }
  Failures out;
  out.mean_life = *life;
  out.repair = *repair;
  return out;
}

Result<Topology> Topology::parse(const std::string& text) {
  Topology out;
  if (text == "oracle") return out;
  if (text == "peers") {
    out.kind = Kind::peers;
    return out;
  }
  if (text == "server" || text.starts_with("server:")) {
    out.kind = Kind::server;
    const auto shards = text == "server" ? std::optional(1.0) : finite_number(std::string_view(text).substr(7));
    if (shards && *shards >= 1 && *shards <= 256 && *shards == std::floor(*shards)) {
      out.shards = static_cast<uint32_t>(*shards);
      return out;
    }
  }
  return bad_value("topology", text, "oracle, server:SHARDS with 1 to 256 shards, or peers");
}

Status Scenario::check() const {
  if (nodes == 0 || nodes > kMaxNodes) return bad("nodes has to be from 1 to " + std::to_string(kMaxNodes));
  if (!(seconds > 0) || !std::isfinite(seconds)) return bad("time has to be a number of seconds above 0");
  if (!(loss >= 0 && loss < 1)) return bad("loss has to be a share from 0 to below 1");
  if (!(retry > 0) || !std::isfinite(retry)) return bad("retry has to be a number of seconds above 0");
  if (!(topology.bandwidth >= 0 && topology.bytes >= 0)) return bad("bandwidth and bytes have to be 0 or more");
  if (!(failures.detect > 0)) return bad("the seconds until a crash is noticed have to be above 0");
  const double most = nodes + (churn.joins + (failures.mean_life > 0 ? nodes / failures.mean_life : 0)) * seconds;
  if (most > kMaxNodes) return bad("more than " + std::to_string(kMaxNodes) + " nodes would join: lower churn or time");
  if (replay == nullptr) {
    if (!(work.mean() > 0))
      return bad("work '" + work.text() + "' takes no time: steps without end would fit into the run");
    if (!speed.zero() && !(speed.mean() > 0))
      return bad("speed '" + speed.text() + "' takes no time: steps without end would fit into the run");
    return {};
  }
  if (replay->nodes.empty()) return bad("the trace holds no node");
  for (size_t i = 0; i < replay->nodes.size(); ++i) {
    double sum = 0;
    for (const Replay::Step& step : replay->nodes[i].steps) sum += step.work + step.network;
    if (!(sum > 0)) return bad("worker " + std::to_string(i) + " of the trace has completed no step");
  }
  return {};
}

}  // namespace actorhost
