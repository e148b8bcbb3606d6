#pragma once
// Random elements. Each element depends only on (seed, stream, its number), by Philox (host/base/random.hpp): neither
// on the machine, nor on the number of threads, nor on how the elements are split into calls. Pure functions over the
// caller's memory.

#include <span>

#include "host/base/random.hpp"
#include "host/kernel/pool.hpp"
#include "host/kernel/strided.hpp"

namespace actorhost::kernel {

/// The distribution of an element, with two parameters a and b:
///   uniform      in [a, b)
///   normal       of mean a and standard deviation b
///   exponential  of mean a
///   gamma        of shape a > 0 and scale b
///   poisson      of mean a, 0 <= a <= kMaxPoissonMean
///   bernoulli    1 with probability a, else 0
///   integers     an integer of a .. b, |a| and |b| <= 2^52
enum class Distribution : int32_t { uniform, normal, exponential, gamma, poisson, bernoulli, integers };

/// The source of random numbers: element i of a result has the number `drawn` + i of this seed and stream.
struct Source {
  uint64_t seed;
  uint64_t drawn;
  uint32_t stream;
};

/// Fills a row-major view.
void draw(const Kernels& k, const Source& source, Distribution distribution, double a, double b, const View& out,
          ThreadPool& pool);

/// The first out.size() positions of a random permutation of 1 .. n, n >= out.size(); `out` is row-major. Memory: at
/// most n numbers of 8 bytes. Consumes out.size() elements of the source.
void draw_order(const Kernels& k, const Source& source, int64_t n, const View& out);

/// Random positions of 1 .. weights.size(), with probabilities proportional to the weights, which are finite and at
/// least 0; `out` is row-major. With `repeated` the draws are independent and consume one element of the source each.
/// Otherwise each position occurs at most once, and the call consumes weights.size() elements of the source. Returns
/// false and writes nothing if too few weights are above 0.
bool draw_weighted(const Kernels& k, const Source& source, std::span<const double> weights, bool repeated,
                   const View& out);

}  // namespace actorhost::kernel
