#pragma once
// Chooses a call's algorithm from its kind, bytes and ranks by a table of measurements, unless the user forces one. All
// ranks of a call have the same inputs and so choose the same. Plain values.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "host/engine/collective/schedule.hpp"

namespace actorhost {

enum class CollectiveKind : uint8_t { barrier, broadcast, reduce, allreduce, reduce_scatter, exchange };

enum class Algorithm : uint8_t {
  automatic,
  star,
  ring,
  recursive_doubling,
  halving_doubling,
  tree,
  chain,
  ordered,
  hierarchical
};

/// "ring", "halving_doubling", ...; "star" stands for small calls through the leader.
const char* algorithm_name(Algorithm algorithm) noexcept;
bool parse_algorithm(std::string_view name, Algorithm& algorithm) noexcept;
/// Whether there is such an algorithm for such a call.
bool algorithm_fits(CollectiveKind kind, Algorithm algorithm) noexcept;

struct CollectiveChoice {
  Algorithm forced = Algorithm::automatic;
  bool reproducible = false;  // the bits of a loop over the ranks
};

/// Bytes a rank (an exchange: those it gives in all) up to which everything goes through the leader, which combines it:
/// "star".
size_t star_bytes(CollectiveKind kind, uint32_t ranks, uint32_t processes) noexcept;

/// The algorithm for a call of `bytes` bytes a rank whose data goes straight between `ranks` ranks that live in
/// `processes` processes.
Algorithm choose_algorithm(CollectiveKind kind, size_t bytes, uint32_t ranks, uint32_t processes,
                           const CollectiveChoice& choice) noexcept;

/// The schedule of a call by an algorithm that fits it.
Schedule make_schedule(CollectiveKind kind, Algorithm algorithm, const Place& place, uint32_t root);

}  // namespace actorhost
