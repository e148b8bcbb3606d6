#include "host/engine/collective/reduction.hpp"

#include <array>

#include "host/base/names.hpp"
#include "host/kernel/whole.hpp"

namespace actorhost {

namespace {

constexpr std::array<const char*, 5> kOpNames = {"sum", "mean", "min", "max", "prod"};

kernel::Binary binary_of(CollectiveOp op) noexcept {
  switch (op) {
    case CollectiveOp::min: return kernel::Binary::min;
    case CollectiveOp::max: return kernel::Binary::max;
    case CollectiveOp::prod: return kernel::Binary::mul;
    case CollectiveOp::sum:
    case CollectiveOp::mean: break;
  }
  return kernel::Binary::add;
}

}  // namespace

bool parse_collective_op(std::string_view name, CollectiveOp& op) noexcept { return find_name(kOpNames, name, op); }

const char* collective_op_name(CollectiveOp op) noexcept { return kOpNames[static_cast<size_t>(op)]; }

void combine(CollectiveOp op, Dtype dtype, size_t count, void* out, const void* a, const void* b) noexcept {
  const kernel::Binary by = binary_of(op);
  const auto n = static_cast<int64_t>(count);
  if (!kernel::has_kernel(by, dtype)) return kernel::whole_binary(by, dtype, n, {out, 1}, {a, 1}, {b, 1});
  kernel::kernels().binary(by, dtype, n, out, 1, a, 1, b, 1);
}

void finish(CollectiveOp op, Dtype dtype, size_t count, void* values, size_t ranks) noexcept {
  if (op != CollectiveOp::mean) return;
  const auto n = static_cast<double>(ranks);
  const auto n32 = static_cast<float>(n);
  const void* divisor = dtype == Dtype::f32 ? static_cast<const void*>(&n32) : &n;
  kernel::kernels().binary(kernel::Binary::div, dtype, static_cast<int64_t>(count), values, 1, values, 1, divisor, 0);
}

}  // namespace actorhost
