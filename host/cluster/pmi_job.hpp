#pragma once
// The job's name under a launcher that speaks PMI-1 (MPICH's Hydra, Intel MPI). Such a launcher sets no variable in
// which two jobs at once on one machine would differ; it tells the name only when asked, over the socket PMI_FD.

#include <string>

namespace actorhost {

/// "kvs_2400_0_1944870137_vm": the same for all processes of a job and for no other job's. Says farewell to the
/// launcher on the socket, so it is asked once. Empty when it does not answer as PMI-1 does. Blocks for the answers, a
/// few seconds at most.
std::string ask_pmi_job(int socket);

}  // namespace actorhost
