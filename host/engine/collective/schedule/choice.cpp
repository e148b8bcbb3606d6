#include "host/engine/collective/schedule/choice.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <iterator>
#include <limits>
#include <span>

#include "host/engine/collective/schedule/algorithms.hpp"

namespace actorhost {

namespace {

constexpr std::array<const char*, 9> kNames = {
    "automatic", "star", "ring", "recursive_doubling", "halving_doubling", "tree", "chain", "ordered", "hierarchical"};

constexpr size_t kWideBroadcast = size_t{4} << 20;  // from this size, crossing the network once per process is fastest

// The tables: the first row with sufficient limits on ranks and bytes applies. Measured with tests/bench/algorithms.lua
// for 2, 3, 4 and 8 ranks and 4 B to 100 MB; NOTES.md has the figures. Rows for more than 8 ranks are estimates.
constexpr uint32_t kAnyRanks = std::numeric_limits<uint32_t>::max();
constexpr size_t kAnyBytes = std::numeric_limits<size_t>::max();
constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;

struct Row {
  uint32_t ranks;  // upper limit
  size_t bytes;    // upper limit
  Algorithm algorithm = Algorithm::star;
};

constexpr Row kStar[] = {
    {4, 256 * kKiB},  // takes 50 to 90 % of the time of other algorithms
    {8, 64 * kKiB},   // 256 KiB on one machine; in a network all data would cross the leader's link
    {kAnyRanks, 16 * kKiB},
};
constexpr Row kStarOfThreads[] = {{kAnyRanks, 64 * kKiB}};
constexpr Row kStarOfExchanges[] = {{kAnyRanks, 16 * kKiB}};

constexpr Row kAllreduce[] = {
    {2, 4 * kMiB, Algorithm::recursive_doubling},  // one step instead of two
    {4, kAnyBytes, Algorithm::ring},               // as fast as halving, with fewer bytes in flight
    {8, 512 * kKiB, Algorithm::halving_doubling},
    {8, kAnyBytes, Algorithm::ring},
    {kAnyRanks, 4 * kMiB, Algorithm::halving_doubling},
    {kAnyRanks, kAnyBytes, Algorithm::ring},
};
constexpr Row kRooted[] = {
    {4, kAnyBytes, Algorithm::chain},
    {kAnyRanks, 4 * kMiB, Algorithm::tree},
    {kAnyRanks, kAnyBytes, Algorithm::chain},
};

const Row& row_of(std::span<const Row> table, uint32_t ranks, size_t bytes) noexcept {
  return *std::find_if(table.begin(), std::prev(table.end()),
                       [&](const Row& row) { return ranks <= row.ranks && bytes <= row.bytes; });
}

}  // namespace

const char* algorithm_name(Algorithm algorithm) noexcept { return kNames[static_cast<size_t>(algorithm)]; }

bool parse_algorithm(std::string_view name, Algorithm& algorithm) noexcept {
  const auto at = std::find(kNames.begin(), kNames.end(), name);
  if (at == kNames.end()) return false;
  algorithm = static_cast<Algorithm>(at - kNames.begin());
  return true;
}

bool algorithm_fits(CollectiveKind kind, Algorithm algorithm) noexcept {
  switch (algorithm) {
    case Algorithm::automatic:
    case Algorithm::star: return true;
    case Algorithm::ring: return kind == CollectiveKind::allreduce || kind == CollectiveKind::reduce_scatter;
    case Algorithm::recursive_doubling:
    case Algorithm::halving_doubling: return kind == CollectiveKind::allreduce;
    case Algorithm::tree:
    case Algorithm::chain: return kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce;
    case Algorithm::hierarchical: return kind == CollectiveKind::allreduce || kind == CollectiveKind::broadcast;
    case Algorithm::ordered:
      return kind == CollectiveKind::allreduce || kind == CollectiveKind::reduce_scatter ||
             kind == CollectiveKind::reduce;
  }
  return false;
}

size_t star_bytes(CollectiveKind kind, uint32_t ranks, uint32_t processes) noexcept {
  if (kind == CollectiveKind::exchange) return row_of(kStarOfExchanges, ranks, 0).bytes;
  return row_of(processes == 1 ? std::span<const Row>(kStarOfThreads) : kStar, ranks, 0).bytes;
}

Algorithm choose_algorithm(CollectiveKind kind, size_t bytes, uint32_t ranks, uint32_t processes,
                           const CollectiveChoice& choice) noexcept {
  if (choice.forced != Algorithm::automatic) return choice.forced;
  if (choice.reproducible && kind != CollectiveKind::broadcast) return Algorithm::ordered;
  // Two processes of two nodes, ms for 0.1, 1 and 16 MB: all-reduce 0.6, 2.1, 49, the better of ring and halving 0.9,
  // 2.7, 97; broadcast 0.8, 1.2, 21, the better of tree and chain 0.5, 1.0, 25.
  const bool two_levels = processes > 1 && processes < ranks;
  if (two_levels && kind == CollectiveKind::allreduce) return Algorithm::hierarchical;
  if (two_levels && kind == CollectiveKind::broadcast && bytes >= kWideBroadcast) return Algorithm::hierarchical;
  switch (kind) {
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce: return row_of(kRooted, ranks, bytes).algorithm;
    case CollectiveKind::reduce_scatter: return Algorithm::ring;
    case CollectiveKind::allreduce: return row_of(kAllreduce, ranks, bytes).algorithm;
    case CollectiveKind::barrier:
    case CollectiveKind::exchange: break;
  }
  return Algorithm::star;
}

Schedule make_schedule(CollectiveKind kind, Algorithm algorithm, const Place& place, uint32_t root) {
  assert(algorithm_fits(kind, algorithm));
  switch (algorithm) {
    case Algorithm::ring:
      return kind == CollectiveKind::reduce_scatter ? ring::reduce_scatter(place) : ring::allreduce(place);
    case Algorithm::recursive_doubling: return recursive_doubling::allreduce(place);
    case Algorithm::halving_doubling: return halving_doubling::allreduce(place);
    case Algorithm::tree:
      return kind == CollectiveKind::reduce ? tree::reduce(place, root) : tree::broadcast(place, root);
    case Algorithm::chain:
      return kind == CollectiveKind::reduce ? chain::reduce(place, root) : chain::broadcast(place, root);
    case Algorithm::ordered:
      if (kind == CollectiveKind::reduce_scatter) return ordered::reduce_scatter(place);
      return kind == CollectiveKind::reduce ? ordered::reduce(place, root) : ordered::allreduce(place);
    case Algorithm::hierarchical:
      return kind == CollectiveKind::broadcast ? hierarchical::broadcast(place, root) : hierarchical::allreduce(place);
    case Algorithm::automatic:
    case Algorithm::star: break;
  }
  return {};
}

}  // namespace actorhost
