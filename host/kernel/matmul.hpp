#pragma once
// Matrix product of strided views. Each thread retains its packing buffers (at most 2.5 MB) until it ends. Thread-safe;
// throws std::bad_alloc only.

#include "host/kernel/pool.hpp"
#include "host/kernel/strided.hpp"

namespace actorhost::kernel {

/// c = alpha * a b, or c += alpha * a b with `accumulate`: a is m x k, b k x n and c m x n, of one element type; c does
/// not overlap the others. Views may be transposed or strided; views without a step of 1 are copied first. With a pool,
/// large products are split over its threads; the result is the same bits for every number of threads. Dimensions
/// before the last two are a batch of products, with the same sizes in all three views. A batch times one matrix (b
/// with steps of 0) is computed as one product of all rows if a and c are row-major.
void matmul(const Kernels& k, const View& a, const View& b, const View& c, double alpha = 1, bool accumulate = false,
            ThreadPool* pool = nullptr);

}  // namespace actorhost::kernel
