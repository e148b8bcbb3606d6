#include "host/engine/average/average_messages.hpp"

#include <algorithm>

#include "host/wire/packer.hpp"

namespace actorhost {

namespace {

Error malformed(const char* what) { return {Code::bad_data, std::string("malformed ") + what + " of an average"}; }

template <typename Enum>
bool within(Enum value, Enum last) {
  return value <= last;
}

}  // namespace

std::string Report::encode() const {
  Packer out;
  out.put(what).put(node).put(static_cast<uint8_t>(fresh)).put(static_cast<uint8_t>(warm));
  out.put(options.peers).put(options.interval).put(options.deadline).put(options.seed);
  out.put(static_cast<uint8_t>(options.filtered));
  return std::move(out).bytes();
}

Result<Report> Report::decode(std::string_view meta) {
  Unpacker in(meta);
  Report out;
  out.what = in.get<What>();
  out.node = in.get<NodeId>();
  out.fresh = in.get<uint8_t>() != 0;
  out.warm = in.get<uint8_t>() != 0;
  out.options.peers = in.get<AveragePattern>();
  out.options.interval = in.get<double>();
  out.options.deadline = in.get<double>();
  out.options.seed = in.get<uint64_t>();
  out.options.filtered = in.get<uint8_t>() != 0;
  const bool sound = within(out.what, What::leave) && within(out.options.peers, AveragePattern::pairs) &&
                     out.options.interval >= 0 && out.options.deadline >= 0;
  if (!in.done() || !sound) return malformed("report");
  return out;
}

std::string RoundOpen::encode() const {
  Packer out;
  out.put(round).put(static_cast<uint8_t>(full)).put(static_cast<uint32_t>(nodes.size()));
  for (const NodeId node : nodes) out.put(node);
  return std::move(out).bytes();
}

Result<RoundOpen> RoundOpen::decode(std::string_view meta) {
  Unpacker in(meta);
  RoundOpen out;
  out.round = in.get<uint32_t>();
  out.full = in.get<uint8_t>() != 0;
  const uint32_t count = in.count(sizeof(NodeId));
  for (uint32_t i = 0; i < count; ++i) out.nodes.push_back(in.get<NodeId>());
  if (!in.done()) return malformed("opening");
  return out;
}

std::string RoundReady::encode() const {
  Packer out;
  out.put(round).put(static_cast<uint32_t>(answers.size()));
  for (const Answer& answer : answers) {
    out.put(answer.node).put(static_cast<uint8_t>(answer.copied)).put(answer.message);
  }
  return std::move(out).bytes();
}

Result<RoundReady> RoundReady::decode(std::string_view meta) {
  Unpacker in(meta);
  RoundReady out;
  out.round = in.get<uint32_t>();
  const uint32_t count = in.count(9);
  for (uint32_t i = 0; i < count; ++i) {
    const auto node = in.get<NodeId>();
    const bool copied = in.get<uint8_t>() != 0;
    out.answers.push_back({node, copied, in.words()});
  }
  if (!in.done()) return malformed("answer");
  return out;
}

uint32_t RoundGo::weights() const noexcept {
  return static_cast<uint32_t>(
      std::count_if(participants.begin(), participants.end(), [](const Participant& p) { return p.weighted; }));
}

std::string RoundGo::encode() const {
  Packer out;
  out.put(round).put(pattern).put(static_cast<uint8_t>(coded)).put(static_cast<uint32_t>(participants.size()));
  for (const Participant& p : participants) out.put(p.node).put(p.process).put(static_cast<uint8_t>(p.weighted));
  return std::move(out).bytes();
}

Result<RoundGo> RoundGo::decode(std::string_view meta) {
  Unpacker in(meta);
  RoundGo out;
  out.round = in.get<uint32_t>();
  out.pattern = in.get<AveragePattern>();
  out.coded = in.get<uint8_t>() != 0;
  const uint32_t count = in.count(9);
  for (uint32_t i = 0; i < count; ++i) {
    const auto node = in.get<NodeId>();
    const auto process = in.get<ProcessId>();
    out.participants.push_back({node, process, in.get<uint8_t>() != 0});
  }
  if (!in.done() || !within(out.pattern, AveragePattern::pairs) || out.weights() == 0) return malformed("start");
  return out;
}

std::string AveragePiece::encode() const {
  Packer out;
  out.put(round).put(source).put(segment).put(begin);
  return std::move(out).bytes();
}

Result<AveragePiece> AveragePiece::decode(std::string_view meta) {
  Unpacker in(meta);
  AveragePiece out;
  out.round = in.get<uint32_t>();
  out.source = in.get<uint32_t>();
  out.segment = in.get<uint8_t>();
  out.begin = in.get<uint64_t>();
  if (!in.done()) return malformed("piece");
  return out;
}

std::string RoundDone::encode() const {
  Packer out;
  out.put(round).put(static_cast<uint8_t>(ok));
  return std::move(out).bytes();
}

Result<RoundDone> RoundDone::decode(std::string_view meta) {
  Unpacker in(meta);
  RoundDone out;
  out.round = in.get<uint32_t>();
  out.ok = in.get<uint8_t>() != 0;
  if (!in.done()) return malformed("end");
  return out;
}

std::string RoundVerdict::encode() const {
  Packer out;
  out.put(round).put(outcome).put(why).put(message);
  return std::move(out).bytes();
}

Result<RoundVerdict> RoundVerdict::decode(std::string_view meta) {
  Unpacker in(meta);
  RoundVerdict out;
  out.round = in.get<uint32_t>();
  out.outcome = in.get<Outcome>();
  out.why = in.get<RoundWhy>();
  out.message = in.words();
  if (!in.done() || !within(out.outcome, Outcome::failed) || !within(out.why, RoundWhy::abort)) {
    return malformed("verdict");
  }
  return out;
}

}  // namespace actorhost
