#include "host/kernel/rounds.hpp"

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

}  // namespace actorhost::kernel
