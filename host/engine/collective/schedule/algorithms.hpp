#pragma once
// The algorithms of collectives: functions that make a rank's schedule. In the figures a rank has a buffer of S bytes,
// and n is the number of ranks. After a reduce the root has the result; the buffers of the other ranks are undefined.
// Pure functions.

#include "host/engine/collective/schedule/schedule.hpp"

namespace actorhost {

/// Ring: each rank sends to the next rank and receives from the previous rank. Best for large buffers: every link
/// carries the same number of bytes, and no link carries more than necessary.
///
///   reduce_scatter  n-1 steps, each rank sends S (n-1)/n bytes; rank r ends with the complete block r
///   allreduce       reduce_scatter, then the blocks circulate once more: 2(n-1) steps, 2 S (n-1)/n bytes
///
/// Blocks are cut into pieces, so a rank forwards the first piece while it still receives the others.
namespace ring {
/// Leaves block `rank` of the result at each rank.
Schedule reduce_scatter(const Place& place);
Schedule allreduce(const Place& place);
}  // namespace ring

/// Each rank sends block j of its input directly to rank j, which combines the blocks in rank order. The result
/// therefore has the bits of ((x0 op x1) op x2) ..., as a loop over the ranks computes it, whatever the timing. For
/// {reproducible=true}. Traffic is that of an alltoall: as many bytes as the ring, in n-1 simultaneous messages instead
/// of n-1 consecutive ones.
///
///   reduce_scatter  1 step, each rank sends S (n-1)/n bytes
///   allreduce       2 steps, 2 S (n-1)/n bytes
///   reduce          2 steps, S (n-1)/n bytes, then S/n bytes to the root
namespace ordered {
Schedule reduce_scatter(const Place& place);
Schedule allreduce(const Place& place);
Schedule reduce(const Place& place, uint32_t root);
}  // namespace ordered

/// Recursive doubling: in step k, ranks whose numbers differ in bit k exchange their whole buffers. Fewest steps, most
/// bytes: for small buffers.
///
///   allreduce  lg n steps, each rank sends S lg n bytes. Where n is no power of two, each surplus rank first sends its
///              input to a partner and receives the result at the end: 2 more steps, S more bytes for the surplus ranks
///              and their partners.
namespace recursive_doubling {
Schedule allreduce(const Place& place);
}  // namespace recursive_doubling

/// Recursive halving and doubling (Rabenseifner): pairs of ranks with numbers that differ in one bit exchange halves of
/// their common span until each rank holds one block of the result. The doubling phase repeats these exchanges in
/// reverse. The algorithm sends as many bytes as the ring in fewer steps: for buffers of medium size.
///
///   allreduce  2 lg n steps, each rank sends 2 S (n-1)/n bytes where n is a power of two. Otherwise each surplus rank
///              first sends its input to a partner and receives the result at the end: 2 more steps, S more bytes for
///              the surplus ranks and their partners.
namespace halving_doubling {
Schedule allreduce(const Place& place);
}  // namespace halving_doubling

/// Binomial tree: the number of ranks that hold the buffer doubles with each step. For small buffers, and for many
/// ranks.
///
///   broadcast  ceil(lg n) steps; the root sends S ceil(lg n) bytes, every other rank at most as many
///   reduce     the same in the other direction; each rank except the root sends S bytes once
namespace tree {
Schedule broadcast(const Place& place, uint32_t root);
Schedule reduce(const Place& place, uint32_t root);
}  // namespace tree

/// Pipelined chain: data moves from the root through all ranks, piece by piece, so all links are busy at once. For
/// large buffers and few ranks: with m pieces a chain takes m + n - 2 piece times where a tree takes m ceil(lg n).
///
///   broadcast  n-1 steps, each rank except the last sends S bytes
///   reduce     the same in the other direction
namespace chain {
Schedule broadcast(const Place& place, uint32_t root);
Schedule reduce(const Place& place, uint32_t root);
}  // namespace chain

/// Two levels: ranks of one process exchange data through memory (a frame between nodes of a process refers to the
/// sender's buffer instead of a copy), and data crosses the network once for each process. For groups of several nodes
/// in each of several processes. In the figures, p is the number of processes and c the number of nodes in a process.
///
///   allreduce  1. The buffer is cut into as many blocks as the largest process has nodes. In each process one node
///                 combines each block; every node sends S (c-1)/c bytes within the process.
///              2. The node of a block and its counterparts in the other processes all-reduce the block in a ring of
///                 2(p-1) steps.
///              3. Each node distributes its block within the process: S (c-1)/c bytes again.
///              A process sends 2 S (p-1)/p bytes over the network, shared by all its nodes.
///   broadcast  a chain over one node of each process, S bytes from each process except the last; each of these nodes
///              sends the data to the other nodes of its process
namespace hierarchical {
/// `place.homes` names the process of each rank.
Schedule allreduce(const Place& place);
Schedule broadcast(const Place& place, uint32_t root);
}  // namespace hierarchical

}  // namespace actorhost
