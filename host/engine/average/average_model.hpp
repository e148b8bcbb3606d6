#pragma once
// A worker's model for averaging: its tensors, and the two operations of a round: the copy at its start and the change
// at its end. Not thread-safe; AverageReplica locks it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "host/base/blob.hpp"
#include "host/kernel/kernels.hpp"

namespace actorhost {

/// The layout of a model's tensors in one buffer: the tensors of each element type are adjacent.
struct AverageLayout {
  struct Segment {
    Dtype dtype = Dtype::f32;
    size_t begin = 0;     // byte, aligned like a block
    size_t elements = 0;  // not 0

    size_t bytes() const noexcept { return elements * dtype_size(dtype); }
  };
  std::vector<Segment> segments;
  size_t bytes = 0;
};

/// The result of a round: the mean of `count` models, in the layout of the copies. The mean is the sum of all `terms`
/// divided by `count`. A few copies of one process are added up where they are used, which saves writing and reading a
/// sum.
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
  /// Copies the model into `copy`, or into new memory if `copy` is in use. Returns the fault, which names the tensor,
  /// if a value is not finite; else an empty text.
  std::string copy_to(Blob& copy) const;
  /// model += mean - copy, or model = mean if `copy` is empty.
  void change(const AverageResult& result, const Blob& copy);

 private:
  struct Piece {
    Part part;
    size_t at = 0;  // byte of the buffer
  };

  AverageLayout layout_;
  std::vector<Piece> parts_;
};

}  // namespace actorhost
