#include "host/kernel/rounds.hpp"

#include <algorithm>
#include <limits>

namespace actorhost::kernel {

namespace {

// kDims 0: as many as `dims`, not known when compiled.
template <size_t kDims>
size_t sums_of(const Points& points, const double* centroids, size_t k, double* sums) {
  const size_t dims = kDims != 0 ? kDims : points.dims;
  const double* point = points.values;
  for (size_t i = 0; i < points.n; ++i, point += dims) {
    double least = std::numeric_limits<double>::infinity();
    size_t best = k;
    for (size_t j = 0; j < k; ++j) {
      const double* centroid = centroids + j * dims;
      double distance = 0;
      for (size_t d = 0; d < dims; ++d) {
        const double apart = point[d] - centroid[d];
        distance += apart * apart;
      }
      if (distance < least) {
        least = distance;
        best = j;
      }
    }
    if (best == k) return i;
    double* sum = sums + best * (dims + 1);
    for (size_t d = 0; d < dims; ++d) sum[d] += point[d];
    sum[dims] += 1;
  }
  return points.n;
}

}  // namespace

size_t nearest_sums(const Points& points, const double* centroids, size_t k, double* sums) {
  switch (points.dims) {
    case 1: return sums_of<1>(points, centroids, k, sums);
    case 2: return sums_of<2>(points, centroids, k, sums);
    case 3: return sums_of<3>(points, centroids, k, sums);
    case 4: return sums_of<4>(points, centroids, k, sums);
    default: return sums_of<0>(points, centroids, k, sums);
  }
}

void link_gifts(const Links& links, const double* ranks, double* gifts) {
  for (size_t i = 0; i < links.pages; ++i) {
    const uint64_t begin = links.begin[i];
    const uint64_t end = links.begin[i + 1];
    if (begin == end) continue;
    const double gift = ranks[links.at[i]] / static_cast<double>(end - begin);
    for (uint64_t k = begin; k < end; ++k) gifts[links.to[k]] += gift;
  }
}

void link_ranks(const double* const* gifts, size_t parts, size_t n, double damping, double* ranks) {
  constexpr size_t kBlock = 1024;  // stays in the first cache while the parts are added to it
  constexpr size_t kLanes = 8;
  double given[kLanes] = {};
  for (size_t at = 0; at < n; at += kBlock) {
    const size_t end = std::min(n, at + kBlock);
    std::fill(ranks + at, ranks + end, 0.0);
    for (size_t part = 0; part < parts; ++part) {
      const double* gift = gifts[part];
      for (size_t i = at; i < end; ++i) ranks[i] += gift[i];
    }
    size_t i = at;
    for (; i + kLanes <= end; i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) given[lane] += ranks[i + lane];
    }
    for (; i < end; ++i) given[0] += ranks[i];
  }
  double kept = 1;
  for (const double each : given) kept -= each;
  const double all = (damping * kept + 1 - damping) / static_cast<double>(n);
  for (size_t i = 0; i < n; ++i) ranks[i] = damping * ranks[i] + all;
}

}  // namespace actorhost::kernel
