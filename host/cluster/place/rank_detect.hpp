#pragma once
// Finds the place of this process among the hosts of a run from its flags, the launchers' variables and the name of its
// machine. A pure function of the three, so tests cover every launcher; thread-safe.
//
// The first matching rule gives the shape (which host is this, how many are there). --rdzv-endpoint, -n and --rdzv-id,
// and their ACTORHOST_ variables, override that part of any rule.
//
//   actorhost launch ACTORHOST_LAUNCH_RANK _SIZE _ID _HOST: the ports of the run on the first host
//   flags            --nnodes, --node-rank
//   ACTORHOST_*      ACTORHOST_NNODES, ACTORHOST_NODE_RANK
//                    also overriding: ACTORHOST_NPROC_PER_NODE, ACTORHOST_RDZV_ENDPOINT, ACTORHOST_RDZV_ID
//   torchrun         RANK WORLD_SIZE [LOCAL_RANK LOCAL_WORLD_SIZE] MASTER_ADDR [MASTER_PORT] [TORCHELASTIC_RUN_ID];
//                    if the launcher itself listens on MASTER_PORT (TORCHELASTIC_USE_AGENT_STORE) the next port
//   Open MPI         OMPI_COMM_WORLD_RANK _SIZE [_LOCAL_RANK _LOCAL_SIZE] [PMIX_NAMESPACE]
//   PMI              PMI_RANK PMI_SIZE [MPI_LOCALRANKID MPI_LOCALNRANKS] [PMI_JOBID, or PMI_FD to request it]
//   Slurm            SLURM_PROCID SLURM_NTASKS [SLURM_LOCALID] SLURM_STEP_NODELIST or SLURM_JOB_NODELIST
//                    [SLURM_JOB_ID [SLURM_STEP_ID]] [SLURM_NODEID SLURM_STEP_TASKS_PER_NODE or SLURM_TASKS_PER_NODE]
//                    under any rule also [SLURM_CPUS_PER_TASK or SLURM_CPUS_ON_NODE], the cores of each task
//   Kubernetes       JOB_COMPLETION_INDEX with --nnodes or ACTORHOST_NNODES; without a given endpoint also
//                    ACTORHOST_SERVICE, the headless service: pod 0 is then JOB-0.SERVICE
//   single host      none of the above
//
// A Slurm batch script itself has SLURM_PROCID=0 and the job's size: start hosts in it with srun. Launchers start one
// process per rank, so each process is a host with one node unless -n overrides it. MPI names no rendezvous: on one
// machine it is loopback, inside Slurm the first machine of the job; otherwise --rdzv-endpoint is required.
//
// Concurrent runs on one machine must not meet. The launcher's job id (Open MPI, PMI, Slurm) is the run id, and if the
// launcher names only the machine, the port is derived from that id. Another program may hold that port: then host 0
// listens on the next of the run's kPortsOfARun ports, and the other hosts try the ports in turn until they meet host
// 0. A host of another run or of another user refuses them, and they try the next port.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

/// The flags as the user typed them; an absent flag is nullopt.
struct PlacementFlags {
  std::optional<std::string> nproc_per_node = {};  // -n: a number, or "auto"
  std::optional<std::string> nnodes = {};          // a number, or MIN:MAX
  std::optional<std::string> node_rank = {};
  std::optional<std::string> rdzv_endpoint = {};
  std::optional<std::string> rdzv_id = {};
};

/// The number of ports that host 0 may choose from if the port is derived from the run id.
inline constexpr uint32_t kPortsOfARun = 8;
/// The ports of a run, all different, in the order of tries. Linux uses none of them for outgoing connections. Never
/// empty.
std::vector<uint16_t> ports_of_run(std::string_view run_id);

using Environment = std::map<std::string, std::string, std::less<>>;

struct Placement {
  std::string rule;                    // "flags", "torchrun variables", ..., "single host"
  std::string evidence;                // its inputs: "RANK=1 WORLD_SIZE=4 ..."
  std::optional<uint32_t> node_rank;   // nullopt: the rendezvous assigns one
  uint32_t min_nodes = 1;              // hosts to wait for
  uint32_t max_nodes = 1;              // more than min_nodes: elastic
  std::optional<uint32_t> nproc;       // nodes on this host; nullopt: one per core
  uint32_t local_rank = 0;             // among the processes of this machine
  uint32_t local_size = 1;             // number of those processes, as far as the launcher reports it
  std::optional<uint32_t> cores = {};  // cores of this process alone, from the launcher
  std::string cores_source;            // its source: "SLURM_CPUS_PER_TASK=4"
  // where the hosts meet, possibly several addresses (endpoint.hpp); empty for one host
  std::string endpoint;
  std::vector<uint16_t> other_ports;  // tried in order if another run holds endpoint's port
  std::string run_id;                 // empty if the run has no name

  bool launched = false;  // by a launcher that shows the output of all hosts together

  bool elastic() const { return max_nodes > min_nodes; }
};

/// Code::bad_argument names the flag or variable that is wrong, missing, or contradicts another.
Result<Placement> detect_placement(const PlacementFlags& flags, const Environment& environment,
                                   std::string_view hostname);

/// For the log: "torchrun variables RANK=1 WORLD_SIZE=4: host 1 of 4, 1 node here, rendezvous 10.0.0.1:29500".
std::string describe(const Placement& placement);

/// The first machine of a Slurm node list: "node[01-03,7],login" -> "node01". Code::bad_argument if it is no node list.
Result<std::string> first_slurm_host(std::string_view node_list);

/// The number of tasks of the `node`th machine in a list such as "2(x3),1" of SLURM_TASKS_PER_NODE: 2 for nodes 0, 1
/// and 2. 0 if the list does not cover that machine.
uint32_t slurm_tasks_on(std::string_view list, uint32_t node);

/// The variables of this process and the name of its machine: the inputs of detect_placement outside of tests. If the
/// launcher returns the job's name only on request (pmi_job.hpp), requests it once and sets PMI_JOBID to it. Make the
/// first call before other threads read the environment.
Environment current_environment();
std::string current_hostname();

}  // namespace actorhost
