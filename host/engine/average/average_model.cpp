#include "host/engine/average/average_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "host/engine/collective/reduction.hpp"

namespace actorhost {

namespace {

constexpr size_t kStripBytes = size_t{16} << 10;  // copied and checked while in the first-level cache

size_t aligned(size_t bytes) { return (bytes + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment; }

/// Sets x to the mean plus its progress since the copy. The progress is small, also where a late joiner's x is far from
/// the mean, so it loses no digits. Returns the sum of the squares of the differences between mean and copy.
template <typename T>
double move_by(T* x, const T* sum, const T* copy, size_t count, T divisor) {
  double squares = 0;
  for (size_t i = 0; i < count; ++i) {
    const T mean = sum[i] / divisor;
    const T difference = mean - copy[i];
    x[i] = mean + (x[i] - copy[i]);
    squares += static_cast<double>(difference) * static_cast<double>(difference);
  }
  return squares;
}

template <typename T>
void replace_by(T* x, const T* sum, size_t count, T divisor) {
  for (size_t i = 0; i < count; ++i) x[i] = sum[i] / divisor;
}

/// The sum of the terms from byte `at` on, in their order; stored in `room` if there are several.
template <typename T>
const T* sum_of(const std::vector<Blob>& terms, size_t at, size_t count, T* room) {
  const Dtype dtype = sizeof(T) == 4 ? Dtype::f32 : Dtype::f64;
  const std::byte* sum = terms[0].data() + at;
  for (size_t i = 1; i < terms.size(); ++i) {
    combine(CollectiveOp::sum, dtype, count, room, sum, terms[i].data() + at);
    sum = reinterpret_cast<const std::byte*>(room);
  }
  return reinterpret_cast<const T*>(sum);
}

/// Changes a part at byte `at` of the copy. An empty copy replaces the part. Returns the sum of the squares of the
/// differences.
template <typename T>
double change_part(Blob& part, size_t at, const AverageResult& result, const Blob& copy) {
  alignas(kBlobAlignment) T room[kStripBytes / sizeof(T)] = {};
  auto* x = reinterpret_cast<T*>(part.data());
  const auto divisor = static_cast<T>(result.count);
  double squares = 0;
  for (size_t done = 0; done < part.size(); done += kStripBytes) {
    const size_t count = std::min(kStripBytes, part.size() - done) / sizeof(T);
    const T* sum = sum_of(result.terms, at + done, count, room);
    if (copy.empty()) {
      replace_by(x, sum, count, divisor);
    } else {
      squares += move_by(x, sum, reinterpret_cast<const T*>(copy.data() + at + done), count, divisor);
    }
    x += count;
  }
  return squares;
}

template <typename T>
size_t first_not_finite(const std::byte* bytes, size_t count) {
  const auto* values = reinterpret_cast<const T*>(bytes);
  return static_cast<size_t>(std::find_if(values, values + count, [](T v) { return !std::isfinite(v); }) - values);
}

/// Copies a part. Returns the first infinite element or NaN.
std::optional<size_t> copy_part(const Blob& from, Dtype dtype, std::byte* copy) {
  const size_t size = dtype_size(dtype);
  for (size_t at = 0; at < from.size(); at += kStripBytes) {
    const size_t bytes = std::min(kStripBytes, from.size() - at);
    std::byte* to = copy + at;
    std::memcpy(to, from.data() + at, bytes);
    if (kernel::kernels().is_finite(dtype, static_cast<int64_t>(bytes / size), to, 1)) continue;
    return at / size + (dtype == Dtype::f32 ? first_not_finite<float>(to, bytes / size)
                                            : first_not_finite<double>(to, bytes / size));
  }
  return std::nullopt;
}

}  // namespace

AverageModel::AverageModel(const std::vector<Part>& parts) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    AverageLayout::Segment segment{dtype, aligned(layout_.bytes), 0};
    size_t at = segment.begin;
    for (const Part& part : parts) {
      if (part.dtype != dtype || part.bytes.empty()) continue;
      parts_.push_back({part, at});
      at += part.bytes.size();
    }
    segment.elements = (at - segment.begin) / dtype_size(dtype);
    if (segment.elements == 0) continue;
    layout_.segments.push_back(segment);
    layout_.bytes = at;
  }
}

std::string AverageModel::copy_to(Blob& copy) const {
  // Frames of a broken round may still refer to the last copy.
  if (copy.size() != layout_.bytes || !copy.unique()) copy = Blob::allocate(layout_.bytes);
  for (const Piece& piece : parts_) {
    const std::optional<size_t> fault = copy_part(piece.part.bytes, piece.part.dtype, copy.data() + piece.at);
    if (!fault) continue;
    return "tensor '" + piece.part.name + "' is not finite at element " + std::to_string(*fault + 1) +
           ", so it cannot be averaged";
  }
  return {};
}

double AverageModel::change(const AverageResult& result, const Blob& copy) {
  double squares = 0;
  for (Piece& piece : parts_) {
    squares += piece.part.dtype == Dtype::f32 ? change_part<float>(piece.part.bytes, piece.at, result, copy)
                                              : change_part<double>(piece.part.bytes, piece.at, result, copy);
  }
  return std::sqrt(squares);
}

}  // namespace actorhost
