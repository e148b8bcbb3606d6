#pragma once
// The tensors of a worker's model in an averaging session. A round copies the tensors at its start and changes them by
// the mean at its end. Not thread-safe: AverageReplica owns the model and locks it. No call blocks.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "host/base/blob.hpp"
#include "host/kernel/kernels.hpp"

namespace actorhost {

/// The layout of a copy: all tensors in one buffer, with a segment for each element type.
struct AverageLayout {
  struct Segment {
    Dtype dtype = Dtype::f32;
    size_t begin = 0;     // first byte in the buffer, a multiple of kBlobAlignment
    size_t elements = 0;  // not 0

    size_t bytes() const noexcept { return elements * dtype_size(dtype); }
  };
  std::vector<Segment> segments;
  size_t bytes = 0;
};

/// The result of a round: the mean of `count` models, as the sum of `terms` divided by `count`. The terms have the
/// layout of the copies. `change` adds the terms while it changes the model: for few terms this is faster than to write
/// their sum to memory and read it again.
struct AverageResult {
  std::vector<Blob> terms;
  uint32_t count = 1;
};

class AverageModel {
 public:
  struct Part {
    std::string name;
    Dtype dtype = Dtype::f32;
    Blob bytes;  // the tensor's own memory
  };

  explicit AverageModel(const std::vector<Part>& parts);

  const AverageLayout& layout() const noexcept { return layout_; }
  /// Copies the model into `copy`, or into new memory if another owner still uses `copy`. Returns an empty text, or an
  /// error that names the first tensor and element that is not finite.
  std::string copy_to(Blob& copy) const;
  /// Changes the model at the end of a round: model += mean - copy, or model = mean if `copy` is empty. Returns the
  /// Euclidean norm of mean - copy; 0 if `copy` is empty.
  double change(const AverageResult& result, const Blob& copy);

 private:
  struct Piece {
    Part part;
    size_t at = 0;  // its first byte in a copy
  };

  AverageLayout layout_;
  std::vector<Piece> parts_;
};

}  // namespace actorhost
