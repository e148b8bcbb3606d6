#pragma once
// What the movers of averaging share: models cut into pieces, and how each mover is made. Used by the .cpp files of
// this folder only.

#include <memory>
#include <vector>

#include "host/engine/average/mover.hpp"

namespace actorhost {

inline constexpr size_t kAveragePieceBytes = size_t{256} << 10;  // of a frame, and of what is added up at a time
inline constexpr size_t kAverageWorkBytes = size_t{4} << 20;     // read in one call of `work`

/// A piece of a segment.
struct AveragePart {
  size_t segment = 0;
  size_t begin = 0;  // element
  size_t elements = 0;
};

/// The pieces of a layout, one behind the other.
std::vector<AveragePart> pieces_of(const AverageLayout& layout);

inline size_t offset_of(const AverageLayout& layout, const AveragePart& part) {
  const AverageLayout::Segment& segment = layout.segments[part.segment];
  return segment.begin + part.begin * dtype_size(segment.dtype);
}

inline size_t bytes_of(const AverageLayout& layout, const AveragePart& part) {
  return part.elements * dtype_size(layout.segments[part.segment].dtype);
}

/// to = a + b, of one piece.
inline void add(const AverageLayout& layout, const AveragePart& part, std::byte* to, const std::byte* a,
                const std::byte* b) {
  combine(CollectiveOp::sum, layout.segments[part.segment].dtype, part.elements, to, a, b);
}

Error not_due(const AveragePiece& head);

std::unique_ptr<AverageMover> make_average_sum(ProcessId self, const RoundGo& go, const AverageLayout& layout,
                                               const AverageCopies& copies, AverageMover::Send send);
std::unique_ptr<AverageMover> make_average_exchange(ProcessId self, const RoundGo& go, const AverageLayout& layout,
                                                    AverageCopies copies, const FilterSpec& filter,
                                                    AverageMover::Send send);
std::unique_ptr<AverageMover> make_average_coded(ProcessId self, const RoundGo& go, const AverageLayout& layout,
                                                 const AverageCopies& copies, AverageCoding coding,
                                                 AverageMover::Send send);

}  // namespace actorhost
