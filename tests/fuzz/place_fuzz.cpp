// Reads bytes as a user's or launcher's description of the rendezvous; the first byte chooses the form. A valid
// description can be written, and reads back as the same place.

#include <cstdlib>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

#include "host/cluster/place/endpoint.hpp"
#include "host/cluster/place/pmi_job.hpp"
#include "host/cluster/place/rank_detect.hpp"
#include "host/page/page_address.hpp"

namespace {

using namespace actorhost;

void read_endpoints(std::string_view text) {
  const auto endpoints = parse_endpoints(text);
  if (!endpoints) return;
  if (endpoints->empty()) std::abort();
  for (const Endpoint& endpoint : *endpoints) {
    for (const std::string& written : {endpoint_text(endpoint), endpoint_url(endpoint)}) {
      const auto again = parse_endpoint(written);
      if (!again || *again != endpoint) std::abort();
    }
  }
}

void read_page_address(std::string_view text) {
  const auto address = parse_page_address(std::string(text));
  if (address && address->scheme != Endpoint::Scheme::tcp) std::abort();
}

void read_node_list(std::string_view text) {
  const auto host = first_slurm_host(text);
  if (host && host->empty()) std::abort();
}

constexpr const char* kVariables[] = {"ACTORHOST_NNODES",
                                      "ACTORHOST_NODE_RANK",
                                      "ACTORHOST_NPROC_PER_NODE",
                                      "ACTORHOST_RDZV_ENDPOINT",
                                      "ACTORHOST_RDZV_ID",
                                      "ACTORHOST_SERVICE",
                                      "RANK",
                                      "WORLD_SIZE",
                                      "LOCAL_RANK",
                                      "LOCAL_WORLD_SIZE",
                                      "MASTER_ADDR",
                                      "MASTER_PORT",
                                      "TORCHELASTIC_RUN_ID",
                                      "TORCHELASTIC_USE_AGENT_STORE",
                                      "OMPI_COMM_WORLD_RANK",
                                      "OMPI_COMM_WORLD_SIZE",
                                      "OMPI_COMM_WORLD_LOCAL_RANK",
                                      "OMPI_COMM_WORLD_LOCAL_SIZE",
                                      "PMIX_NAMESPACE",
                                      "PMI_RANK",
                                      "PMI_SIZE",
                                      "PMI_JOBID",
                                      "MPI_LOCALRANKID",
                                      "MPI_LOCALNRANKS",
                                      "SLURM_PROCID",
                                      "SLURM_NTASKS",
                                      "SLURM_LOCALID",
                                      "SLURM_STEP_NODELIST",
                                      "SLURM_JOB_NODELIST",
                                      "SLURM_JOB_ID",
                                      "SLURM_STEP_ID",
                                      "JOB_COMPLETION_INDEX"};

/// Reads lines: the first byte of each chooses a variable, or counted from the end a flag; the rest is its value.
void read_variables(std::string_view text) {
  Environment environment;
  PlacementFlags flags;
  std::optional<std::string>* const kFlags[] = {&flags.nproc_per_node, &flags.nnodes, &flags.node_rank,
                                                &flags.rdzv_endpoint, &flags.rdzv_id};
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.empty()) continue;
    const auto which = static_cast<unsigned char>(line[0]);
    const std::string value(line.substr(1));
    if (which >= 251) {
      *kFlags[255 - which] = value;
    } else {
      environment[kVariables[which % std::size(kVariables)]] = value;
    }
  }
  const auto place = detect_placement(flags, environment, "job-0");
  if (!place) return;
  if (place->min_nodes > place->max_nodes || place->min_nodes == 0) std::abort();
  if (place->node_rank && *place->node_rank >= place->max_nodes) std::abort();
  (void)describe(*place);
}

/// Reads the bytes as the answers of a PMI launcher.
void read_pmi(std::string_view text) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  (void)!send(ends[1], text.data(), text.size(), MSG_NOSIGNAL);
  shutdown(ends[1], SHUT_WR);
  (void)query_pmi_job(ends[0]);
  close(ends[0]);
  close(ends[1]);
}

constexpr void (*kReaders[])(std::string_view) = {read_endpoints, read_page_address, read_node_list, read_variables,
                                                  read_pmi};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  kReaders[data[0] % std::size(kReaders)]({reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
