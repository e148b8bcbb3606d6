#pragma once
// Carries out one rank's schedule: a passive machine, frames in and frames out, so that a node's thread, a background
// thread and a simulated network can all drive it, several at a time. Large spans travel in pieces; pieces of the
// buffers are lent to the frames, not copied, so `released` has to hold before the buffers are written by others.
//
// Owned and used by one thread. What comes from the network is checked: a frame that is not the next piece that the
// schedule expects from that rank is Code::bad_data.

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "host/base/blob.hpp"
#include "host/base/result.hpp"
#include "host/engine/collective/reduction.hpp"
#include "host/engine/collective/schedule.hpp"

namespace actorhost {

/// Takes note of when the last of the pieces that were lent to frames has been read or written to its connection.
class Loans {
 public:
  /// `returned` is called on any thread when the last piece comes back, also more than once; it must not block.
  explicit Loans(std::function<void()> returned);

  /// The bytes as a blob that counts as lent as long as anything refers to it.
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
    size_t element_bytes = 4;  // of the dtype; anything where nothing is combined
    uint32_t ranks = 1;
    Blob input;   // only read; empty where the schedule begins with receiving everything
    Blob result;  // as large; holds the result when the run is done
  };
  /// Sends the piece that begins at element `begin` to a rank of the group.
  using Send = std::function<Status(uint32_t peer, size_t begin, Blob piece)>;
  /// The piece that will come from a rank, beginning at that element, may be put into `room` before it is handed over.
  /// Said of pieces that only have to be received, mostly some time before they come.
  using Expect = std::function<void(uint32_t peer, size_t begin, Blob room)>;

  ScheduleRun(const Schedule& schedule, Buffers buffers, Send send, const Loans& loans,
              size_t piece_bytes = kPieceBytes, Expect expect = {});

  /// Does whatever can be done before the first frame.
  Status start() { return advance(); }
  /// A piece from a rank of the group.
  Status take(uint32_t peer, size_t begin, Blob piece);
  /// Every step is done. Spans that no step has written hold the input.
  bool done() const noexcept { return first_open_ == steps_.size(); }

  const Blob& result() const noexcept { return buffers_.result; }
  uint64_t bytes_sent() const noexcept { return bytes_sent_; }

  /// Small enough to be combined while a cache has most of it, large enough that neither a frame's cost shows nor that
  /// of waking its reader.
  static constexpr size_t kPieceBytes = size_t{512} << 10;

 private:
  struct State {
    Step step;
    size_t at;                   // elements before this one are done
    size_t expected;             // where the pieces before this element shall lie has been said
    bool fresh;                  // no step has written the span before: it holds the input
    std::vector<size_t> before;  // steps that have to be done with a piece first
  };
  struct Piece {
    size_t begin;
    Blob bytes;
  };

  void find_order();
  std::vector<Span> written_before(size_t count) const;
  bool all_written(size_t index) const;
  void keep_untouched();
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
  size_t first_open_ = 0;                   // steps before this one are done
  uint64_t bytes_sent_ = 0;
};

}  // namespace actorhost
