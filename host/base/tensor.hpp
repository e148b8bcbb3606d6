#pragma once
// Tensors for all layers: element type, shape, layout, and a tensor that owns its elements. Kernels access elements
// through a strided View (host/kernel/strided.hpp) of the same types. Plain values; any thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "host/base/blob.hpp"
#include "host/base/dtype.hpp"
#include "host/base/result.hpp"

namespace actorhost {

/// "float32".
const char* dtype_name(Dtype dtype) noexcept;
constexpr Dtype last_of(Dtype) noexcept { return Dtype::b8; }

/// The sizes of at most kMaxRank dimensions; the last dimension varies fastest. Rank 0 is one element.
struct Shape {
  static constexpr size_t kMaxRank = 8;
  /// A dimension of 0 counts as 1 here, so that it does not excuse other dimensions from the limit.
  static constexpr int64_t kMaxElements = int64_t{1} << 48;

  uint8_t rank = 0;
  std::array<int64_t, kMaxRank> dims{};

  Shape() = default;
  /// Unchecked: for trusted sizes.
  Shape(std::initializer_list<int64_t> sizes) noexcept;
  /// For untrusted sizes. Code::bad_argument for a rank or a number of elements above the limits, or a negative
  /// dimension.
  static Result<Shape> of(std::span<const int64_t> sizes);

  int64_t operator[](size_t dim) const noexcept { return dims[dim]; }
  int64_t& operator[](size_t dim) noexcept { return dims[dim]; }
  const int64_t* data() const noexcept { return dims.data(); }
  const int64_t* begin() const noexcept { return dims.data(); }
  const int64_t* end() const noexcept { return dims.data() + rank; }
  int64_t* begin() noexcept { return dims.data(); }
  int64_t* end() noexcept { return dims.data() + rank; }

  int64_t elements() const noexcept;
  /// "784x128", "scalar".
  std::string print() const;
  friend bool operator==(const Shape& a, const Shape& b) noexcept;

  /// rank:u8 *dim:i64
  static void fields(auto& m, auto&& field) {
    field(m.rank);
    for (size_t d = 0; d < m.rank && d < kMaxRank; ++d) field(m.dims[d]);
  }
  bool is_valid() const noexcept;
};

/// Type and shape of a tensor with contiguous elements in row-major order.
struct TensorLayout {
  Dtype dtype = Dtype::f32;
  Shape shape;

  size_t bytes() const noexcept { return static_cast<size_t>(shape.elements()) * dtype_size(dtype); }
  /// "float32 784x128".
  std::string print() const;
  friend bool operator==(const TensorLayout&, const TensorLayout&) = default;

  /// dtype:u8 shape. An engine that computes with a received tensor checks is_floating itself.
  static void fields(auto& m, auto&& field) { field(m.dtype, m.shape); }
};

/// A shared Blob is read-only.
struct Tensor : TensorLayout {
  Blob data;  // of size bytes()
};

}  // namespace actorhost
