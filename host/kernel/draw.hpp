#pragma once
// Random elements: each is a function of (seed, stream, its number) alone, by Philox (host/base/random.hpp), so they do
// not depend on the machine, on the number of threads, or on whether they are drawn at once or in pieces. Pure
// functions over memory of the caller's.

#include <span>

#include "host/base/random.hpp"
#include "host/kernel/pool.hpp"
#include "host/kernel/strided.hpp"

namespace actorhost::kernel {

/// What an element is, given two numbers a and b:
///   uniform      in [a, b)
///   normal       of mean a and deviation b
///   exponential  of mean a
///   gamma        of shape a > 0 and scale b
///   poisson      of mean a, 0 <= a <= kMaxPoissonMean
///   bernoulli    1 with probability a, else 0
///   integers     a whole number of a .. b, |a| and |b| <= 2^52
enum class Distribution : int32_t { uniform, normal, exponential, gamma, poisson, bernoulli, integers };

/// Where the numbers come from: element i of a result has the number `drawn` + i of this seed and stream.
struct Source {
  uint64_t seed;
  uint64_t drawn;
  uint32_t stream;
};

/// Fills a row-major view.
void draw(const Kernels& k, const Source& source, Distribution what, double a, double b, const View& out,
          ThreadPool& pool);

/// The first out.size() positions of a random order of 1 .. n, n >= out.size(); `out` is row-major. Memory: n numbers
/// of 8 bytes. Takes the next out.size() elements of the source.
void draw_order(const Kernels& k, const Source& source, int64_t n, const View& out);

/// Positions of 1 .. weights.size(), each with a probability in proportion to its weight, which is at least 0 and
/// finite; `out` is row-major. With `repeated` each on its own (one element of the source each), else without drawing a
/// position twice (weights.size() elements of the source). False, and nothing is written, when too few weights are
/// above 0.
bool draw_weighted(const Kernels& k, const Source& source, std::span<const double> weights, bool repeated,
                   const View& out);

}  // namespace actorhost::kernel
