#include "bindings/modules/array/data_api.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>

#include "host/data/content/shuffle.hpp"
#include "host/kernel/kernels.hpp"

namespace actorhost {

namespace {

constexpr size_t kAhead = 3;  // rows

using Holder = std::shared_ptr<const void>;
static_assert(sizeof(Holder) == sizeof(ah_rows::holder_) && alignof(Holder) <= alignof(uint64_t));

void release(ah_rows* rows) noexcept {
  if (rows->bytes_ == nullptr) return;
  std::destroy_at(std::launder(reinterpret_cast<Holder*>(rows->holder_)));
  std::memset(rows, 0, sizeof *rows);
}

std::span<const int32_t> numbers_of(const void* positions) noexcept {
  const auto* head = static_cast<const ah_positions*>(positions);
  return {reinterpret_cast<const int32_t*>(head + 1), static_cast<size_t>(head->n)};
}

/// Prefetches a row for use soon. Rows in random order are not in the caches, so without prefetching each row
/// would cost the memory's latency (32 us instead of 12 us for 32 images of MNIST).
void fetch(const void* row, int64_t bytes) noexcept {
  constexpr int64_t kLine = 64;
  for (int64_t at = 0; at < std::min(bytes, 32 * kLine); at += kLine) {
    __builtin_prefetch(static_cast<const std::byte*>(row) + at);
  }
}

int64_t gather_rows(const ah_rows* rows, const void* positions, int32_t type, void* out) noexcept {
  const auto dtype = static_cast<Dtype>(type);
  const kernel::Kernels& kernels = kernel::kernels();
  const int64_t width = rows->width;
  auto* to = static_cast<std::byte*>(out);
  const auto step = static_cast<size_t>(width) * dtype_size(dtype);
  const auto numbers = numbers_of(positions);
  int64_t at = 0;
  for (const int32_t position : numbers) {
    ++at;
    if (position < 1 || position > rows->n) return at;
    if (const auto next = static_cast<size_t>(at) + kAhead - 1; next < numbers.size()) {
      const int32_t soon = numbers[next];
      if (soon >= 1 && soon <= rows->n) fetch(rows->bytes_ + (soon - 1) * width, width);
    }
    kernels.from_bytes(dtype, width, to, rows->bytes_ + (position - 1) * width, rows->scale, rows->shift);
    to += step;
  }
  return 0;
}

int64_t gather(const void* from, int64_t n, int64_t row_bytes, const void* positions, void* out) noexcept {
  const auto* rows = static_cast<const std::byte*>(from);
  auto* to = static_cast<std::byte*>(out);
  int64_t at = 0;
  for (const int32_t position : numbers_of(positions)) {
    ++at;
    if (position < 1 || position > n) return at;
    if (row_bytes != 0) std::memcpy(to, rows + (position - 1) * row_bytes, static_cast<size_t>(row_bytes));
    to += row_bytes;
  }
  return 0;
}

void shuffled(double seed, double epoch, int32_t n, int32_t first, void* positions) noexcept {
  const Shuffle shuffle(static_cast<uint64_t>(seed), static_cast<uint64_t>(epoch), static_cast<uint64_t>(n));
  auto* head = static_cast<ah_positions*>(positions);
  auto* numbers = reinterpret_cast<int32_t*>(head + 1);
  auto position = static_cast<uint64_t>(first) - 1;
  for (int32_t i = 0; i < head->n; ++i, ++position) numbers[i] = static_cast<int32_t>(shuffle(position)) + 1;
}

}  // namespace

const ah_data_api kDataApi = {release, gather_rows, gather, shuffled};

void set_rows(ah_rows& rows, Holder holder, const Blob& bytes, size_t n, size_t width,
              const RowMeaning& meaning) noexcept {
  if (bytes.empty()) return;  // no rows: all fields stay zero
  new (rows.holder_) Holder(std::move(holder));
  rows.bytes_ = reinterpret_cast<const uint8_t*>(bytes.data());
  rows.scale = meaning.scale;
  rows.shift = meaning.shift;
  rows.n = static_cast<int32_t>(n);
  rows.width = static_cast<int32_t>(width);
  rows.ndim = meaning.ndim;
}

Gather gather_of(const ah_rows& rows) {
  Holder holder;
  if (rows.bytes_ != nullptr) holder = *std::launder(reinterpret_cast<const Holder*>(rows.holder_));
  return [holder = std::move(holder), rows](const void* positions, void* out) {
    return gather_rows(&rows, positions, static_cast<int32_t>(Dtype::f32), out);
  };
}

Gather gather_of(Blob block, const void* from, int64_t n, int64_t row_bytes) {
  return [block = std::move(block), from, n, row_bytes](const void* positions, void* out) {
    return gather(from, n, row_bytes, positions, out);
  };
}

}  // namespace actorhost
