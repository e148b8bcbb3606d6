#pragma once
// What one rank does in a collective on a contiguous buffer of elements, as data: sends and receives of spans, in an
// order. An algorithm is a function that makes a schedule from (rank, ranks, elements); `ScheduleRun` carries it out.
// A span is taken piece by piece, so a step begins with the pieces that the steps before it have finished: order holds
// for each element, not between steps as wholes. Plain values.

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
Span block_of(size_t elements, uint32_t blocks, uint32_t index) noexcept;

struct Step {
  enum class What : uint8_t {
    send,     // the span to `peer`
    receive,  // the span from `peer`, in place of what was there
    reduce,   // the span from `peer`, combined with what is there: there op received
    own,      // there op the rank's own input
    finish,   // the last combination is over: a mean's division
  };
  What what;
  uint32_t peer;  // its place in the group
  Span span;
  /// send: this rank writes to the span later without waiting until the peer has used it, so a copy is sent.
  bool copy = false;
};

/// Before its first write a span holds the rank's input. Between two ranks, the sends of one are matched in order by
/// the receives and reduces of the other, with the same spans. What has been received from a rank does not come from it
/// again.
struct Schedule {
  std::vector<Step> steps;

  void send(uint32_t peer, Span span, bool copy = false) { add({Step::What::send, peer, span, copy}); }
  void receive(uint32_t peer, Span span) { add({Step::What::receive, peer, span}); }
  void reduce(uint32_t peer, Span span) { add({Step::What::reduce, peer, span}); }
  void own(Span span) { add({Step::What::own, 0, span}); }
  void finish(Span span) { add({Step::What::finish, 0, span}); }

 private:
  void add(const Step& step) {
    if (!step.span.empty()) steps.push_back(step);
  }
};

/// The rank for which a schedule is made: place `rank` of `ranks`, the elements of the buffer, and the processes of the
/// ranks. Blocks are cut between multiples of `unit` elements, which divides `elements`: so the rows of a matrix stay
/// whole where ranks keep a block each.
struct Place {
  uint32_t rank = 0;
  uint32_t ranks = 1;
  size_t elements = 0;
  size_t unit = 1;
  std::vector<uint32_t> homes = {};  // the process of each rank; empty: each has its own

  Span block(uint32_t index) const noexcept {
    const Span units = block_of(elements / unit, ranks, index);
    return {units.begin * unit, units.end * unit};
  }
};

}  // namespace actorhost
