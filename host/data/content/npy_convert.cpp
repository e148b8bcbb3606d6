#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "host/data/content/npy_header.hpp"

namespace actorhost {

namespace {

void swap_bytes(Blob& data, size_t item) {
  for (std::byte* at = data.data(); at != data.data() + data.size(); at += item) std::reverse(at, at + item);
}

/// Reorders a Fortran array of this shape, whose order is the C order of its transpose. The fastest dimensions of the
/// two orders are copied in tiles, so that each cache line is fully used while it is cached.
template <typename T>
Blob to_c_order(const Blob& from, const std::vector<size_t>& shape) {
  constexpr size_t kTile = 64;
  const size_t rows = shape.front();
  const size_t cols = shape.back();
  const size_t middle = from.size() / sizeof(T) / rows / cols;
  Blob out = Blob::allocate(from.size());
  const T* in = reinterpret_cast<const T*>(from.data());
  T* to = reinterpret_cast<T*>(out.data());
  std::vector<size_t> at(shape.size(), 0);  // index in the middle dimensions
  for (size_t m = 0; m < middle; ++m) {
    size_t in_middle = 0;  // offset of this index in the Fortran order
    for (size_t d = shape.size() - 2; d >= 1; --d) in_middle = in_middle * shape[d] + at[d];
    for (size_t i0 = 0; i0 < rows; i0 += kTile) {
      for (size_t j0 = 0; j0 < cols; j0 += kTile) {
        for (size_t i = i0; i < std::min(i0 + kTile, rows); ++i) {
          for (size_t j = j0; j < std::min(j0 + kTile, cols); ++j) {
            to[(i * middle + m) * cols + j] = in[(j * middle + in_middle) * rows + i];
          }
        }
      }
    }
    for (size_t d = shape.size() - 2; d >= 1 && ++at[d] == shape[d]; --d) at[d] = 0;
  }
  return out;
}

Blob to_c_order(const Blob& from, const std::vector<size_t>& shape, size_t item) {
  switch (item) {
    case 1: return to_c_order<uint8_t>(from, shape);
    case 2: return to_c_order<uint16_t>(from, shape);
    case 4: return to_c_order<uint32_t>(from, shape);
    default: return to_c_order<uint64_t>(from, shape);
  }
}

float half_value(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const auto fraction = static_cast<float>(half & 1023);
  float value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 31)
    value = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  return std::copysign(value, (half & 0x8000) != 0 ? -1.0F : 1.0F);
}

template <typename From, typename To, typename F>
Blob each(const Blob& from, const F& convert) {
  const size_t n = from.size() / sizeof(From);
  Blob out = Blob::allocate(n * sizeof(To));
  const From* in = reinterpret_cast<const From*>(from.data());
  To* to = reinterpret_cast<To*>(out.data());
  for (size_t i = 0; i < n; ++i) to[i] = convert(in[i]);
  return out;
}

template <typename From, typename To>
Blob widened(const Blob& from) {
  return each<From, To>(from, [](From value) { return static_cast<To>(value); });
}

float bfloat_value(uint16_t upper) { return std::bit_cast<float>(uint32_t{upper} << 16); }

constexpr int letter(char kind, int bytes) { return kind * 16 + bytes; }

/// Converts `array.data` from the file's type to a tensor type; false if a value does not fit.
bool to_type(const NpyStored& stored, Tensor& array) {
  Blob& data = array.data;
  switch (letter(stored.kind, stored.bytes)) {
    case letter('f', 8): array.dtype = Dtype::f64; return true;
    case letter('f', 4): array.dtype = Dtype::f32; return true;
    case letter('i', 8): array.dtype = Dtype::i64; return true;
    case letter('i', 4): array.dtype = Dtype::i32; return true;
    case letter('u', 1): array.dtype = Dtype::u8; return true;
    case letter('b', 1):
      array.dtype = Dtype::b8;
      data = each<uint8_t, uint8_t>(data, [](uint8_t value) { return static_cast<uint8_t>(value != 0); });
      return true;
    case letter('f', 2):
      array.dtype = Dtype::f32;
      data = each<uint16_t, float>(data, half_value);
      return true;
    case letter('g', 2):
      array.dtype = Dtype::f32;
      data = each<uint16_t, float>(data, bfloat_value);
      return true;
    case letter('i', 1):
      array.dtype = Dtype::i32;
      data = widened<int8_t, int32_t>(data);
      return true;
    case letter('i', 2):
      array.dtype = Dtype::i32;
      data = widened<int16_t, int32_t>(data);
      return true;
    case letter('u', 2):
      array.dtype = Dtype::i32;
      data = widened<uint16_t, int32_t>(data);
      return true;
    case letter('u', 4):
      array.dtype = Dtype::i64;
      data = widened<uint32_t, int64_t>(data);
      return true;
    default: {  // uint64
      array.dtype = Dtype::i64;
      const auto* values = reinterpret_cast<const uint64_t*>(data.data());
      return std::none_of(values, values + data.size() / sizeof(uint64_t), [](uint64_t v) { return v >> 63 != 0; });
    }
  }
}

}  // namespace

Result<Tensor> from_stored(const NpyHeader& header, Blob data, const std::string& where) {
  Tensor array{{Dtype::f32, header.shape}, std::move(data)};
  if (header.stored.swapped) swap_bytes(array.data, header.stored.bytes);
  if (header.fortran && header.shape.rank > 1 && !array.data.empty()) {
    array.data = to_c_order(array.data, {header.shape.begin(), header.shape.end()}, header.stored.bytes);
  }
  if (to_type(header.stored, array)) return array;
  return Error{Code::bad_data, where + ": a uint64 of 2^63 or more, which no type holds"};
}

}  // namespace actorhost
