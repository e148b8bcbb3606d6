#pragma once
// A histogram with buckets at powers of two: one thread adds, any thread reads, without locks. An addition is two
// relaxed loads and stores.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "host/base/tally.hpp"

namespace actorhost {

class Histogram {
 public:
  /// The last bucket counts all values that are too large for the others.
  static constexpr size_t kBuckets = 33;

  /// Bucket 0 counts the values below `unit`; bucket i counts the values from 2^(i-1) up to 2^i units.
  explicit Histogram(double unit) noexcept : unit_(unit), per_unit_(1 / unit) {}

  void add(double value) noexcept {
    const double units = std::clamp(value * per_unit_, 0.0, 0x1p62);
    const auto whole = static_cast<int64_t>(units);  // signed, because this conversion is a single instruction
    const auto bucket = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(whole)));
    counts_[std::min(bucket, kBuckets - 1)].add(1);
    sum_.add(value);
  }

  /// The upper bound of bucket i; not for the last bucket.
  double bound(size_t i) const noexcept { return unit_ * static_cast<double>(uint64_t{1} << i); }
  uint64_t count(size_t i) const noexcept { return counts_[i].get(); }
  uint64_t count() const noexcept {
    uint64_t all = 0;
    for (const Tally<uint64_t>& count : counts_) all += count.get();
    return all;
  }
  double sum() const noexcept { return sum_.get(); }

 private:
  const double unit_;
  const double per_unit_;
  std::array<Tally<uint64_t>, kBuckets> counts_;
  Tally<double> sum_;
};

/// Units: times in microseconds, sizes in bytes.
inline constexpr double kMicrosecond = 1e-6;
inline constexpr double kByte = 1;

}  // namespace actorhost
