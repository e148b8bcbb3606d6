#include <algorithm>
#include <string>

#include "host/engine/average/pieces.hpp"

namespace actorhost {

std::vector<AveragePart> pieces_of(const AverageLayout& layout) {
  std::vector<AveragePart> parts;
  for (size_t i = 0; i < layout.segments.size(); ++i) {
    const AverageLayout::Segment& segment = layout.segments[i];
    const size_t most = kAveragePieceBytes / dtype_size(segment.dtype);
    for (size_t at = 0; at < segment.elements; at += most) {
      parts.push_back({i, at, std::min(most, segment.elements - at)});
    }
  }
  return parts;
}

Error out_of_order(const AveragePiece& head) {
  return {Code::bad_data, "a piece of model " + std::to_string(head.source) + " at element " +
                              std::to_string(head.begin) + " out of order"};
}

std::unique_ptr<AverageMover> make_average_mover(ProcessId self, const RoundGo& go, const AverageLayout& layout,
                                                 AverageCopies copies, AverageMover::Send send) {
  if (go.pattern == AveragePattern::all) return make_average_sum(self, go, layout, copies, std::move(send));
  return make_average_exchange(self, go, layout, std::move(copies), std::move(send));
}

}  // namespace actorhost
