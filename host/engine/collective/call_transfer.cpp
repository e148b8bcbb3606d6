#include "host/engine/collective/call_transfer.hpp"

#include <algorithm>

#include "host/base/copy.hpp"

namespace actorhost {

namespace {

constexpr size_t kParcelBytes = size_t{256} << 20;  // of one frame; far below a link's limit
constexpr uint64_t kNoSize = uint64_t{1} << 40;     // more bytes than any rank sends
// The largest part with space reserved in advance, on the guess that all parts have the size of this rank's own part.
constexpr size_t kGuessedBytes = size_t{64} << 20;

}  // namespace

Algorithm CallTransfer::choose(size_t bytes) {
  const Algorithm algorithm = choose_algorithm(spec_.kind, bytes, group_.members, group_.process_count(), spec_.choice);
  algorithm_ = algorithm_name(algorithm);
  return algorithm;
}

Status CallTransfer::start(const Go& go) {
  if (run_ || exchanging_) return {};
  if (spec_.kind == CollectiveKind::broadcast) return start_broadcast(go);
  return spec_.kind == CollectiveKind::exchange ? start_exchange() : Status();
}

Status CallTransfer::start_reduction() {
  const Algorithm algorithm = choose(spec_.input.size());
  const Place place{group_.me, group_.members, spec_.elements(), spec_.unit, group_.homes};
  return run(make_schedule(spec_.kind, algorithm, place, spec_.root),
             {spec_.op, spec_.dtype, dtype_size(spec_.dtype), group_.members, spec_.input,
              Blob::allocate(spec_.input.size())});
}

Status CallTransfer::start_broadcast(const Go& go) {
  const bool root = group_.me == spec_.root;
  const Algorithm algorithm = choose(go.bytes);
  result_.parcel.head = go.about;
  // The root only sends, from its own buffer.
  AH_LET(auto room, root ? Result<Blob>(spec_.parcel->body) : allocate(go.bytes));
  const Blob& buffer = room;
  return run(make_schedule(spec_.kind, algorithm, {group_.me, group_.members, go.bytes, 1, group_.homes}, spec_.root),
             {spec_.op, spec_.dtype, 1, group_.members, root ? buffer : Blob(), root ? Blob() : buffer});
}

/// Allocates the number of bytes that another rank claims to send.
Result<Blob> CallTransfer::allocate(uint64_t bytes) const {
  if (bytes < kNoSize) {
    try {
      return Blob::allocate(bytes);
    } catch (const std::exception&) {
    }
  }
  return Error{Code::bad_data, spec_.name + ": no memory for " + std::to_string(bytes) + " bytes"};
}

Status CallTransfer::run(const Schedule& schedule, ScheduleRun::Buffers buffers) {
  const auto send = [this](uint32_t peer, size_t begin, Blob piece) {
    return wiring_.send(peer, collective_kind::piece, pack(group_.route_to(peer), PieceHead{group_.world, begin}),
                        std::move(piece));
  };
  ScheduleRun::Expect expect;
  if (wiring_.receive_buffers != nullptr) {
    expect = [this](uint32_t peer, size_t begin, Blob room) {
      if (!is_remote(peer)) return;
      wiring_.receive_buffers->expect(this, collective_kind::piece, wiring_.tag,
                                      pack(group_.route(peer, group_.me), PieceHead{group_.world, begin}),
                                      std::move(room));
    };
  }
  run_ = std::make_unique<ScheduleRun>(schedule, std::move(buffers), send, loans_, ScheduleRun::kPieceBytes,
                                       std::move(expect));
  return run_->start();
}

bool CallTransfer::is_remote(uint32_t from) const {
  return group_.homes.empty() || group_.homes[from] != group_.homes[group_.me];
}

/// Tensors usually have the same shape on all ranks, so each received part is assumed to have the size of this rank's
/// own part.
void CallTransfer::expect_parts() {
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
                                    pack(group_.route(from, group_.me), head.world, head.offset, head.total),
                                    place_of_part(from, part_));
  }
}

/// The reserved space of a part of `bytes` bytes; empty if there is none.
Blob CallTransfer::place_of_part(uint32_t from, uint64_t bytes) const {
  return whole_.empty() || bytes != part_ ? Blob() : whole_.slice(from * part_, part_);
}

Status CallTransfer::start_exchange() {
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
  return {};
}

Status CallTransfer::send_parcel(uint32_t to, PackedValue& parcel) {
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
    AH_TRY(wiring_.send(to, collective_kind::parcel, pack(group_.route_to(to), head), std::move(body)));
    bytes_sent_ += size;
    offset += size;
  } while (offset < total);
  return {};
}

Status CallTransfer::take(uint32_t from, Frame&& frame) {
  return frame.kind == collective_kind::piece ? take_piece(from, std::move(frame))
                                              : take_parcel(from, std::move(frame));
}

/// The link to the sender of a malformed frame is closed, so the sender's loss ends the call. If the sender is in this
/// process, the error does.
Status CallTransfer::malformed(uint32_t from, Kind kind, const Error& why) const {
  return wiring_.distrusts(from, kind, why) ? Status() : why;
}

Status CallTransfer::take_piece(uint32_t from, Frame&& frame) {
  auto head = read_behind_route<PieceHead>(frame);
  if (!head) return malformed(from, frame.kind, head.error());
  if (head->world != group_.world) return {};  // the leader will report the changed membership
  if (!run_) {
    early_.emplace_back(from, std::move(frame));
    return {};
  }
  Status taken = run_->take(from, head->begin, std::move(frame.body));
  if (taken.ok() || taken.error().code != Code::bad_data) return taken;
  return Error{Code::bad_data,
               spec_.name + ": rank " + std::to_string(group_.ranks[from]) + " sent " + taken.error().message};
}

Status CallTransfer::take_parcel(uint32_t from, Frame&& frame) {
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
    return Error{Code::bad_data,
                 spec_.name + ": rank " + std::to_string(group_.ranks[from]) + " sent an unexpected parcel"};
  }
  bool in_place = false;
  if (head->offset == 0) {
    partial.head = std::move(head->about);
    partial.body = place_of_part(from, head->total);
    if (partial.body.empty() && whole) {
      partial.body = own_body(std::move(frame.body));
      in_place = true;
    } else if (partial.body.empty()) {
      AH_LET(partial.body, allocate(head->total));
    }
  }
  if (partial.body.size() != head->total) return Error{Code::bad_data, spec_.name + ": a parcel without a start"};
  std::byte* here = partial.body.data() + head->offset;
  if (!in_place && here != frame.body.data()) copy_bytes(here, frame.body.data(), bytes, head->total);
  if (head->offset + bytes < head->total) return {};
  result_.received[from] = std::exchange(partial, {});
  --parcels_due_;
  return {};
}

void CallTransfer::end(bool succeeded) {
  if (succeeded && run_) collect_result();
  bytes_sent_ = bytes_sent();
  run_.reset();
  expect_nothing();
  early_.clear();
  partial_parcels_.clear();
  whole_ = Blob();
}

void CallTransfer::collect_result() {
  if (spec_.kind == CollectiveKind::broadcast) {
    result_.parcel.body = group_.me == spec_.root ? spec_.parcel->body : run_->result();
    return;
  }
  const size_t size = dtype_size(spec_.dtype);
  const Span span = spec_.result_span(group_.me, group_.members);
  if (span.size() < spec_.elements()) {  // a slice would retain the whole buffer
    result_.buffer = Blob::copy_of(run_->result().data() + span.begin * size, span.size() * size);
  } else {
    result_.buffer = run_->result();
  }
}

}  // namespace actorhost
