#pragma once
// The job's name under a launcher that implements PMI-1 (MPICH's Hydra, Intel MPI). Such a launcher sets no variable
// that distinguishes two concurrent jobs on one machine; it returns the name only on request, over the socket PMI_FD.

#include <string>

namespace actorhost {

/// "kvs_2400_0_1944870137_vm": the same for all processes of a job, and unique to the job. Finalizes PMI on the socket,
/// so it can be called once. Empty if the launcher does not reply as PMI-1 does. Blocks for the replies, a few seconds
/// at most.
std::string query_pmi_job(int socket);

}  // namespace actorhost
