#pragma once
// The filters of a run of param.run: what workers push, and what servers answer in the loop, travels through them
// (filter.hpp). A ParamFilter is one end's sending side for one direction, with the rests of error feedback for each
// worker and key: a worker has its own pushes, a shard has its answers to all workers. Passive, of one thread.
//
// Filters apply wherever the nodes are, also where frames are passed by reference: results do not depend on that.

#include <map>
#include <tuple>

#include "host/engine/filter/filter.hpp"
#include "host/engine/param/value.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

/// A whole tensor of fewer bytes goes as it is: little is saved, and biases are small.
inline constexpr size_t kFilterLeastBytes = 1024;

struct ParamFilterSpecs {
  FilterSpec push;
  FilterSpec pull;  // no top-k: what is not chosen of a value would be 0
  bool any() const noexcept { return push.any() || pull.any(); }
};

/// Bytes of values that workers and servers have sent each other, as values and as they travelled.
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

  /// Whether a tensor, or the one that this is a part of, goes through the filter.
  bool takes(const ParamTensor& tensor) const noexcept;
  /// Begins a tensor, or a part that is sent as a tensor of its own. Its bytes stay as they are until its last piece.
  void begin(NodeId worker, const ParamKey& key, const ParamTensor& tensor);
  /// The chunk's elements, which lie within what was begun.
  Blob piece(const ParamTensor& chunk);
  /// The worker is gone.
  void forget(NodeId worker);

 private:
  using Name = std::tuple<NodeId, ParamKey, uint64_t>;  // the last: where the part begins

  Filter filter_;
  uint64_t first_ = 0;  // of what was begun
  std::map<Name, FilterRest> rests_;
};

}  // namespace actorhost
