#include "host/engine/peer/peer_keys.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr double kPartsTidy = 30;  // seconds between checks for parts without a value

}  // namespace

PeerKeys::PeerKeys(Overlay& overlay, uint32_t copies, size_t part_bytes)
    : calls_(overlay.self()),
      log_(calls_, table_, ranges_),
      sync_(calls_, table_),
      reconfiguration_({overlay, calls_, table_, ranges_, log_, sync_, liveness_}, copies),
      client_(overlay),
      values_(overlay, client_, part_bytes),
      holder_(overlay, calls_, table_, log_, reconfiguration_, client_) {
  reconfiguration_.on_progress([this] {
    holder_.pass_again();
    holder_.retry_waiting();
  });
}

bool PeerKeys::has_staged(Mark below) const {
  return std::any_of(ranges_.all().begin(), ranges_.all().end(),
                     [&](const auto& entry) { return entry.second.holds && table_.staged(entry.second.arc, below); });
}

namespace {

template <typename M, typename Act>
Status with_head(const Frame& frame, Unpacker& in, const Act& act) {
  const auto head = unpack_head<M>(in);
  if (!head.ok()) return malformed(frame, head.error().message);
  act(*head);
  return {};
}

}  // namespace

Status PeerKeys::on_frame(Frame&& frame, double now) {
  calls_.set_now(now);
  Unpacker envelope_in(frame.meta.view());
  const auto envelope = unpack_head<Envelope>(envelope_in);
  if (!envelope.ok() || courier_address(envelope->from.process) != frame.src) {
    return malformed(frame, envelope.ok() ? "its sender names another process" : envelope.error().message);
  }
  Unpacker in(frame.meta.view());
  switch (static_cast<uint16_t>(frame.kind)) {
    case static_cast<uint16_t>(peer_kind::request):
      return with_head<KeyRequest>(
          frame, in, [&](const KeyRequest& request) { holder_.on_request(std::move(frame), request, in); });
    case static_cast<uint16_t>(peer_kind::reply):
      return with_head<KeyReply>(frame, in,
                                 [&](const KeyReply& reply) { client_.on_reply(std::move(frame), reply, in, now); });
    case static_cast<uint16_t>(peer_kind::probe):
      return with_head<Envelope>(frame, in, [&](const Envelope& probe) { holder_.on_probe(frame, probe); });
    case static_cast<uint16_t>(peer_kind::departed):
      liveness_.lose_node(envelope->from.node);
      forget([node = envelope->from.node](const Peer& peer) { return peer.node == node; });
      return {};
    case static_cast<uint16_t>(peer_kind::written):
      return with_head<Written>(frame, in, [&](const Written& written) { log_.on_written(written); });
    default: return take(std::move(frame));
  }
}

Status PeerKeys::take(Frame&& frame) {
  const auto reconfigure = [&]<typename M>(void (GroupReconfiguration::*on)(const Frame&, const M&)) -> Status {
    const auto message = read_message<M>(frame);
    if (!message.ok()) return malformed(frame, message.error().message);
    (reconfiguration_.*on)(frame, *message);
    return {};
  };
  if (frame.kind == peer_kind::write) return log_.on_write(std::move(frame));
  if (frame.kind == peer_kind::query) return reconfigure(&GroupReconfiguration::on_query);
  if (frame.kind == peer_kind::claim) return reconfigure(&GroupReconfiguration::on_claim);
  if (frame.kind == peer_kind::adopt) return reconfigure(&GroupReconfiguration::on_adopt);
  if (frame.kind == peer_kind::settle) return reconfigure(&GroupReconfiguration::on_settle);
  if (frame.kind == peer_kind::renew) return reconfigure(&GroupReconfiguration::on_renew);
  if (frame.kind == peer_kind::sums) return sync_.on_sums(frame);
  if (frame.kind == peer_kind::copy) return sync_.on_copy(frame);
  if (frame.kind == peer_kind::copied) return sync_.on_copied(std::move(frame));
  for (const Kind reply : {peer_kind::ranges, peer_kind::promise, peer_kind::adopted, peer_kind::settled,
                           peer_kind::renewed, peer_kind::summed}) {
    if (frame.kind != reply) continue;
    Unpacker in(frame.meta.view());
    return with_head<Envelope>(frame, in,
                               [&](const Envelope& envelope) { calls_.take_reply(frame, envelope.from.node); });
  }
  return malformed(frame, "peers have no such message");
}

void PeerKeys::forget(const LostPeer& lost) {
  holder_.forget(lost);
  log_.forget(lost);
  sync_.forget(lost);
  calls_.lose(lost);
}

void PeerKeys::lose_process(ProcessId process, double now) {
  calls_.set_now(now);
  forget([process](const Peer& peer) { return peer.process == process; });
  liveness_.lose_process(process);
  client_.lose_process(process, now);
}

double PeerKeys::tick(double now) {
  calls_.set_now(now);
  const double tidied = tidy_parts(now);
  return std::min({calls_.tick(), log_.tick(), reconfiguration_.tick(), holder_.tick(), client_.tick(now), tidied});
}

double PeerKeys::tidy_parts(double now) {
  for (const KeyTable::Dropped& dropped : log_.take_dropped()) values_.remove(dropped.key, dropped.value, now);
  const KeyRange* range = now >= next_tidy_ ? reconfiguration_.leads(calls_.self().id) : nullptr;
  if (range == nullptr) return std::max(now + kPartsTidy / 10, next_tidy_);
  next_tidy_ = now + kPartsTidy;
  std::vector<ParamKey> parts = table_.keys(range->arc);
  std::erase_if(parts, [](const ParamKey& key) { return !key.is_part(); });
  if (!parts.empty()) values_.remove_strays(parts, now);
  return next_tidy_;
}

void PeerKeys::publish(LedState& state) {
  const uint64_t changes = table_.changes() + ranges_.changes();
  if (std::exchange(published_changes_, changes) != changes) state.change();
  state.lead_until(reconfiguration_.leads(calls_.self().id) != nullptr ? reconfiguration_.leased_until() : 0);
}

std::vector<Frame> PeerKeys::take_frames() {
  std::vector<Frame> frames = client_.take_frames();
  for (Frame& frame : calls_.take_frames()) frames.push_back(std::move(frame));
  return frames;
}

}  // namespace actorhost
