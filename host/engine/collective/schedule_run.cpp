#include "host/engine/collective/schedule_run.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>

namespace actorhost {

namespace {

// How many pieces ahead of the received pieces announce their places.
constexpr size_t kPiecesAhead = 16;

bool writes(Step::Operation operation) noexcept { return operation != Step::Operation::send; }
bool reads_frames(Step::Operation operation) noexcept {
  return operation == Step::Operation::receive || operation == Step::Operation::reduce;
}

}  // namespace

Loans::Loans(std::function<void()> returned) : out_(std::make_shared<Out>()) { out_->returned = std::move(returned); }

Blob Loans::lend(const Blob& buffer, size_t offset, size_t size) const {
  out_->count.fetch_add(1, std::memory_order_relaxed);
  return buffer.slice(offset, size).lent([out = out_] {
    if (out->count.fetch_sub(1, std::memory_order_acq_rel) == 1 && out->returned) out->returned();
  });
}

ScheduleRun::ScheduleRun(const Schedule& schedule, Buffers buffers, Send send, const Loans& loans, size_t piece_bytes,
                         Expect expect)
    : buffers_(std::move(buffers)),
      send_(std::move(send)),
      expect_(std::move(expect)),
      loans_(loans),
      element_(buffers_.element_bytes),
      piece_elements_(std::max<size_t>(1, piece_bytes / element_)),
      arrived_(buffers_.ranks) {
  steps_.reserve(schedule.steps.size());
  for (const Step& step : schedule.steps) {
    steps_.push_back({step, step.span.begin, step.span.begin, true, {}});
  }
  find_order();
  copy_untouched();
}

/// Finds which steps must wait for earlier steps, and which steps use the input.
void ScheduleRun::find_order() {
  for (size_t i = 0; i < steps_.size(); ++i) {
    State& state = steps_[i];
    for (size_t j = 0; j < i; ++j) {
      const Step& earlier = steps_[j].step;
      if (!earlier.span.overlaps(state.step.span)) continue;
      // A receive buffer identifies a piece by its peer and first element.
      assert(earlier.operation != Step::Operation::receive || !reads_frames(state.step.operation) ||
             earlier.peer != state.step.peer);
      if (!writes(earlier.operation) && !writes(state.step.operation)) continue;
      state.before.push_back(j);
      if (writes(earlier.operation)) state.fresh = false;
    }
    assert(state.fresh || all_written(i));
  }
}

/// The spans that the first `count` steps write, ordered by their first elements.
std::vector<Span> ScheduleRun::written_before(size_t count) const {
  std::vector<Span> written;
  for (size_t i = 0; i < count; ++i) {
    if (writes(steps_[i].step.operation)) written.push_back(steps_[i].step.span);
  }
  std::sort(written.begin(), written.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  return written;
}

/// Whether earlier steps write all of a step's span. Earlier steps must write all of it or nothing, since a step reads
/// its span from one buffer.
bool ScheduleRun::all_written(size_t index) const {
  const Span& span = steps_[index].step.span;
  size_t at = span.begin;
  for (const Span& each : written_before(index)) {
    if (each.begin <= at) at = std::max(at, each.end);
  }
  return at >= span.end;
}

/// Copies spans that no step writes from the input: they are part of the result too.
void ScheduleRun::copy_untouched() {
  if (buffers_.input.empty()) return;
  std::vector<Span> written = written_before(steps_.size());
  written.push_back({buffers_.result.size() / element_, buffers_.result.size() / element_});
  size_t at = 0;
  for (const Span& span : written) {
    if (span.begin > at) {
      std::memcpy(buffers_.result.data() + at * element_, buffers_.input.data() + at * element_,
                  (span.begin - at) * element_);
    }
    at = std::max(at, span.end);
  }
}

Status ScheduleRun::take(uint32_t peer, size_t begin, Blob piece) {
  if (peer >= arrived_.size()) return Error{Code::bad_data, "a piece from a rank outside the group"};
  arrived_[peer].push_back({begin, std::move(piece)});
  return advance();
}

Status ScheduleRun::advance() {
  bool moved = true;
  while (moved) {
    moved = false;
    for (size_t i = first_open_; i < steps_.size(); ++i) AH_TRY(advance(i, moved));
    while (first_open_ < steps_.size() && steps_[first_open_].at == steps_[first_open_].step.span.end) ++first_open_;
  }
  return {};
}

/// Processes as many pieces of a step as currently possible.
Status ScheduleRun::advance(size_t index, bool& moved) {
  State& state = steps_[index];
  while (state.at < state.step.span.end) {
    const Span piece = next_piece(state);
    if (!may_take(state, piece)) return {};
    std::byte* here = buffers_.result.data() + piece.begin * element_;
    switch (state.step.operation) {
      case Step::Operation::send:
        if (!first_with(index)) return {};
        AH_TRY(send_piece(state, piece));
        break;
      case Step::Operation::receive:
      case Step::Operation::reduce:
        if (state.step.operation == Step::Operation::receive) expect_pieces(state);
        if (arrived_[state.step.peer].empty() || !first_with(index)) return {};
        AH_TRY(receive_piece(state, piece));
        break;
      case Step::Operation::own:
        combine(buffers_.op, buffers_.dtype, piece.size(), here, here, buffers_.input.data() + piece.begin * element_);
        break;
      case Step::Operation::finish: finish(buffers_.op, buffers_.dtype, piece.size(), here, buffers_.ranks); break;
    }
    state.at = piece.end;
    moved = true;
  }
  return {};
}

Span ScheduleRun::next_piece(const State& state) const {
  return {state.at, std::min(state.at + piece_elements_, state.step.span.end)};
}

bool ScheduleRun::may_take(const State& state, const Span& piece) const {
  return std::all_of(state.before.begin(), state.before.end(), [&](size_t earlier) {
    const State& other = steps_[earlier];
    return !other.step.span.overlaps(piece) || other.at >= std::min(piece.end, other.step.span.end);
  });
}

/// Whether all earlier steps that send to the same rank (or receive from it) are finished: frames between two ranks
/// keep their order.
bool ScheduleRun::first_with(size_t index) const {
  const Step& step = steps_[index].step;
  for (size_t i = first_open_; i < index; ++i) {
    const State& other = steps_[i];
    const bool same_way = other.step.peer == step.peer &&
                          (step.operation == Step::Operation::send ? other.step.operation == Step::Operation::send
                                                                   : reads_frames(other.step.operation));
    if (same_way && other.at < other.step.span.end) return false;
  }
  return true;
}

/// Announces the places of the next pieces, unless earlier steps still need their elements.
void ScheduleRun::expect_pieces(State& state) {
  if (!expect_) return;
  const size_t far = std::min(state.at + kPiecesAhead * piece_elements_, state.step.span.end);
  for (state.expected = std::max(state.expected, state.at); state.expected < far;) {
    const Span piece{state.expected, std::min(state.expected + piece_elements_, state.step.span.end)};
    if (!may_take(state, piece)) return;
    expect_(state.step.peer, piece.begin, buffers_.result.slice(piece.begin * element_, piece.size() * element_));
    state.expected = piece.end;
  }
}

Status ScheduleRun::send_piece(const State& state, const Span& piece) {
  const size_t offset = piece.begin * element_;
  const size_t size = piece.size() * element_;
  const Blob& source = state.fresh ? buffers_.input : buffers_.result;
  bytes_sent_ += size;
  const bool copied = state.step.copy && !state.fresh;
  return send_(state.step.peer, piece.begin,
               copied ? Blob::copy_of(source.data() + offset, size) : loans_.lend(source, offset, size));
}

Status ScheduleRun::receive_piece(State& state, const Span& piece) {
  std::deque<Piece>& arrived = arrived_[state.step.peer];
  const Piece got = std::move(arrived.front());
  arrived.pop_front();
  const size_t offset = piece.begin * element_;
  if (got.begin != piece.begin || got.bytes.size() != piece.size() * element_) {
    return Error{Code::bad_data, "a piece of " + std::to_string(got.bytes.size()) + " bytes at element " +
                                     std::to_string(got.begin) + " where a piece of " +
                                     std::to_string(piece.size() * element_) + " bytes at " +
                                     std::to_string(piece.begin) + " was expected"};
  }
  std::byte* here = buffers_.result.data() + offset;
  if (state.step.operation == Step::Operation::receive) {
    if (here == got.bytes.data()) return {};
    std::memcpy(here, got.bytes.data(), got.bytes.size());
  } else {
    const std::byte* there = state.fresh ? buffers_.input.data() + offset : here;
    combine(buffers_.op, buffers_.dtype, piece.size(), here, there, got.bytes.data());
  }
  return {};
}

}  // namespace actorhost
