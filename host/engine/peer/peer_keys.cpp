#include "host/engine/peer/peer_keys.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr double kPartsTidy = 30;  // seconds between checks for parts without a value

}  // namespace

PeerKeys::PeerKeys(Overlay& overlay, uint32_t copies, size_t part_bytes)
    : calls_([&overlay] { return overlay.self(); }),
      log_(calls_, table_, ranges_),
      sync_(calls_, table_),
      succession_({overlay, calls_, table_, ranges_, log_, sync_}, copies),
      client_(overlay),
      values_(overlay, client_, part_bytes),
      holder_(overlay, calls_, table_, log_, succession_, client_) {
  succession_.on_progress([this] {
    holder_.pass_again();
    holder_.look();
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
    case static_cast<uint16_t>(peer_kind::ask):
      return with_head<Ask>(frame, in, [&](const Ask& ask) { holder_.on_ask(std::move(frame), ask, in); });
    case static_cast<uint16_t>(peer_kind::told):
      return with_head<Told>(frame, in, [&](const Told& told) { client_.on_told(std::move(frame), told, in, now); });
    case static_cast<uint16_t>(peer_kind::poke):
      return with_head<Envelope>(frame, in, [&](const Envelope& poke) { holder_.on_poke(frame, poke); });
    case static_cast<uint16_t>(peer_kind::departed):
      succession_.lose_node(envelope->from.node);
      calls_.lose_node(envelope->from.node);
      return {};
    case static_cast<uint16_t>(peer_kind::written):
      return with_head<Written>(frame, in, [&](const Written& written) { log_.on_written(written); });
    default: return take(std::move(frame));
  }
}

Status PeerKeys::take(Frame&& frame) {
  if (frame.kind == peer_kind::write) return log_.on_write(std::move(frame));
  if (frame.kind == peer_kind::who) return succession_.on_who(frame);
  if (frame.kind == peer_kind::claim) return succession_.on_claim(frame);
  if (frame.kind == peer_kind::adopt) return succession_.on_adopt(frame);
  if (frame.kind == peer_kind::settle) return succession_.on_settle(frame);
  if (frame.kind == peer_kind::renew) return succession_.on_renew(frame);
  if (frame.kind == peer_kind::sums) return sync_.on_sums(frame);
  if (frame.kind == peer_kind::copy) return sync_.on_copy(frame);
  if (frame.kind == peer_kind::copied) return sync_.on_copied(std::move(frame));
  for (const Kind answer : {peer_kind::known, peer_kind::promise, peer_kind::adopted, peer_kind::settled,
                            peer_kind::renewed, peer_kind::summed}) {
    if (frame.kind != answer) continue;
    Unpacker in(frame.meta.view());
    return with_head<Envelope>(frame, in,
                               [&](const Envelope& envelope) { calls_.take_answer(frame, envelope.from.node); });
  }
  return malformed(frame, "peers have no such message");
}

void PeerKeys::lose_process(ProcessId process, double now) {
  calls_.set_now(now);
  succession_.lose_process(process);
  calls_.lose_process(process);
  client_.lose_process(process, now);
}

double PeerKeys::tick(double now) {
  calls_.set_now(now);
  const double tidied = tidy_parts(now);
  return std::min({calls_.tick(), log_.tick(), succession_.tick(), holder_.tick(), client_.tick(now), tidied});
}

double PeerKeys::tidy_parts(double now) {
  for (const KeyTable::Dropped& dropped : log_.take_dropped()) values_.remove(dropped.key, dropped.value, now);
  const KeyRange* range = now >= next_tidy_ ? succession_.leads(calls_.self().id) : nullptr;
  if (range == nullptr) return std::max(now + kPartsTidy / 10, next_tidy_);
  next_tidy_ = now + kPartsTidy;
  std::vector<ParamKey> parts = table_.keys(range->arc);
  std::erase_if(parts, [](const ParamKey& key) { return !key.is_part(); });
  if (!parts.empty()) values_.look_for_strays(parts, now);
  return next_tidy_;
}

void PeerKeys::tell(LedState& state) {
  const uint64_t changes = table_.changes() + ranges_.changes();
  if (std::exchange(told_changes_, changes) != changes) state.change();
  state.lead_until(succession_.leads(calls_.self().id) != nullptr ? succession_.leased_until() : 0);
}

std::vector<Frame> PeerKeys::take_frames() {
  std::vector<Frame> frames = client_.take_frames();
  for (Frame& frame : calls_.take_frames()) frames.push_back(std::move(frame));
  return frames;
}

}  // namespace actorhost
