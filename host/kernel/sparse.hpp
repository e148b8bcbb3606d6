#pragma once
// Sparse matrices in compressed row format. Pure functions over the caller's memory, which must not overlap. A result
// has the same bits for every number of threads: one thread sums a row, in float64 and in the order of its values.

#include "host/kernel/pool.hpp"
#include "host/kernel/strided.hpp"

namespace actorhost::kernel {

/// Row r of 0 .. rows - 1 has the values starts[r] .. starts[r + 1] - 1, counted from 1. `columns` holds their columns,
/// counted from 1 and increasing within a row.
struct Csr {
  int64_t rows;
  int64_t* starts;   // rows + 1
  int64_t* columns;  // one for each value
  void* values;      // of type `dtype`
  Dtype dtype;
};

/// out = a b: b [k, n] and out [rows, n] row-major, of a's element type; k is at least a's last column.
void multiply(const Csr& a, const View& b, const View& out, ThreadPool& pool);

/// Sorts values by row and column, which count from 1, and adds values of the same position in the given order. Returns
/// the number of remaining values; `out` has room for all `count`. Throws std::bad_alloc.
int64_t gather(int64_t count, const int64_t* rows, const int64_t* columns, const void* values, const Csr& out);

}  // namespace actorhost::kernel
