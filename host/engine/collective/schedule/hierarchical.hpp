#pragma once
// Two levels: ranks of one process exchange data through memory (a frame between nodes of a process refers to the
// sender's buffer instead of a copy), and data crosses the network once for each process. For groups of several nodes
// in each of several processes. In the figures, p is the number of processes and c the number of nodes in a process.
//
//   allreduce  1. The buffer is cut into as many blocks as the largest process has nodes. In each process one node
//                 combines each block; every node sends S (c-1)/c bytes within the process.
//              2. The node of a block and its counterparts in the other processes all-reduce the block in a ring of
//                 2(p-1) steps.
//              3. Each node distributes its block within the process: S (c-1)/c bytes again.
//              A process sends 2 S (p-1)/p bytes over the network, shared by all its nodes.
//   broadcast  a chain over one node of each process, S bytes from each process except the last; each of these nodes
//              sends the data to the other nodes of its process

#include "host/engine/collective/schedule/schedule.hpp"

namespace actorhost::hierarchical {

/// `place.homes` names the process of each rank.
Schedule allreduce(const Place& place);
Schedule broadcast(const Place& place, uint32_t root);

}  // namespace actorhost::hierarchical
