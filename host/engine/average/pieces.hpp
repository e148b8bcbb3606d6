#pragma once
// Shared by the movers of averaging: cutting models into pieces, and making each mover. Only the .cpp files of this
// folder use it.

#include <memory>
#include <vector>

#include "host/engine/average/mover.hpp"

namespace actorhost {

inline constexpr size_t kAveragePieceBytes = size_t{256} << 10;  // of a frame, and of one addition
inline constexpr size_t kAverageWorkBytes = size_t{4} << 20;     // read in one call of `work`

/// A piece of a segment.
struct AveragePart {
  size_t segment = 0;
  size_t begin = 0;  // element
  size_t elements = 0;
};

/// The pieces of a layout, in order.
std::vector<AveragePart> pieces_of(const AverageLayout& layout);

inline size_t offset_of(const AverageLayout& layout, const AveragePart& part) {
  const AverageLayout::Segment& segment = layout.segments[part.segment];
  return segment.begin + part.begin * dtype_size(segment.dtype);
}

inline size_t bytes_of(const AverageLayout& layout, const AveragePart& part) {
  return part.elements * dtype_size(layout.segments[part.segment].dtype);
}

/// to = a + b, for one piece.
inline void add(const AverageLayout& layout, const AveragePart& part, std::byte* to, const std::byte* a,
                const std::byte* b) {
  combine(CollectiveOp::sum, layout.segments[part.segment].dtype, part.elements, to, a, b);
}

Error out_of_order(const AveragePiece& head);

std::unique_ptr<AverageMover> make_average_sum(ProcessId self, const RoundGo& go, const AverageLayout& layout,
                                               const AverageCopies& copies, AverageMover::Send send);
std::unique_ptr<AverageMover> make_average_exchange(ProcessId self, const RoundGo& go, const AverageLayout& layout,
                                                    AverageCopies copies, AverageMover::Send send);

}  // namespace actorhost
