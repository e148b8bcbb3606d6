#pragma once
// Chooses the rows of a sample as a function of the seed, the row's task and its place there. So the sample is the same
// on every node and in a rerun task. Plain values.

#include <cstdint>
#include <memory>

#include "host/mapreduce/rows/stream.hpp"

namespace actorhost {

/// The layout is shared with Lua (bindings/modules/mapreduce/ffi_mapreduce.h).
struct RowSampler {
  double fraction = 0;       // of the rows; with replacement the mean number of copies
  double seed = 0;           // a whole number
  uint32_t salt = 0;         // numbers the samples of a chain of samples
  uint32_t replacement = 0;  // 1: a row may be drawn more than once

  /// Returns how many times row number `row` of a task is in the sample: 0 or 1, or with replacement a Poisson count.
  uint32_t draw(double task, double row) const noexcept;
};

/// The sample of a task's rows.
std::unique_ptr<RowSource> sample_of(std::unique_ptr<RowSource> rows, const RowSampler& sampler, double task);

}  // namespace actorhost
