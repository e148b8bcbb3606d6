#include "host/engine/param/param_filter.hpp"

namespace actorhost {

bool ParamFilter::applies_to(const ParamTensor& tensor) const noexcept {
  const uint64_t elements = tensor.elements();
  return filter_.spec().any() && elements * dtype_size(tensor.dtype) >= kFilterLeastBytes &&
         elements <= Filter::kMaxElements;
}

void ParamFilter::begin(NodeId worker, const ParamKey& key, const ParamTensor& tensor) {
  first_ = tensor.first;
  void* residual =
      filter_.spec().feedback ? residuals_[Name(worker, key, tensor.first)].fit(tensor.dtype, tensor.count) : nullptr;
  filter_.begin(tensor.dtype, tensor.count, tensor.data.data(), residual);
}

Blob ParamFilter::piece(const ParamTensor& chunk) { return filter_.piece(chunk.first - first_, chunk.count); }

void ParamFilter::forget(NodeId worker) {
  residuals_.erase(residuals_.lower_bound(Name(worker, {}, 0)), residuals_.lower_bound(Name(worker + 1, {}, 0)));
}

}  // namespace actorhost
