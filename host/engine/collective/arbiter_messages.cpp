#include "host/engine/collective/arbiter_messages.hpp"

#include "host/wire/packer.hpp"

namespace actorhost {

namespace {

void put(Packer& out, const CallKey& call) {
  out.put(call.group).put(static_cast<uint8_t>(call.async)).put(call.number);
}

CallKey get_call(Unpacker& in) {
  CallKey call;
  call.group = in.get<uint32_t>();
  call.async = in.get<uint8_t>() != 0;
  call.number = in.get<uint32_t>();
  return call;
}

Error get_error(Unpacker& in) {
  const auto code = in.get<Code>();
  return {code > Code::internal ? Code::internal : code, std::string(in.text())};
}

Error malformed(const char* what) { return {Code::bad_data, std::string("malformed ") + what + " of a collective"}; }

}  // namespace

std::string AppealFrame::encode() const {
  Packer out;
  put(out, call);
  out.put(rank).put(epoch).put(static_cast<uint32_t>(members.size()));
  for (const NodeId member : members) out.put(member);
  out.put(error.code).put(error.message);
  return std::move(out).bytes();
}

Result<AppealFrame> AppealFrame::decode(std::string_view meta) {
  Unpacker in(meta);
  AppealFrame out;
  out.call = get_call(in);
  out.rank = in.get<NodeId>();
  out.epoch = in.get<uint64_t>();
  out.members.resize(in.count(sizeof(NodeId)));
  for (NodeId& member : out.members) member = in.get<NodeId>();
  out.error = get_error(in);
  if (!in.done()) return malformed("appeal");
  return out;
}

std::string CaseFrame::encode() const {
  Packer out;
  put(out, call);
  const bool worked = decided && decided->outcome.ok();
  const Error error = decided && !worked ? decided->outcome.error() : Error{};
  out.put(ballot).put(rank).put(static_cast<uint8_t>(decided.has_value())).put(static_cast<uint8_t>(worked));
  out.put(decided ? decided->epoch : 0).put(error.code).put(error.message);
  return std::move(out).bytes();
}

Result<CaseFrame> CaseFrame::decode(std::string_view meta) {
  Unpacker in(meta);
  CaseFrame out;
  out.call = get_call(in);
  out.ballot = in.get<uint64_t>();
  out.rank = in.get<NodeId>();
  const bool decided = in.get<uint8_t>() != 0;
  const bool worked = in.get<uint8_t>() != 0;
  const auto epoch = in.get<uint64_t>();
  Error error = get_error(in);
  if (!in.done()) return malformed("case");
  if (decided) out.decided = Verdict{worked ? Status() : Status(std::move(error)), epoch, {}};
  return out;
}

}  // namespace actorhost
