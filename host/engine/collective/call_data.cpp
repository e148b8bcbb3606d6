// The data transfer of large calls, directly between ranks: by a schedule or as parcels.

#include <algorithm>
#include <utility>

#include "host/base/copy.hpp"
#include "host/engine/collective/call.hpp"

namespace actorhost {

namespace {

constexpr size_t kParcelBytes = size_t{256} << 20;  // of one frame; far below a link's limit
constexpr uint64_t kNoSize = uint64_t{1} << 40;     // more bytes than any rank sends
// The largest part with space reserved in advance, on the guess that all parts have the size of this rank's own part.
constexpr size_t kGuessedBytes = size_t{64} << 20;

}  // namespace

Algorithm CollectiveCall::choose(size_t bytes) const {
  return choose_algorithm(spec_.kind, bytes, group_.members, processes(), spec_.choice);
}

Status CollectiveCall::start_reduction() {
  const Algorithm algorithm = choose(spec_.input.size());
  algorithm_ = algorithm_name(algorithm);
  const Place place{group_.me, group_.members, elements(), spec_.unit, group_.homes};
  return start(make_schedule(spec_.kind, algorithm, place, spec_.root),
               {spec_.op, spec_.dtype, dtype_size(spec_.dtype), group_.members, spec_.input,
                Blob::allocate(spec_.input.size())});
}

Status CollectiveCall::start_broadcast(const Go& go) {
  const bool root = group_.me == spec_.root;
  const Algorithm algorithm = choose(go.bytes);
  algorithm_ = algorithm_name(algorithm);
  result_.parcel.head = go.about;
  // The root only sends, from its own buffer.
  auto room = root ? Result<Blob>(spec_.parcel->body) : allocate(go.bytes);
  if (!room) return give_up(room.error());
  const Blob& buffer = *room;
  return start(make_schedule(spec_.kind, algorithm, {group_.me, group_.members, go.bytes, 1, group_.homes}, spec_.root),
               {spec_.op, spec_.dtype, 1, group_.members, root ? buffer : Blob(), root ? Blob() : buffer});
}

/// Allocates the number of bytes that another rank claims to send.
Result<Blob> CollectiveCall::allocate(uint64_t bytes) const {
  if (bytes < kNoSize) {
    try {
      return Blob::allocate(bytes);
    } catch (const std::exception&) {
    }
  }
  return Error{Code::bad_data, spec_.name + ": no memory for " + std::to_string(bytes) + " bytes"};
}

Status CollectiveCall::start(const Schedule& schedule, ScheduleRun::Buffers buffers) {
  const auto send = [this](uint32_t peer, size_t begin, Blob piece) {
    return wiring_.send(peer, collective_kind::piece, pack(route_to(peer), PieceHead{group_.world, begin}),
                        std::move(piece));
  };
  ScheduleRun::Expect expect;
  if (wiring_.receive_buffers != nullptr) {
    expect = [this](uint32_t peer, size_t begin, Blob room) {
      if (!is_remote(peer)) return;
      wiring_.receive_buffers->expect(this, collective_kind::piece, wiring_.tag,
                                      pack(route(peer, group_.me), PieceHead{group_.world, begin}), std::move(room));
    };
  }
  run_ = std::make_unique<ScheduleRun>(schedule, std::move(buffers), send, loans_, ScheduleRun::kPieceBytes,
                                       std::move(expect));
  AH_TRY(run_->start());
  AH_TRY(take_early());
  return report_if_done();
}

bool CollectiveCall::is_remote(uint32_t from) const {
  return group_.homes.empty() || group_.homes[from] != group_.homes[group_.me];
}

/// Reserves space for parts before they arrive. Tensors usually have the same shape on all ranks, so each received part
/// is assumed to have the size of this rank's own part.
void CollectiveCall::expect_parts() {
  const auto& mine = spec_.outgoing[group_.me];
  const bool from_all = std::find(spec_.expected.begin(), spec_.expected.end(), false) == spec_.expected.end();
  if (!from_all || !mine || mine->body.size() < ReceiveBuffers::kMinBytes || mine->body.size() > kGuessedBytes) return;
  auto room = allocate(uint64_t{mine->body.size()} * group_.members);
  if (!room) return;  // the join of the parts will report this error
  whole_ = std::move(*room);
  part_ = mine->body.size();
  for (uint32_t from = 0; from < group_.members && wiring_.receive_buffers != nullptr; ++from) {
    if (from == group_.me || !is_remote(from)) continue;
    const ParcelHead head{group_.world, 0, part_, ""};
    wiring_.receive_buffers->expect(this, collective_kind::parcel, wiring_.tag,
                                    pack(route(from, group_.me), head.world, head.offset, head.total),
                                    place_of_part(from, part_));
  }
}

/// The reserved space of a part of `bytes` bytes; empty if there is none.
Blob CollectiveCall::place_of_part(uint32_t from, uint64_t bytes) const {
  return whole_.empty() || bytes != part_ ? Blob() : whole_.slice(from * part_, part_);
}

Status CollectiveCall::start_exchange() {
  algorithm_ = "direct";
  exchanging_ = true;
  result_.received.resize(group_.members);
  partial_parcels_.resize(group_.members);
  for (uint32_t member = 0; member < group_.members; ++member) {
    if (member != group_.me && spec_.expected[member]) ++parcels_due_;
  }
  // Each rank begins with its successor, so the ranks do not all send to the same rank.
  for (uint32_t i = 1; i < group_.members; ++i) {
    const uint32_t to = (group_.me + i) % group_.members;
    if (spec_.outgoing[to]) AH_TRY(send_parcel(to, *spec_.outgoing[to]));
  }
  if (const auto& mine = spec_.outgoing[group_.me]) {
    // Without reserved space the part is copied later, when all parts are joined.
    Blob body = place_of_part(group_.me, mine->body.size());
    if (!body.empty()) {
      copy_bytes(body.data(), mine->body.data(), body.size(), whole_.size());
    } else {
      body = spec_.joined ? mine->body : Blob::copy_of(mine->body.data(), mine->body.size());
    }
    result_.received[group_.me] = PackedValue{mine->head, std::move(body)};
  }
  AH_TRY(take_early());
  return report_if_done();
}

Status CollectiveCall::send_parcel(uint32_t to, PackedValue& parcel) {
  const size_t total = parcel.body.size();
  size_t offset = 0;
  do {
    const size_t size = std::min(kParcelBytes, total - offset);
    const ParcelHead head{group_.world, offset, total, offset == 0 ? parcel.head : ""};
    Blob body;
    if (size == total && parcel.body.unique()) {
      body = std::move(parcel.body);  // no other reader is left, so the receiver may own it
    } else if (size > 0) {
      body = loans_.lend(parcel.body, offset, size);
    }
    AH_TRY(wiring_.send(to, collective_kind::parcel, pack(route_to(to), head), std::move(body)));
    bytes_sent_ += size;
    offset += size;
  } while (offset < total);
  return {};
}

/// Handles frames that arrived before the run was started.
Status CollectiveCall::take_early() {
  std::vector<std::pair<uint32_t, Frame>> early;
  early.swap(early_);
  for (auto& [from, frame] : early) AH_TRY(take(from, std::move(frame)));
  return {};
}

Status CollectiveCall::continue_after(uint32_t from, const Status& taken) {
  if (!taken.ok() && taken.error().code == Code::bad_data) {
    return give_up({Code::bad_data,
                    spec_.name + ": rank " + std::to_string(group_.ranks[from]) + " sent " + taken.error().message});
  }
  AH_TRY(taken);
  return report_if_done();
}

Status CollectiveCall::on_piece(uint32_t from, Frame&& frame) {
  auto head = read_behind_route<PieceHead>(frame);
  if (!head) return malformed(from, frame.kind, head.error());
  if (head->world != group_.world) return {};  // the leader will report the changed membership
  if (!run_) {
    early_.emplace_back(from, std::move(frame));
    return {};
  }
  return continue_after(from, run_->take(from, head->begin, std::move(frame.body)));
}

Status CollectiveCall::on_parcel(uint32_t from, Frame&& frame) {
  auto head = read_behind_route<ParcelHead>(frame);
  if (!head) return malformed(from, frame.kind, head.error());
  if (head->world != group_.world) return {};
  if (!exchanging_) {
    early_.emplace_back(from, std::move(frame));
    return {};
  }
  PackedValue& partial = partial_parcels_[from];
  const size_t bytes = frame.body.size();
  const bool whole = head->total == bytes;
  const bool due = !result_.received[from] && spec_.expected[from];
  if (!due || head->offset > head->total || bytes > head->total - head->offset || (!whole && bytes == 0)) {
    return give_up(
        {Code::bad_data, spec_.name + ": rank " + std::to_string(group_.ranks[from]) + " sent an unexpected parcel"});
  }
  bool in_place = false;
  if (head->offset == 0) {
    partial.head = std::move(head->about);
    partial.body = place_of_part(from, head->total);
    if (partial.body.empty() && whole) {
      partial.body = own_copy(std::move(frame.body));
      in_place = true;
    } else if (partial.body.empty()) {
      auto room = allocate(head->total);
      if (!room) return give_up(room.error());
      partial.body = std::move(*room);
    }
  }
  if (partial.body.size() != head->total) return give_up({Code::bad_data, spec_.name + ": a parcel without a start"});
  std::byte* here = partial.body.data() + head->offset;
  if (!in_place && here != frame.body.data()) copy_bytes(here, frame.body.data(), bytes, head->total);
  if (head->offset + bytes < head->total) return {};
  result_.received[from] = std::exchange(partial, {});
  --parcels_due_;
  return report_if_done();
}

/// Takes the result from the run's buffer.
void CollectiveCall::collect_result() {
  if (spec_.kind == CollectiveKind::broadcast) {
    result_.parcel.body = group_.me == spec_.root ? spec_.parcel->body : run_->result();
    return;
  }
  const size_t size = dtype_size(spec_.dtype);
  const Span span = result_span(group_.me);
  if (span.size() < elements()) {  // a slice would retain the whole buffer
    result_.buffer = Blob::copy_of(run_->result().data() + span.begin * size, span.size() * size);
  } else {
    result_.buffer = run_->result();
  }
}

}  // namespace actorhost
