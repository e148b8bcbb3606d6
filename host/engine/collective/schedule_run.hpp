#pragma once
// Executes one rank's schedule. A passive machine: frames go in and frames go out, so a node's thread, a background
// thread and a simulated network can each drive several runs at a time. Large spans travel in pieces. Frames refer to
// pieces of the buffers instead of copies, so nothing else may write the buffers before `Loans::all_returned` holds.
//
// Owned and used by one thread. Received frames are checked: a frame other than the next expected piece from its rank
// is Code::bad_data.

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "host/base/blob.hpp"
#include "host/base/result.hpp"
#include "host/engine/collective/reduction.hpp"
#include "host/engine/collective/schedule/schedule.hpp"

namespace actorhost {

/// Counts the buffer pieces lent to frames until each piece is read or written to its connection.
class Loans {
 public:
  /// `returned` is called on any thread when the last piece is released, possibly several times; it must not block.
  explicit Loans(std::function<void()> returned);

  /// A blob of these bytes that counts as lent while anything refers to it.
  Blob lend(const Blob& buffer, size_t offset, size_t size) const;
  bool all_returned() const noexcept { return out_->count.load(std::memory_order_acquire) == 0; }

 private:
  struct Out {
    std::atomic<size_t> count{0};
    std::function<void()> returned;
  };
  std::shared_ptr<Out> out_;  // shared with the pieces, which may outlive the run
};

class ScheduleRun {
 public:
  struct Buffers {
    CollectiveOp op = CollectiveOp::sum;
    Dtype dtype = Dtype::f32;
    size_t element_bytes = 4;  // of the dtype; any value where nothing is combined
    uint32_t ranks = 1;
    Blob input;   // read only; empty where the schedule first receives everything
    Blob result;  // of the same size; holds the result when the run is done
  };
  /// Sends the piece which begins at element `begin` to a rank of the group.
  using Send = std::function<Status(uint32_t peer, size_t begin, Blob piece)>;
  /// Allows the transport to read the next piece from `peer`, beginning at element `begin`, directly into `room`.
  /// Called for pieces that are received without combination, usually before they arrive.
  using Expect = std::function<void(uint32_t peer, size_t begin, Blob room)>;

  ScheduleRun(const Schedule& schedule, Buffers buffers, Send send, const Loans& loans,
              size_t piece_bytes = kPieceBytes, Expect expect = {});

  /// Executes all steps that need no received frame.
  Status start() { return advance(); }
  /// Delivers a piece from a rank of the group.
  Status take(uint32_t peer, size_t begin, Blob piece);
  /// All steps are done. Spans that no step has written hold the input.
  bool done() const noexcept { return first_open_ == steps_.size(); }

  const Blob& result() const noexcept { return buffers_.result; }
  uint64_t bytes_sent() const noexcept { return bytes_sent_; }

  /// Small enough that a cache holds most of a piece during the combination; large enough that the cost of a frame and
  /// of the wake-up of its reader is negligible.
  static constexpr size_t kPieceBytes = size_t{512} << 10;

 private:
  struct State {
    Step step;
    size_t at;                   // elements before this index are done
    size_t expected;             // elements before this index have announced places
    bool fresh;                  // no earlier step writes the span, so it holds the input
    std::vector<size_t> before;  // steps that must finish a piece first
  };
  struct Piece {
    size_t begin;
    Blob bytes;
  };

  void find_order();
  std::vector<Span> written_before(size_t count) const;
  bool all_written(size_t index) const;
  void copy_untouched();
  Status advance();
  Status advance(size_t index, bool& moved);
  bool may_take(const State& state, const Span& piece) const;
  bool first_with(size_t index) const;
  void expect_pieces(State& state);
  Status send_piece(const State& state, const Span& piece);
  Status receive_piece(State& state, const Span& piece);
  Span next_piece(const State& state) const;

  Buffers buffers_;
  Send send_;
  Expect expect_;
  const Loans& loans_;
  const size_t element_;  // bytes
  const size_t piece_elements_;
  std::vector<State> steps_;
  std::vector<std::deque<Piece>> arrived_;  // by rank
  size_t first_open_ = 0;                   // steps before this index are done
  uint64_t bytes_sent_ = 0;
};

}  // namespace actorhost
