#pragma once
// Compresses values between workers and servers in a run of param.run with loss, by the filters of filter.hpp: the
// pushes of workers, and the values of tasks that servers send to workers. A ParamFilter is the sending side of one
// direction. Each worker has a ParamFilter for its pushes; each shard has a ParamFilter for its replies to all workers.
// It stores the residuals of error feedback. Passive; belongs to the sender's thread.
//
// Values between nodes of one process are filtered too, although their frames are passed by reference. So the results
// do not depend on the placement of nodes.

#include <map>
#include <tuple>

#include "host/engine/filter/filter.hpp"
#include "host/engine/values/value.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

/// The least size of a filtered tensor. Filtering a smaller tensor, such as a bias, would save few bytes.
inline constexpr size_t kFilterLeastBytes = 1024;

struct ParamFilterSpecs {
  FilterSpec push;
  FilterSpec pull;  // not top-k: a parameter would be 0 in each element that top-k does not choose
  bool any() const noexcept { return push.any() || pull.any(); }
};

/// The bytes of the values that workers and servers have exchanged, before and after filters.
struct ParamTraffic {
  FilterBytes pushed;
  FilterBytes pulled;
  static void fields(auto& m, auto&& field) { field(m.pushed, m.pulled); }
  ParamTraffic& operator+=(const ParamTraffic& other) noexcept {
    pushed += other.pushed;
    pulled += other.pulled;
    return *this;
  }
  friend bool operator==(const ParamTraffic&, const ParamTraffic&) = default;
};

class ParamFilter {
 public:
  explicit ParamFilter(const FilterSpec& spec = {}) : filter_(spec) {}

  /// Whether the filter applies to `tensor`. If that is a part of a tensor, the size of the whole tensor decides.
  bool applies_to(const ParamTensor& tensor) const noexcept {
    const uint64_t elements = tensor.elements();
    return filter_.spec().any() && elements * dtype_size(tensor.dtype) >= kFilterLeastBytes &&
           elements <= Filter::kMaxElements;
  }
  /// Begins a tensor or a part of a tensor. Each shard's part of a push, and each chunk of a reply, has its own
  /// residual. The bytes must not change until the last chunk is encoded.
  void begin(NodeId worker, const ParamKey& key, const ParamTensor& tensor) {
    first_ = tensor.first;
    void* residual =
        filter_.spec().feedback ? residuals_[Name(worker, key, tensor.first)].fit(tensor.dtype, tensor.count) : nullptr;
    filter_.begin(tensor.dtype, tensor.count, tensor.data.data(), residual);
  }
  /// Encodes a chunk of the begun tensor or part.
  Blob piece(const ParamTensor& chunk) { return filter_.piece(chunk.first - first_, chunk.count); }
  /// Drops the residuals of a failed worker.
  void forget(NodeId worker) {
    residuals_.erase(residuals_.lower_bound(Name(worker, {}, 0)), residuals_.lower_bound(Name(worker + 1, {}, 0)));
  }

 private:
  using Name = std::tuple<NodeId, ParamKey, uint64_t>;  // worker, key, and first element of the part

  Filter filter_;
  uint64_t first_ = 0;  // first element of the begun part
  std::map<Name, FilterResidual> residuals_;
};

}  // namespace actorhost
