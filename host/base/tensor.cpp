#include "host/base/tensor.hpp"

#include <algorithm>
#include <cassert>

namespace actorhost {

namespace {

/// The fault in the sizes of a shape; empty if there is none.
std::string fault_of(std::span<const int64_t> sizes) {
  if (sizes.size() > Shape::kMaxRank) {
    return "a tensor of " + std::to_string(sizes.size()) + " dimensions, the limit is " +
           std::to_string(Shape::kMaxRank);
  }
  int64_t elements = 1;
  for (const int64_t size : sizes) {
    if (size < 0) return "a dimension of " + std::to_string(size);
    if (size > Shape::kMaxElements / elements) {
      return "a tensor of more than " + std::to_string(Shape::kMaxElements) + " elements";
    }
    elements *= std::max<int64_t>(size, 1);
  }
  return {};
}

}  // namespace

const char* dtype_name(Dtype dtype) noexcept {
  static constexpr std::array<const char*, 6> kDtypeNames = {"float32", "float64", "int32", "int64", "uint8", "bool"};
  return name_of(kDtypeNames, dtype);
}

Shape::Shape(std::initializer_list<int64_t> sizes) noexcept : rank(static_cast<uint8_t>(sizes.size())) {
  assert(sizes.size() <= kMaxRank);
  std::copy(sizes.begin(), sizes.end(), dims.begin());
}

Result<Shape> Shape::of(std::span<const int64_t> sizes) {
  if (std::string fault = fault_of(sizes); !fault.empty()) return Error{Code::bad_argument, std::move(fault)};
  Shape shape;
  shape.rank = static_cast<uint8_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), shape.dims.begin());
  return shape;
}

int64_t Shape::elements() const noexcept {
  int64_t n = 1;
  for (const int64_t size : *this) n *= size;
  return n;
}

std::string Shape::print() const {
  if (rank == 0) return "scalar";
  std::string out;
  for (const int64_t size : *this) out += (out.empty() ? "" : "x") + std::to_string(size);
  return out;
}

bool operator==(const Shape& a, const Shape& b) noexcept { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

bool Shape::is_valid() const noexcept { return rank <= kMaxRank && fault_of(*this).empty(); }

std::string TensorLayout::print() const { return std::string(dtype_name(dtype)) + " " + shape.print(); }

}  // namespace actorhost
