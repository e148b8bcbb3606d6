#pragma once
// The element-wise operations of reductions. Stateless, thread-safe.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "host/kernel/kernels.hpp"

namespace actorhost {

enum class CollectiveOp : uint8_t { sum, mean, min, max, prod };

/// "sum" -> CollectiveOp::sum; false for an unknown name.
bool parse_collective_op(std::string_view name, CollectiveOp& op) noexcept;
const char* collective_op_name(CollectiveOp op) noexcept;

/// out = a op b over `count` elements; `out` may be `a` or `b`. A mean adds here; `finish` divides.
void combine(CollectiveOp op, Dtype dtype, size_t count, void* out, const void* a, const void* b) noexcept;

/// Completes a reduction of `ranks` inputs: divides a mean by `ranks`, does nothing for other operations.
void finish(CollectiveOp op, Dtype dtype, size_t count, void* values, size_t ranks) noexcept;

}  // namespace actorhost
