#pragma once
// Two levels: within each process through its memory (frames between its nodes are lent, not copied), and across the
// network once for each process. For groups of several nodes in each of several processes; p processes, c nodes in one.
//
//   allreduce  the buffer is cut in as many blocks as the fullest process has nodes; in each process a block is put
//              together at one node (S (c-1)/c bytes within the process from each); that node and its counterparts of
//              the other processes all-reduce it in a ring, 2(p-1) steps; then it goes round the process (the same
//              again). A process sends 2 S (p-1)/p bytes; all its nodes take part in that
//   broadcast  a chain over one node of each process, S bytes from each process but the last, and from that node to the
//              others of its process

#include "host/engine/collective/schedule.hpp"

namespace actorhost::hierarchical {

/// `place.homes` says in which process each rank lives.
Schedule allreduce(const Place& place);
Schedule broadcast(const Place& place, uint32_t root);

}  // namespace actorhost::hierarchical
