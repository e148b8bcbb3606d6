#pragma once
// Which rows are in a sample: a function of the seed, a row's task and its place there. So the sample is the same on
// every node, and when a task runs again. Plain values.

#include <cstdint>
#include <memory>

#include "host/mapreduce/rows/stream.hpp"

namespace actorhost {

/// The layout is shared with Lua (bindings/modules/ffi_mapreduce.h).
struct RowSampler {
  double fraction = 0;       // of the rows; the mean number of copies with replacement
  double seed = 0;           // a whole number
  uint32_t salt = 0;         // which of several samples one behind the other
  uint32_t replacement = 0;  // 1: rows may come more than once

  /// How often the sample has row number `row` of a task: 0 or 1, or with replacement as Poisson says.
  uint32_t draw(double task, double row) const noexcept;
};

/// The sample of a task's rows.
std::unique_ptr<RowSource> sample_of(std::unique_ptr<RowSource> rows, const RowSampler& sampler, double task);

}  // namespace actorhost
