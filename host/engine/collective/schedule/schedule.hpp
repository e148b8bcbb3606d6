#pragma once
// One rank's part of a collective on a contiguous buffer of elements, as data: an ordered list of sends and receives of
// spans. An algorithm is a function that makes a schedule from (rank, ranks, elements); `ScheduleRun` executes the
// schedule. A run processes each span piece by piece and starts a step as soon as earlier steps have finished the
// step's first piece: the order of steps holds for each element, not for whole steps. Plain values.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace actorhost {

/// Elements [begin, end) of the buffer.
struct Span {
  size_t begin = 0;
  size_t end = 0;

  size_t size() const noexcept { return end - begin; }
  bool empty() const noexcept { return begin == end; }
  bool overlaps(const Span& other) const noexcept { return begin < other.end && other.begin < end; }
};

/// The `index`-th of `blocks` nearly equal, contiguous parts.
inline Span block_of(size_t elements, uint32_t blocks, uint32_t index) noexcept {
  assert(blocks > 0);
  const size_t each = elements / blocks;
  const size_t longer = elements % blocks;  // number of blocks with one element more
  const auto start = [&](size_t i) { return i * each + (i < longer ? i : longer); };
  return {start(index), start(index + size_t{1})};
}

struct Step {
  enum class Operation : uint8_t {
    send,     // sends the span to `peer`
    receive,  // overwrites the span with data from `peer`
    reduce,   // combines the span with data from `peer`: span = span op received
    own,      // combines the span with the rank's own input: span = span op input
    finish,   // completes the last combination: divides a mean
  };
  Operation operation;
  uint32_t peer;  // place in the group
  Span span;
  /// send: sends a copy, since a later step of this rank overwrites the span before the peer has used it.
  bool copy = false;
};

/// Before its first write a span holds the rank's input. Between two ranks, the receives and reduces of one rank match
/// the sends of the other in order, with the same spans. After a `receive`, a rank takes none of the span's elements
/// from the same peer again.
struct Schedule {
  std::vector<Step> steps;

  void send(uint32_t peer, Span span, bool copy = false) { add({Step::Operation::send, peer, span, copy}); }
  void receive(uint32_t peer, Span span) { add({Step::Operation::receive, peer, span}); }
  void reduce(uint32_t peer, Span span) { add({Step::Operation::reduce, peer, span}); }
  void own(Span span) { add({Step::Operation::own, 0, span}); }
  void finish(Span span) { add({Step::Operation::finish, 0, span}); }

 private:
  void add(const Step& step) {
    if (!step.span.empty()) steps.push_back(step);
  }
};

/// The rank that a schedule is for: place `rank` of `ranks`, the number of elements, and the processes of the ranks.
/// Block boundaries are multiples of `unit` elements, so the rows of a matrix stay whole where each rank keeps a block.
/// `unit` divides `elements`.
struct Place {
  uint32_t rank = 0;
  uint32_t ranks = 1;
  size_t elements = 0;
  size_t unit = 1;
  std::vector<uint32_t> homes = {};  // process of each rank; empty: one process for each rank

  Span block(uint32_t index) const noexcept {
    const Span units = block_of(elements / unit, ranks, index);
    return {units.begin * unit, units.end * unit};
  }
};

}  // namespace actorhost
