#pragma once
// Divides the copy of a model into pieces, for both movers of averaging (mover.hpp); also declares the functions that
// make the movers. Internal: only the .cpp files of this folder include it. Pure functions.

#include <memory>
#include <vector>

#include "host/engine/average/mover.hpp"

namespace actorhost {

inline constexpr size_t kAveragePieceBytes = size_t{256} << 10;  // the largest piece
inline constexpr size_t kAverageWorkBytes = size_t{4} << 20;     // bytes that one call of AverageMover::work reads

/// A piece: adjacent elements of a segment. A piece is sent in one frame, and added up in one call.
struct AveragePart {
  size_t segment = 0;
  size_t begin = 0;  // first element in the segment
  size_t elements = 0;
};

/// The pieces of a layout, in order.
std::vector<AveragePart> pieces_of(const AverageLayout& layout);

/// The first byte of a piece in a copy.
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

/// The error for a received piece that does not follow the last piece of its sender.
Error out_of_order(const AveragePiece& head);

// The two movers; see mover.hpp.
std::unique_ptr<AverageMover> make_average_sum(ProcessId self, const RoundGo& go, const AverageLayout& layout,
                                               const AverageCopies& copies, AverageMover::Send send);
std::unique_ptr<AverageMover> make_average_exchange(ProcessId self, const RoundGo& go, const AverageLayout& layout,
                                                    AverageCopies copies, AverageMover::Send send);

}  // namespace actorhost
