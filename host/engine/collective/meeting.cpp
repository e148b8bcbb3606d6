#include "host/engine/collective/meeting.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include <xxhash.h>

#include "host/base/copy.hpp"
#include "host/base/tasks.hpp"

namespace actorhost {

namespace {

constexpr uint64_t kCancelled = uint64_t{1} << 31;
constexpr size_t kCachedBytes = size_t{32} << 10;  // fits into the first-level cache
constexpr size_t kSharedFrom = size_t{256} << 10;  // from this size, ranks copy a broadcast for each other
constexpr size_t kSharedPiece = size_t{256} << 10;
constexpr size_t kRememberedErrors = 64;

uint32_t number_of(uint64_t state) { return static_cast<uint32_t>(state >> 32); }
uint32_t count_of(uint64_t state) { return static_cast<uint32_t>(state & (kCancelled - 1)); }
uint64_t state_of(uint32_t number, uint64_t rest) { return uint64_t{number} << 32 | rest; }

bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::allreduce || kind == CollectiveKind::reduce || kind == CollectiveKind::reduce_scatter;
}

Error frames_instead() { return {Code::unsupported, "the call takes frames"}; }

}  // namespace

Meeting::Meeting(uint32_t ranks) : ranks_(ranks), members_(new Rank[ranks]) {
  for (Round& round : rounds_) round.places = std::make_unique<Place[]>(ranks);
}

/// Counts this rank in; false when the round is cancelled.
bool Meeting::arrive(Round& round, uint32_t number) {
  uint64_t seen = round.state.load(std::memory_order_acquire);
  for (;;) {
    if (number_of(seen) > number) return false;  // the slot was reused without this rank
    const uint64_t now = number_of(seen) == number ? seen + 1 : state_of(number, 1);
    if (number_of(seen) == number && (seen & kCancelled) != 0) return false;
    if (round.state.compare_exchange_weak(seen, now, std::memory_order_seq_cst)) return true;
  }
}

bool Meeting::cancel(Round& round, uint32_t number, const Error& error) {
  std::lock_guard lock(mutex_);  // so that a rank which finds the round cancelled also finds the reason
  uint64_t seen = round.state.load(std::memory_order_acquire);
  for (;;) {
    if (number_of(seen) != number || (seen & kCancelled) != 0) return true;
    if (count_of(seen) == ranks_) return false;
    if (round.state.compare_exchange_weak(seen, seen | kCancelled, std::memory_order_seq_cst)) break;
  }
  store_error(number, error);
  return true;
}

/// Stores the error of a cancelled round. Requires the mutex.
void Meeting::store_error(uint32_t number, const Error& error) {
  ever_cancelled_.store(true, std::memory_order_release);
  cancelled_.emplace(number, error);
  if (cancelled_.size() > kRememberedErrors) cancelled_.erase(cancelled_.begin());
}

void Meeting::cancel_for_frames(uint32_t me, uint32_t number) {
  wait_until_left(number);
  {
    std::lock_guard lock(mutex_);
    Round& round = round_of(number);
    uint64_t seen = round.state.load(std::memory_order_acquire);
    for (;;) {  // the round is incomplete, since this rank has not entered it
      if (number_of(seen) > number || (number_of(seen) == number && (seen & kCancelled) != 0)) return;
      const uint64_t off = (number_of(seen) == number ? seen : state_of(number, 0)) | kCancelled;
      if (round.state.compare_exchange_weak(seen, off, std::memory_order_seq_cst)) break;
    }
    store_error(number, frames_instead());
  }
  wake_others(me);
}

int Meeting::poll(const Round& round, uint32_t number) const {
  const uint64_t seen = round.state.load(std::memory_order_seq_cst);
  if (number_of(seen) != number || (seen & kCancelled) != 0) return -1;
  return count_of(seen) == ranks_ ? 1 : 0;
}

Error Meeting::cancel_reason(uint32_t number, const CallSpec& spec) const {
  std::lock_guard lock(mutex_);
  const auto found = cancelled_.find(number);
  return found != cancelled_.end() ? found->second
                                   : Error{Code::timeout, spec.name + ": given up on other ranks a while ago"};
}

std::vector<uint32_t> Meeting::missing(uint32_t number) const {
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    if (members_[rank].entered.load(std::memory_order_relaxed) < number) ranks.push_back(rank);
  }
  return ranks;
}

void Meeting::wake_others(uint32_t me) {
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    Rank& other = members_[rank];
    if (rank == me || !other.asleep.load(std::memory_order_seq_cst)) continue;
    std::lock_guard lock(other.mutex);
    if (other.wake) other.wake();
  }
}

/// Waits until no rank reads from the slot any more. A cancelled round does not wait for all ranks, so other ranks may
/// reuse a slot while one rank still reads from it.
void Meeting::wait_until_left(uint32_t number) {
  if (number <= kRounds || !ever_cancelled_.load(std::memory_order_acquire)) return;
  const auto earlier = static_cast<uint32_t>(number - kRounds);
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    const Rank& other = members_[rank];
    while (other.entered.load(std::memory_order_acquire) == earlier &&
           other.left.load(std::memory_order_acquire) < earlier) {
      Task::yield();
    }
  }
}

Result<CallResult> Meeting::run(Node& node, uint32_t me, uint32_t number, uint32_t actions, const CallSpec& spec,
                                const Waiting& waiting) {
  CallResult result;
  Round& round = round_of(number);
  Rank& self = members_[me];
  wait_until_left(number);
  Place& mine = round.places[me];
  const bool small = reduces(spec.kind) && spec.input.size() <= kSmallBytes;
  mine.spec = &spec;
  mine.arguments_hash = XXH3_64bits(spec.signature.data(), spec.signature.size());
  mine.actions = actions;
  if (reduces(spec.kind)) {
    const bool gets = spec.kind != CollectiveKind::reduce || me == spec.root;
    if (small) std::copy_n(spec.input.data(), spec.input.size(), mine.small.data());
    if (gets && spec.kind != CollectiveKind::reduce_scatter) result.buffer = Blob::allocate(spec.input.size());
    mine.result = result.buffer.data();
  }
  {
    std::lock_guard lock(self.mutex);
    if (self.line != spec.where) self.line = spec.where;
  }
  self.entered.store(number, std::memory_order_release);
  const bool arrived = arrive(round, number);
  if (!arrived) {
    self.left.store(number, std::memory_order_release);
    return cancel_reason(number, spec);
  }
  wake_others(me);
  const Status all_here = wait_for_all(node, round, number, spec, me, waiting);
  if (!all_here.ok()) {
    self.left.store(number, std::memory_order_release);
    return all_here.error();
  }
  const Status fits = check(round, spec, waiting);
  if (fits.ok()) {
    try {
      take_part(round, number, me, spec, result);
    } catch (const std::bad_alloc&) {  // the others wait until this rank has read their data
      round.failed.store(state_of(number, me), std::memory_order_relaxed);
    }
  }
  // A rank that has read only the meeting's own copies need not wait for the others.
  const bool read_others = !fits.ok() || (spec.kind != CollectiveKind::barrier && !small);
  if (read_others) finish_together(round, number, me);
  self.left.store(number, std::memory_order_release);
  AH_TRY(fits);
  if (read_others) AH_TRY(all_had_memory(round, number, spec, waiting));
  return result;
}

Status Meeting::all_had_memory(const Round& round, uint32_t number, const CallSpec& spec, const Waiting& waiting) {
  const uint64_t failed = round.failed.load(std::memory_order_relaxed);
  if (number_of(failed) != number) return {};
  return Error{Code::full,
               spec.name + ": rank " + std::to_string(waiting.ranks[count_of(failed)]) + " is out of memory"};
}

Status Meeting::wait_for_all(Node& node, Round& round, uint32_t number, const CallSpec& spec, uint32_t me,
                             const Waiting& waiting) {
  Rank& self = members_[me];
  int seen = 0;
  if (!self.spin.until([&] { return (seen = poll(round, number)) != 0; }, ranks_)) {
    {
      std::lock_guard lock(self.mutex);
      if (!self.wake) self.wake = node.port().waker();
    }
    self.asleep.store(true, std::memory_order_seq_cst);
    const Status going = sleep_until_all_here(node, round, number, spec, waiting);
    self.asleep.store(false, std::memory_order_relaxed);
    // If the last rank arrived at the last moment, the round takes place.
    if (!going.ok() && cancel(round, number, going.error())) {
      wake_others(me);
      return cancel_reason(number, spec);
    }
    seen = poll(round, number);
  }
  return seen > 0 ? Status() : Status(cancel_reason(number, spec));
}

/// Sleeps until all ranks have arrived or the round is cancelled; an error when this rank cannot wait any longer.
Status Meeting::sleep_until_all_here(Node& node, Round& round, uint32_t number, const CallSpec& spec,
                                     const Waiting& waiting) {
  while (poll(round, number) == 0) {
    if (waiting.clock.out_of_time(node.clock().now())) return timed_out(number, spec, waiting);
    AH_TRY(node.receive_some(waiting.stray, waiting.clock.next_check(), waiting.strays));
    if (poll(round, number) != 0) break;
    const bool takes_frames = std::any_of(waiting.strays.begin(), waiting.strays.end(),
                                          [number](const Frame& frame) { return frame.tag == number; });
    if (takes_frames) return frames_instead();
    if (waiting.clock.check_due(node.clock().now())) AH_TRY(waiting.on_check(missing(number)));
  }
  return {};
}

Error Meeting::timed_out(uint32_t number, const CallSpec& spec, const Waiting& waiting) {
  std::vector<uint32_t> late;
  std::string lines;
  for (const uint32_t member : missing(number)) {
    late.push_back(waiting.ranks[member]);
    std::lock_guard lock(members_[member].mutex);
    const std::string& line = members_[member].line;
    if (!line.empty()) {
      lines += (lines.empty() ? "rank " : ", rank ") + std::to_string(late.back()) + " at " + line;
    }
  }
  return late_error(spec.name, late, lines);
}

/// Checks that all ranks make the same call. Every rank compares all calls, so all reach the same result.
Status Meeting::check(const Round& round, const CallSpec& spec, const Waiting& waiting) const {
  const Place& first = round.places[0];
  for (uint32_t rank = 1; rank < ranks_; ++rank) {
    const Place& place = round.places[rank];
    if (place.arguments_hash == first.arguments_hash && place.actions == first.actions) continue;
    return Error{Code::mismatch,
                 "ranks disagree on a collective: rank " + std::to_string(waiting.ranks[0]) + " is in " +
                     first.spec->signature + " at " + first.spec->where + ", rank " +
                     std::to_string(waiting.ranks[rank]) + " is in " + place.spec->signature + " at " +
                     place.spec->where +
                     (place.actions == first.actions ? "" : " (with another number of actions before it)") +
                     "; loop by actor.pairs, not pairs: every rank must make the same calls in the same order"};
  }
  if (spec.kind == CollectiveKind::broadcast && !round.places[spec.root].spec->parcel) {
    return Error{Code::bad_argument, spec.name + ": the root has no value to give"};
  }
  return {};
}

void Meeting::combine_span(const Round& round, const CallSpec& spec, Span span, std::byte* out) const {
  const size_t size = dtype_size(spec.dtype);
  const bool small = spec.input.size() <= kSmallBytes;
  const auto input = [&](uint32_t rank) {
    const Place& place = round.places[rank];
    return (small ? place.small.data() : place.spec->input.data()) + span.begin * size;
  };
  if (ranks_ == 1) {
    std::memcpy(out, input(0), span.size() * size);
    return;
  }
  combine(spec.op, spec.dtype, span.size(), out, input(0), input(1));
  for (uint32_t rank = 2; rank < ranks_; ++rank) combine(spec.op, spec.dtype, span.size(), out, out, input(rank));
  finish(spec.op, spec.dtype, span.size(), out, ranks_);
}

/// Copies the other ranks' parcels for this rank; with `joined`, into one block.
void Meeting::exchange(const Round& round, uint32_t me, bool joined, CallResult& result) const {
  result.received.resize(ranks_);
  size_t total = 0;
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    if (const auto& given = round.places[rank].spec->outgoing[me]) total += given->body.size();
  }
  const Blob whole = joined ? Blob::allocate(total) : Blob();
  size_t at = 0;
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    const auto& given = round.places[rank].spec->outgoing[me];
    if (!given) continue;
    const size_t size = given->body.size();
    result.received[rank] = PackedValue{given->head, joined ? whole.slice(at, size) : Blob::allocate(size)};
    at += size;
  }
  for (uint32_t i = 0; i < ranks_; ++i) {
    const uint32_t rank = (me + i) % ranks_;  // so that the ranks do not all read from the same rank
    auto& got = result.received[rank];
    if (!got || got->body.empty()) continue;
    copy_bytes(got->body.data(), round.places[rank].spec->outgoing[me]->body.data(), got->body.size(), total);
  }
}

/// Copies pieces that no rank has taken yet; false if the rank has not published its result buffer.
bool Meeting::help_to_fill(Place& place, uint32_t number, const Blob& given) const {
  if (place.to_fill.load(std::memory_order_acquire) != number) return false;
  for (;;) {
    const size_t at = place.taken.fetch_add(kSharedPiece, std::memory_order_relaxed);
    if (at >= given.size()) return true;
    copy_bytes(place.result + at, given.data() + at, std::min(kSharedPiece, given.size() - at), given.size());
  }
}

void Meeting::broadcast(Round& round, uint32_t number, uint32_t me, const CallSpec& spec, CallResult& result) {
  const PackedValue& given = *round.places[spec.root].spec->parcel;
  const size_t bytes = given.body.size();
  const bool shared = bytes >= kSharedFrom;
  if (me == spec.root) {
    result.parcel = given;
  } else if (!shared) {
    result.parcel = {given.head, Blob::copy_of(given.body.data(), bytes)};
  } else {
    Place& mine = round.places[me];
    result.parcel = {given.head, Blob::allocate(bytes)};
    mine.result = result.parcel.body.data();
    mine.taken.store(0, std::memory_order_relaxed);
    mine.to_fill.store(number, std::memory_order_release);
    help_to_fill(mine, number, given.body);
  }
  if (!shared) return;
  for (uint32_t i = 1; i < ranks_; ++i) {
    const uint32_t rank = (me + i) % ranks_;
    if (rank == spec.root) continue;
    // Helps a rank that is about to publish its buffer; a slower rank copies its data itself.
    members_[me].spin.until([&] { return help_to_fill(round.places[rank], number, given.body); }, ranks_);
  }
}

void Meeting::take_part(Round& round, uint32_t number, uint32_t me, const CallSpec& spec, CallResult& result) {
  const size_t size = dtype_size(spec.dtype);
  const actorhost::Place place{me, ranks_, spec.input.size() / size, spec.unit};
  switch (spec.kind) {
    case CollectiveKind::barrier: return;
    case CollectiveKind::broadcast: broadcast(round, number, me, spec, result); return;
    case CollectiveKind::exchange: exchange(round, me, spec.joined, result); return;
    case CollectiveKind::reduce_scatter: {
      const Span mine = place.block(me);
      result.buffer = Blob::allocate(mine.size() * size);
      for (size_t at = mine.begin; at < mine.end; at += kCachedBytes / size) {
        combine_span(round, spec, {at, std::min(at + kCachedBytes / size, mine.end)},
                     result.buffer.data() + (at - mine.begin) * size);
      }
      return;
    }
    case CollectiveKind::allreduce:
    case CollectiveKind::reduce: break;
  }
  if (spec.input.size() <= kSmallBytes) {
    if (!result.buffer.empty()) combine_span(round, spec, {0, place.elements}, result.buffer.data());
    return;
  }
  const Span mine = block_of(place.elements, ranks_, me);
  const bool for_all = spec.kind != CollectiveKind::reduce;
  const uint32_t first = for_all ? me : spec.root;
  // A large result is computed in separate memory, so that streaming stores write all of it past the caches.
  const bool aside = spec.input.size() >= kPastCaches;
  alignas(kBlobAlignment) std::array<std::byte, kCachedBytes> made;
  for (size_t at = mine.begin; at < mine.end; at += kCachedBytes / size) {
    const Span chunk{at, std::min(at + kCachedBytes / size, mine.end)};
    std::byte* out = aside ? made.data() : round.places[first].result + at * size;
    combine_span(round, spec, chunk, out);
    for (uint32_t i = aside ? 0 : 1; i < (for_all ? ranks_ : 1); ++i) {
      std::byte* to = round.places[(first + i) % ranks_].result + at * size;
      copy_bytes(to, out, chunk.size() * size, spec.input.size());
    }
  }
}

/// Waits until all ranks have finished their part, which takes no longer than the copying.
void Meeting::finish_together(Round& round, uint32_t number, uint32_t me) {
  uint64_t seen = round.finished.load(std::memory_order_acquire);
  for (;;) {
    const uint64_t now = number_of(seen) == number ? seen + 1 : state_of(number, 1);
    if (!round.finished.compare_exchange_weak(seen, now, std::memory_order_acq_rel)) continue;
    seen = now;
    break;
  }
  if (count_of(seen) == ranks_) {
    notify_change(round.finished);
    return;
  }
  const auto all_done = [&] {
    seen = round.finished.load(std::memory_order_acquire);
    return number_of(seen) != number || count_of(seen) == ranks_;
  };
  if (members_[me].spin.until(all_done, ranks_)) return;
  while (number_of(seen) == number && count_of(seen) < ranks_) {
    wait_for_change(round.finished, seen);
    seen = round.finished.load(std::memory_order_acquire);
  }
}

std::shared_ptr<Meeting> Meetings::find(uint32_t group, uint64_t world, uint32_t ranks) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<Meeting>& meeting = all_[{group, world}];
  if (!meeting) meeting = std::make_shared<Meeting>(ranks);
  return meeting;
}

}  // namespace actorhost
