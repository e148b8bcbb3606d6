#pragma once
// The job's name where a launcher that speaks PMI-1 (MPICH's Hydra, Intel MPI) tells it only when asked, over the
// socket PMI_FD: in no variable is anything that two jobs at once on one machine would differ in.

#include <string>

namespace actorhost {

/// "kvs_2400_0_1944870137_vm": the same for all processes of a job and for no other job's. Says farewell to the
/// launcher on the socket, so it is asked once. Empty when it does not answer as PMI-1 does. Blocks for the answers, a
/// few seconds at most.
std::string ask_pmi_job(int socket);

}  // namespace actorhost
