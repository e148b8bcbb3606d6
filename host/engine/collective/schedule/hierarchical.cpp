#include <algorithm>

#include "host/engine/collective/schedule/algorithms.hpp"

namespace actorhost::hierarchical {

namespace {

/// The members of each process; processes in the order of their first member.
struct Layout {
  std::vector<std::vector<uint32_t>> processes;
  uint32_t mine = 0;    // this rank's process
  uint32_t blocks = 1;  // members of the largest process

  explicit Layout(const Place& place) {
    std::vector<uint32_t> homes;  // of each process
    for (uint32_t rank = 0; rank < place.ranks; ++rank) {
      const uint32_t home = place.homes.empty() ? rank : place.homes[rank];
      const auto at = static_cast<size_t>(std::find(homes.begin(), homes.end(), home) - homes.begin());
      if (at == homes.size()) {
        homes.push_back(home);
        processes.emplace_back();
      }
      processes[at].push_back(rank);
      if (rank == place.rank) mine = static_cast<uint32_t>(at);
      blocks = std::max(blocks, static_cast<uint32_t>(processes[at].size()));
    }
  }

  uint32_t count() const { return static_cast<uint32_t>(processes.size()); }
  const std::vector<uint32_t>& here() const { return processes[mine]; }
  /// The rank that combines a block in a process.
  uint32_t owner(uint32_t process, uint32_t block) const {
    const std::vector<uint32_t>& members = processes[process % count()];
    return members[block % members.size()];
  }
};

Span block_span(const Place& place, const Layout& layout, uint32_t block) {
  return Place{0, layout.blocks, place.elements, place.unit, {}}.block(block);
}

/// The part of a block that one process finishes.
Span part_of(const Span& block, const Layout& layout, uint32_t process) {
  const Span part = block_of(block.size(), layout.count(), process % layout.count());
  return {block.begin + part.begin, block.begin + part.end};
}

/// Combines a block of this rank's process with the same block of the other processes, in a ring.
void add_ring(Schedule& schedule, const Layout& layout, uint32_t block, const Span& span) {
  const uint32_t p = layout.count();
  const uint32_t next = layout.owner(layout.mine + 1, block);
  const uint32_t before = layout.owner(layout.mine + p - 1, block);
  const auto behind = [&](uint32_t back) { return part_of(span, layout, layout.mine + p - back); };
  for (uint32_t step = 1; step < p; ++step) {
    schedule.send(next, behind(step));
    schedule.reduce(before, behind(step + 1));
  }
  schedule.finish(behind(0));
  for (uint32_t step = 0; step + 1 < p; ++step) {
    schedule.send(next, behind(step));
    schedule.receive(before, behind(step + 1));
  }
}

}  // namespace

Schedule allreduce(const Place& place) {
  Schedule schedule;
  if (place.ranks == 1) return schedule;
  const Layout layout(place);
  const auto each_block = [&](const auto& visit) {
    for (uint32_t block = 0; block < layout.blocks; ++block) {
      visit(block, block_span(place, layout, block), layout.owner(layout.mine, block));
    }
  };
  each_block([&](uint32_t, const Span& span, uint32_t owner) {
    if (owner != place.rank) return schedule.send(owner, span);
    for (const uint32_t rank : layout.here()) {
      if (rank != place.rank) schedule.reduce(rank, span);
    }
  });
  each_block([&](uint32_t block, const Span& span, uint32_t owner) {
    if (owner == place.rank) add_ring(schedule, layout, block, span);
  });
  each_block([&](uint32_t, const Span& span, uint32_t owner) {
    // Forwards the parts as the ring completes them.
    for (uint32_t process = 0; process < layout.count(); ++process) {
      const Span part = part_of(span, layout, process);
      if (owner != place.rank) {
        schedule.receive(owner, part);
        continue;
      }
      for (const uint32_t rank : layout.here()) {
        if (rank != place.rank) schedule.send(rank, part);
      }
    }
  });
  return schedule;
}

Schedule broadcast(const Place& place, uint32_t root) {
  Schedule schedule;
  const Layout layout(place);
  const Span all{0, place.elements};
  uint32_t first = 0;  // the root's process
  while (std::find(layout.processes[first].begin(), layout.processes[first].end(), root) ==
         layout.processes[first].end()) {
    ++first;
  }
  const uint32_t p = layout.count();
  const auto representative = [&](uint32_t process) {
    return process == first ? root : layout.processes[process].front();
  };
  const uint32_t from_first = (layout.mine + p - first) % p;
  if (place.rank != representative(layout.mine)) {
    schedule.receive(representative(layout.mine), all);
    return schedule;
  }
  if (from_first > 0) schedule.receive(representative((layout.mine + p - 1) % p), all);
  if (from_first + 1 < p) schedule.send(representative((layout.mine + 1) % p), all);
  for (const uint32_t rank : layout.here()) {
    if (rank != place.rank) schedule.send(rank, all);
  }
  return schedule;
}

}  // namespace actorhost::hierarchical
