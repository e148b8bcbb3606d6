#pragma once
// Chooses the algorithm of a call from its kind, bytes and ranks by a table of measurements, unless the user forces an
// algorithm. All ranks of a call pass the same arguments, so all choose the same algorithm. Plain values.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "host/engine/collective/schedule/schedule.hpp"

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

/// "ring", "halving_doubling", ...; "star" is the algorithm for small calls, which sends all data through the leader.
const char* algorithm_name(Algorithm algorithm) noexcept;
bool parse_algorithm(std::string_view name, Algorithm& algorithm) noexcept;
/// Whether the algorithm implements this kind of call.
bool algorithm_fits(CollectiveKind kind, Algorithm algorithm) noexcept;

struct CollectiveChoice {
  Algorithm forced = Algorithm::automatic;
  bool reproducible = false;  // the result has the bits of a loop over the ranks
};

/// The limit of the star, in bytes per rank (exchange: all bytes that a rank sends). Larger calls send data directly
/// between ranks.
size_t star_bytes(CollectiveKind kind, uint32_t ranks, uint32_t processes) noexcept;

/// The algorithm for a call of `bytes` bytes per rank, with data sent directly between `ranks` ranks in `processes`
/// processes.
Algorithm choose_algorithm(CollectiveKind kind, size_t bytes, uint32_t ranks, uint32_t processes,
                           const CollectiveChoice& choice) noexcept;

/// Requires algorithm_fits(kind, algorithm).
Schedule make_schedule(CollectiveKind kind, Algorithm algorithm, const Place& place, uint32_t root);

}  // namespace actorhost
