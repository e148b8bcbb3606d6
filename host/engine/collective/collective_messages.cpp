#include "host/engine/collective/collective_messages.hpp"

namespace actorhost {

namespace {

Error malformed(const char* what) { return {Code::bad_data, std::string("malformed ") + what + " of a collective"}; }

/// Past the route, which whoever picked the frame out has read.
Unpacker after_route(std::string_view meta) {
  Unpacker in(meta);
  in.get<uint32_t>();
  in.get<uint32_t>();
  in.get<uint32_t>();
  return in;
}

}  // namespace

std::optional<Route> Route::of(const Frame& frame) {
  Unpacker in(frame.meta.view());
  Route route;
  route.group = in.get<uint32_t>();
  route.from = in.get<NodeId>();
  route.to = in.get<NodeId>();
  return in.ok() ? std::optional(route) : std::nullopt;
}

std::string Announce::encode(const Route& route) const {
  Packer out;
  route.put(out);
  out.put(world)
      .put(epoch)
      .put(actions)
      .put(static_cast<uint8_t>(inlined))
      .put(bytes)
      .put(about)
      .put(signature)
      .put(where)
      .put(stale)
      .put(joined);
  return std::move(out).bytes();
}

Result<Announce> Announce::decode(std::string_view meta) {
  Unpacker in = after_route(meta);
  Announce out;
  out.world = in.get<uint64_t>();
  out.epoch = in.get<uint64_t>();
  out.actions = in.get<uint32_t>();
  out.inlined = in.get<uint8_t>() != 0;
  out.bytes = in.get<uint64_t>();
  out.about = in.text();
  out.signature = in.text();
  out.where = in.words();
  out.stale = in.text();
  out.joined = in.get<NodeId>();
  if (!in.done()) return malformed("announcement");
  return out;
}

std::string ResultHead::encode(const Route& route) const {
  Packer out;
  route.put(out);
  return std::move(out.put(static_cast<uint8_t>(final))).bytes();
}

Result<ResultHead> ResultHead::decode(std::string_view meta) {
  Unpacker in = after_route(meta);
  const ResultHead out{in.get<uint8_t>() != 0};
  if (!in.done()) return malformed("result");
  return out;
}

std::string Go::encode(const Route& route) const {
  Packer out;
  route.put(out);
  out.put(bytes).put(about);
  return std::move(out).bytes();
}

Result<Go> Go::decode(std::string_view meta) {
  Unpacker in = after_route(meta);
  Go out;
  out.bytes = in.get<uint64_t>();
  out.about = in.text();
  if (!in.done()) return malformed("start");
  return out;
}

std::string PieceHead::encode(const Route& route) const {
  Packer out;
  route.put(out);
  out.put(world).put(begin);
  return std::move(out).bytes();
}

Result<PieceHead> PieceHead::decode(std::string_view meta) {
  Unpacker in = after_route(meta);
  PieceHead out;
  out.world = in.get<uint64_t>();
  out.begin = in.get<uint64_t>();
  if (!in.done()) return malformed("piece");
  return out;
}

std::string ParcelHead::front(const Route& route) const {
  Packer out;
  route.put(out);
  out.put(world).put(offset).put(total);
  return std::move(out).bytes();
}

std::string ParcelHead::encode(const Route& route) const {
  Packer out;
  out.put(about);
  return front(route) + out.bytes();
}

Result<ParcelHead> ParcelHead::decode(std::string_view meta) {
  Unpacker in = after_route(meta);
  ParcelHead out;
  out.world = in.get<uint64_t>();
  out.offset = in.get<uint64_t>();
  out.total = in.get<uint64_t>();
  out.about = in.text();
  if (!in.done() || out.offset > out.total) return malformed("parcel");
  return out;
}

std::string Missing::encode(const Route& route) const {
  Packer out;
  route.put(out);
  for (const std::vector<uint32_t>* list : {&absent, &unfinished}) {
    out.put(static_cast<uint32_t>(list->size()));
    for (const uint32_t member : *list) out.put(member);
  }
  return std::move(out).bytes();
}

Result<Missing> Missing::decode(std::string_view meta) {
  Unpacker in = after_route(meta);
  Missing out;
  for (std::vector<uint32_t>* list : {&out.absent, &out.unfinished}) {
    list->resize(in.count(sizeof(uint32_t)));
    for (uint32_t& member : *list) member = in.get<uint32_t>();
  }
  if (!in.done()) return malformed("list of the missing");
  return out;
}

std::string Failure::encode(const Route& route) const {
  Packer out;
  route.put(out);
  out.put(epoch).put(error.code).put(error.message).put(joined);
  return std::move(out).bytes();
}

Result<Failure> Failure::decode(std::string_view meta) {
  Unpacker in = after_route(meta);
  Failure out;
  out.epoch = in.get<uint64_t>();
  const auto code = in.get<Code>();
  out.error = {code > Code::internal ? Code::internal : code, in.words()};
  out.joined = in.get<NodeId>();
  if (!in.done()) return malformed("verdict");
  return out;
}

std::string JoinPoint::encode() const {
  Packer out;
  out.put(calls).put(async_calls).put(actions).put(epoch).put(late).put(static_cast<uint32_t>(ids.size()));
  for (const NodeId id : ids) out.put(id);
  return std::move(out).bytes();
}

Result<JoinPoint> JoinPoint::decode(std::string_view bytes) {
  Unpacker in(bytes);
  JoinPoint out;
  out.calls = in.get<uint32_t>();
  out.async_calls = in.get<uint32_t>();
  out.actions = in.get<uint32_t>();
  out.epoch = in.get<uint64_t>();
  out.late = in.get<uint32_t>();
  out.ids.resize(in.count(sizeof(NodeId)));
  for (NodeId& id : out.ids) id = in.get<NodeId>();
  if (!in.done() || out.late > out.ids.size()) return malformed("join_point");
  return out;
}

std::string ranks_text(const std::vector<uint32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

Error late_error(const std::string& name, const std::vector<uint32_t>& late, const std::string& lines) {
  return {Code::timeout, name + ": " + ranks_text(late) + (late.size() == 1 ? " has" : " have") +
                             " not answered in time" + (lines.empty() ? "" : " (last collective: " + lines + ")")};
}

Blob pack_parcels(const std::vector<std::optional<Parcel>>& parcels) {
  Packer out;
  for (const std::optional<Parcel>& parcel : parcels) {
    out.put(static_cast<uint8_t>(parcel.has_value()));
    if (parcel) out.put(parcel->about).put(parcel->body.view());
  }
  return Blob::copy_of(out.bytes());
}

Result<std::vector<std::optional<Parcel>>> unpack_parcels(std::string_view bytes, size_t count) {
  Unpacker in(bytes);
  std::vector<std::optional<Parcel>> parcels(count);
  for (std::optional<Parcel>& parcel : parcels) {
    if (in.get<uint8_t>() == 0) continue;
    std::string about(in.text());
    parcel = Parcel{std::move(about), Blob::copy_of(in.text())};
  }
  if (!in.done()) return malformed("contribution");
  return parcels;
}

}  // namespace actorhost
