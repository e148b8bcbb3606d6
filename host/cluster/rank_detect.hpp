#pragma once
// Where this process stands among the hosts of a run: from the flags it was given, the variables that launchers set and
// the name of its machine. A pure function of the three, so that every launcher can be tested; any thread.
//
// The first rule that matches gives the shape (who am I, how many are we). --rdzv-endpoint, -n and --rdzv-id, and their
// ACTORHOST_ variables, override that part of any rule.
//
//   flags            --nnodes, --node-rank
//   ACTORHOST_*      ACTORHOST_NNODES, ACTORHOST_NODE_RANK
//                    also overriding: ACTORHOST_NPROC_PER_NODE, ACTORHOST_RDZV_ENDPOINT, ACTORHOST_RDZV_ID
//   torchrun         RANK WORLD_SIZE [LOCAL_RANK LOCAL_WORLD_SIZE] MASTER_ADDR [MASTER_PORT] [TORCHELASTIC_RUN_ID];
//                    where the launcher itself listens on MASTER_PORT (TORCHELASTIC_USE_AGENT_STORE) the next port
//   Open MPI         OMPI_COMM_WORLD_RANK _SIZE [_LOCAL_RANK _LOCAL_SIZE] [PMIX_NAMESPACE]
//   PMI              PMI_RANK PMI_SIZE [MPI_LOCALRANKID MPI_LOCALNRANKS] [PMI_JOBID, or PMI_FD to ask]
//   Slurm            SLURM_PROCID SLURM_NTASKS [SLURM_LOCALID] SLURM_STEP_NODELIST or SLURM_JOB_NODELIST
//                    [SLURM_JOB_ID [SLURM_STEP_ID]] [SLURM_NODEID SLURM_STEP_TASKS_PER_NODE or SLURM_TASKS_PER_NODE]
//                    under any rule also [SLURM_CPUS_PER_TASK or SLURM_CPUS_ON_NODE], the cores of each task
//   Kubernetes       JOB_COMPLETION_INDEX with --nnodes or ACTORHOST_NNODES; where no endpoint is given also
//                    ACTORHOST_SERVICE, the headless service: pod 0 is then JOB-0.SERVICE
//   single host      nothing of the above
//
// A Slurm batch script carries SLURM_PROCID=0 and the job's size itself: start hosts in it with srun. Launchers start
// one process a rank, so each of them is a host with one node unless -n says otherwise. MPI names no meeting point: on
// one machine it is loopback, inside Slurm the first machine of the job, else --rdzv-endpoint is needed.
//
// Runs that are started at once on one machine must not meet. The launcher's id of the job (Open MPI, PMI, Slurm) is
// the run id, and where the launcher names the machine only, the port follows from that id. Another program may have
// that port: then host 0 listens at the next of the run's kPortsOfARun, and the others try one after the other, again
// and again, until they meet host 0. A host of another run, or of another user, refuses them, and they try the next.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

/// The flags as they were typed; those not given are empty optionals.
struct PlacementFlags {
  std::optional<std::string> nproc_per_node = {};  // -n: a number, or "auto"
  std::optional<std::string> nnodes = {};          // a number, or MIN:MAX
  std::optional<std::string> node_rank = {};
  std::optional<std::string> rdzv_endpoint = {};
  std::optional<std::string> rdzv_id = {};
};

/// How many ports host 0 may choose from where the port follows from the run id.
inline constexpr uint32_t kPortsOfARun = 8;
/// The ports of a run, all different, in the order in which they are tried; none is one that Linux gives to outgoing
/// connections. Never empty.
std::vector<uint16_t> ports_of_run(std::string_view run_id);

using Environment = std::map<std::string, std::string, std::less<>>;

struct Placement {
  std::string rule;                    // "flags", "torchrun variables", ..., "single host"
  std::string evidence;                // what it rests on: "RANK=1 WORLD_SIZE=4 ..."
  std::optional<uint32_t> node_rank;   // none: the rendezvous gives one
  uint32_t min_nodes = 1;              // hosts to wait for
  uint32_t max_nodes = 1;              // more than min_nodes: elastic
  std::optional<uint32_t> nproc;       // nodes on this host; none: one a core
  uint32_t local_rank = 0;             // among the processes of this machine
  uint32_t local_size = 1;             // how many these are, as far as the launcher says
  std::optional<uint32_t> cores = {};  // that the launcher gives to this process alone
  std::string cores_source;            // what says so: "SLURM_CPUS_PER_TASK=4"
  std::string endpoint;                // where the hosts meet, maybe several (endpoint.hpp); empty for one host
  std::vector<uint16_t> other_ports;   // where they meet when another run has endpoint's port, in order
  std::string run_id;                  // empty when the run has no name

  bool launched = false;  // by a launcher that shows the output of all hosts in one place

  bool elastic() const { return max_nodes > min_nodes; }
};

/// Code::bad_argument names the flag or variable that is wrong, missing, or at odds with another.
Result<Placement> detect_placement(const PlacementFlags& flags, const Environment& environment,
                                   std::string_view hostname);

/// For the log: "torchrun variables RANK=1 WORLD_SIZE=4: host 1 of 4, 1 node here, rendezvous 10.0.0.1:29500".
std::string describe(const Placement& placement);

/// The first machine of a Slurm node list: "node[01-03,7],login" -> "node01". Code::bad_argument when it is none.
Result<std::string> first_slurm_host(std::string_view node_list);

/// How many tasks a list such as "2(x3),1" of SLURM_TASKS_PER_NODE has on its `node`th machine, which is 2 for node 0,
/// 1 and 2; 0 when it says nothing of that machine.
uint32_t slurm_tasks_on(std::string_view list, uint32_t node);

/// The variables of this process, and the name of its machine: what detect_placement is called with outside tests.
/// Where the launcher tells the job's name only when asked (pmi_job.hpp) it is, once, and PMI_JOBID is set to that. The
/// first call comes before other threads read the environment.
Environment current_environment();
std::string current_hostname();

}  // namespace actorhost
