#pragma once
// Matrix product of strided views. Packing buffers (at most 2.5 MB) are kept per thread until it ends. Thread-safe;
// throws std::bad_alloc only.

#include "host/kernel/pool.hpp"
#include "host/kernel/strided.hpp"

namespace actorhost::kernel {

/// c = alpha * a b, or c += alpha * a b with `accumulate`: a is m x k, b k x n and c m x n, of one element type; c does
/// not overlap the others. Transposed and other strided views are fine (those with no step of 1 are copied first).
/// With a pool large products are cut over its threads; the result is the same bits for every number of threads.
/// Dimensions before the last two are a batch of products, of the same sizes in all three; a batch times one matrix (b
/// with steps of 0) is one product of all rows where a and c are row-major.
void matmul(const Kernels& k, const View& a, const View& b, const View& c, double alpha = 1, bool accumulate = false,
            ThreadPool* pool = nullptr);

}  // namespace actorhost::kernel
