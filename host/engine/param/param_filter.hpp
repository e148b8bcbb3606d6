#pragma once
// The filters of a run of param.run (filter.hpp). Workers' pushes and servers' replies in the loop are filtered. A
// ParamFilter is the sending side of one direction: a worker has a filter for its pushes, a shard has a filter for its
// replies to all workers. It holds the residuals of error feedback by worker and key. Passive; not thread-safe.
//
// Filters apply to all nodes, also where frames are passed by reference, so results do not depend on the placement of
// nodes.

#include <map>
#include <tuple>

#include "host/engine/filter/filter.hpp"
#include "host/engine/values/value.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

/// Smaller whole tensors are not filtered: filtering saves little, and biases are small.
inline constexpr size_t kFilterLeastBytes = 1024;

struct ParamFilterSpecs {
  FilterSpec push;
  FilterSpec pull;  // top-k is not allowed: elements that it does not choose would be 0
  bool any() const noexcept { return push.any() || pull.any(); }
};

/// Bytes of values that workers and servers have exchanged: the values, and their encoded form.
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

  /// Whether the filter applies to a tensor, or to the tensor that this part belongs to.
  bool applies_to(const ParamTensor& tensor) const noexcept;
  /// Begins a tensor, or a part that is sent like a tensor. Its bytes must not change until its last piece is encoded.
  void begin(NodeId worker, const ParamKey& key, const ParamTensor& tensor);
  /// Encodes the chunk's elements. The chunk is within the begun tensor or part.
  Blob piece(const ParamTensor& chunk);
  /// Drops the residuals of a failed worker.
  void forget(NodeId worker);

 private:
  using Name = std::tuple<NodeId, ParamKey, uint64_t>;  // the last: the first element of the part

  Filter filter_;
  uint64_t first_ = 0;  // first element of the begun part
  std::map<Name, FilterResidual> residuals_;
};

}  // namespace actorhost
