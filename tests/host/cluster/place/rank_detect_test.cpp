#include "host/cluster/place/rank_detect.hpp"

#include <utility>

#include "tests/test.hpp"

namespace {

PlacementFlags hosts(const char* nnodes) { return {.nnodes = nnodes}; }
PlacementFlags meeting(const char* endpoint) { return {.rdzv_endpoint = endpoint}; }

Placement detect(const PlacementFlags& flags, const Environment& environment, const std::string& hostname = "here") {
  auto placement = detect_placement(flags, environment, hostname);
  if (!placement.ok()) FAIL(placement.error().message);
  return *placement;
}

std::string refusal(const PlacementFlags& flags, const Environment& environment, const std::string& hostname = "here") {
  const auto placement = detect_placement(flags, environment, hostname);
  if (placement.ok()) FAIL("accepted: " << describe(*placement));
  CHECK(placement.error().code == Code::bad_argument);
  return placement.error().message;
}

struct RunShape {
  std::string rule;
  int node_rank;  // -1: the rendezvous assigns it
  uint32_t min_nodes, max_nodes;
  int nproc;  // -1: a node per core
  uint32_t local_rank;
  std::string endpoint;

  bool operator==(const RunShape&) const = default;
};

RunShape shape_of(const Placement& placement) {
  return {placement.rule,      placement.node_rank ? static_cast<int>(*placement.node_rank) : -1, placement.min_nodes,
          placement.max_nodes, placement.nproc ? static_cast<int>(*placement.nproc) : -1,         placement.local_rank,
          placement.endpoint};
}

std::ostream& operator<<(std::ostream& out, const RunShape& s) {
  return out << s.rule << ", rank " << s.node_rank << " of " << s.min_nodes << ":" << s.max_nodes << ", " << s.nproc
             << " here, local " << s.local_rank << ", at " << s.endpoint;
}

Environment with(Environment environment, const std::string& name, const std::string& value) {
  environment[name] = value;
  return environment;
}

const Environment kTorchrun = {
    {"RANK", "1"},       {"WORLD_SIZE", "4"},         {"LOCAL_RANK", "1"},     {"LOCAL_WORLD_SIZE", "2"},
    {"GROUP_RANK", "0"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};
const Environment kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "3"},
                              {"OMPI_COMM_WORLD_SIZE", "4"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
const Environment kSlurm = {{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "8"},  {"SLURM_LOCALID", "1"},
                            {"SLURM_NODEID", "2"}, {"SLURM_JOB_ID", "77"}, {"SLURM_JOB_NODELIST", "node[01-03,7]"}};
std::string port_of(const std::string& run_id) { return std::to_string(actorhost::ports_of_run(run_id).front()); }

const Environment kLaunch = {{"ACTORHOST_LAUNCH_RANK", "1"}, {"ACTORHOST_LAUNCH_SIZE", "3"},
                             {"ACTORHOST_LAUNCH_ID", "x"},   {"ACTORHOST_LAUNCH_HOST", "head"},
                             {"ACTORHOST_NNODES", "7"},      {"SLURM_PROCID", "5"}};
const Environment kIndexedJob = {
    {"JOB_COMPLETION_INDEX", "2"}, {"ACTORHOST_NNODES", "4"}, {"ACTORHOST_SERVICE", "mesh"}};

}  // namespace

TEST_CASE("each launcher's variables give the place of the process") {
  const std::vector<std::tuple<PlacementFlags, Environment, RunShape>> cases = {
      {{}, {}, {"single host", 0, 1, 1, -1, 0, ""}},
      {{}, {{"RANK", "7"}}, {"single host", 0, 1, 1, -1, 0, ""}},
      {{}, {{"RANK", ""}, {"WORLD_SIZE", ""}, {"PMI_RANK", ""}}, {"single host", 0, 1, 1, -1, 0, ""}},
      {{.nproc_per_node = "6"}, {}, {"single host", 0, 1, 1, 6, 0, ""}},
      {meeting("10.0.0.9:5"), {}, {"single host", 0, 1, 1, -1, 0, "10.0.0.9:5"}},
      {{.nnodes = "3", .rdzv_endpoint = "a:1"}, {}, {"flags", -1, 3, 3, -1, 0, "a:1"}},
      {{.nnodes = "2:8", .rdzv_endpoint = "a:1"}, {}, {"flags", -1, 2, 8, -1, 0, "a:1"}},
      {{.nproc_per_node = "2", .nnodes = "3", .node_rank = "2", .rdzv_endpoint = "tls+tcp://a:1"},
       {},
       {"flags", 2, 3, 3, 2, 0, "tls+tcp://a:1"}},
      {{},
       {{"ACTORHOST_NNODES", "3"}, {"ACTORHOST_NODE_RANK", "1"}, {"ACTORHOST_RDZV_ENDPOINT", "a:1"}},
       {"ACTORHOST_* variables", 1, 3, 3, -1, 0, "a:1"}},
      {{},
       {{"ACTORHOST_NNODES", "2:3"}, {"ACTORHOST_NPROC_PER_NODE", "4"}, {"ACTORHOST_RDZV_ENDPOINT", "[::1]:1"}},
       {"ACTORHOST_* variables", -1, 2, 3, 4, 0, "[::1]:1"}},
      {{}, kTorchrun, {"torchrun variables", 1, 4, 4, 1, 1, "10.0.0.1:29500"}},
      {{}, with(kTorchrun, "MASTER_ADDR", "2001:db8::1"), {"torchrun variables", 1, 4, 4, 1, 1, "[2001:db8::1]:29500"}},
      {{}, with(kTorchrun, "MASTER_PORT", ""), {"torchrun variables", 1, 4, 4, 1, 1, "10.0.0.1:17871"}},
      {{},
       with(kTorchrun, "TORCHELASTIC_USE_AGENT_STORE", "True"),
       {"torchrun variables", 1, 4, 4, 1, 1, "10.0.0.1:29501"}},
      {{},
       with(kTorchrun, "TORCHELASTIC_USE_AGENT_STORE", "False"),
       {"torchrun variables", 1, 4, 4, 1, 1, "10.0.0.1:29500"}},
      {{},
       {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "10.0.0.1"}},
       {"torchrun variables", 0, 1, 1, 1, 0, ""}},
      {meeting("head:5"), kOpenMpi, {"Open MPI variables", 3, 4, 4, 1, 1, "head:5"}},
      {{}, with(kOpenMpi, "OMPI_COMM_WORLD_LOCAL_SIZE", "4"), {"Open MPI variables", 3, 4, 4, 1, 1, "127.0.0.1:17871"}},
      {{}, with(kOpenMpi, "SLURM_JOB_NODELIST", "n[4-5]"), {"Open MPI variables", 3, 4, 4, 1, 1, "n4:17871"}},
      {meeting("head:5"), {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}, {"PMI variables", 0, 2, 2, 1, 0, "head:5"}},
      {{},
       {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}},
       {"PMI variables", 1, 2, 2, 1, 1, "127.0.0.1:17871"}},
      {{}, kSlurm, {"Slurm variables", 5, 8, 8, 1, 1, "node01:" + port_of("77")}},
      {hosts("9"), kLaunch, {"actorhost launch", 1, 3, 3, -1, 0, "head:" + port_of("x")}},
      {meeting("other:5"), kLaunch, {"actorhost launch", 1, 3, 3, -1, 0, "other:5"}},
      {{}, with(kLaunch, "ACTORHOST_NPROC_PER_NODE", "2"), {"actorhost launch", 1, 3, 3, 2, 0, "head:" + port_of("x")}},
      {{}, with(kSlurm, "SLURM_STEP_NODELIST", "node7"), {"Slurm variables", 5, 8, 8, 1, 1, "node7:" + port_of("77")}},
      {{}, with(kSlurm, "SLURM_JOB_ID", ""), {"Slurm variables", 5, 8, 8, 1, 1, "node01:17871"}},
      {{.nproc_per_node = "auto"}, kSlurm, {"Slurm variables", 5, 8, 8, -1, 1, "node01:" + port_of("77")}},
  };
  for (const auto& [flags, environment, wanted] : cases) CHECK(shape_of(detect(flags, environment)) == wanted);
}

TEST_CASE("a pod of an indexed Job finds the first pod through the service") {
  CHECK(shape_of(detect({}, kIndexedJob, "train-2")) ==
        RunShape{"Kubernetes indexed Job", 2, 4, 4, -1, 0, "train-0.mesh:17871"});
  CHECK(shape_of(detect(hosts("3"), kIndexedJob, "my-job-2")) ==
        RunShape{"Kubernetes indexed Job", 2, 3, 3, -1, 0, "my-job-0.mesh:17871"});
  CHECK(shape_of(detect(meeting("x:1"), with(kIndexedJob, "ACTORHOST_SERVICE", ""), "pod")) ==
        RunShape{"Kubernetes indexed Job", 2, 4, 4, -1, 0, "x:1"});
  // A rank flag overrides the pod's index.
  CHECK(detect({.nnodes = "4", .node_rank = "1", .rdzv_endpoint = "x:1"}, kIndexedJob).rule == "flags");
}

TEST_CASE("rules are tried in their order, flags first and a single host last") {
  Environment all = kSlurm;
  const auto rule = [&all](const PlacementFlags& flags = {}) { return detect(flags, all).rule; };
  CHECK(rule() == "Slurm variables");
  all.insert({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}});
  CHECK(rule() == "PMI variables");
  all.insert(kOpenMpi.begin(), kOpenMpi.end());
  CHECK(rule() == "Open MPI variables");
  all.insert(kTorchrun.begin(), kTorchrun.end());
  CHECK(rule() == "torchrun variables");
  CHECK(rule(meeting("a:1")) == "torchrun variables");
  all.insert({{"ACTORHOST_NNODES", "2"}, {"ACTORHOST_RDZV_ENDPOINT", "a:1"}});
  CHECK(rule() == "ACTORHOST_* variables");
  CHECK(rule(hosts("3")) == "flags");
  CHECK(detect(hosts("3"), all).max_nodes == 3);
}

TEST_CASE("flags override variables one by one") {
  const Environment environment = {{"ACTORHOST_NNODES", "3"},
                                   {"ACTORHOST_NODE_RANK", "1"},
                                   {"ACTORHOST_NPROC_PER_NODE", "4"},
                                   {"ACTORHOST_RDZV_ENDPOINT", "a:1"},
                                   {"ACTORHOST_RDZV_ID", "night"}};
  CHECK(detect({}, environment).run_id == "night");
  const Placement placement =
      detect({.nproc_per_node = "2", .node_rank = "0", .rdzv_endpoint = "b:2", .rdzv_id = "day"}, environment);
  CHECK(shape_of(placement) == RunShape{"flags", 0, 3, 3, 2, 0, "b:2"});
  CHECK(placement.run_id == "day");
  CHECK(detect({.nproc_per_node = "auto"}, environment).nproc == std::nullopt);
}

TEST_CASE("the run id is the launcher's job id") {
  CHECK(detect({}, kSlurm).run_id == "77");
  CHECK(detect({}, with(kSlurm, "SLURM_STEP_ID", "2")).run_id == "77.2");
  CHECK(detect({}, with(with(kOpenMpi, "PMIX_NAMESPACE", "9"), "SLURM_JOB_NODELIST", "n4")).run_id == "9");
  CHECK(detect(meeting("a:1"), {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"PMI_JOBID", "5.1"}}).run_id == "5.1");
  CHECK(detect({.rdzv_id = "mine"}, kSlurm).run_id == "mine");
  CHECK(detect({}, with(kTorchrun, "TORCHELASTIC_RUN_ID", "abc")).run_id == "abc");
  CHECK(detect({}, {}).run_id.empty());
}

TEST_CASE("a run's meeting point follows from the launcher's job, whatever the run id") {
  const auto ports = actorhost::ports_of_run("1399455745");
  CHECK(std::set(ports.begin(), ports.end()).size() == actorhost::kPortsOfARun);
  CHECK(std::all_of(ports.begin(), ports.end(), [](uint16_t port) { return port >= 20'000 && port < 32'768; }));
  CHECK(ports != actorhost::ports_of_run("1399455746"));

  const Environment one_machine =
      with(with(kOpenMpi, "OMPI_COMM_WORLD_LOCAL_SIZE", "4"), "PMIX_NAMESPACE", "1399455745");
  const Placement placement = detect({.rdzv_id = "night"}, one_machine);
  CHECK(placement.endpoint == "127.0.0.1:" + std::to_string(ports.front()));
  CHECK(placement.other_ports == std::vector<uint16_t>(ports.begin() + 1, ports.end()));
  CHECK_THAT(describe(placement), Catch::Contains(" (or, if it is in use, port " + std::to_string(ports[1]) + ", "));
  CHECK(detect(meeting("a:1"), one_machine).other_ports.empty());
  CHECK(detect({}, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}, {"PMIX_NAMESPACE", "9"}})
            .other_ports.empty());
}

TEST_CASE("Slurm gives a task its cores and the number of tasks on its machine") {
  const auto cores = [](const Environment& environment, const PlacementFlags& flags = {}) {
    return detect(flags, environment).cores;
  };
  CHECK(cores(kSlurm) == std::nullopt);
  CHECK(cores(with(kSlurm, "SLURM_CPUS_PER_TASK", "4")) == 4U);
  CHECK(detect({}, with(kSlurm, "SLURM_CPUS_PER_TASK", "4")).cores_source == "SLURM_CPUS_PER_TASK=4");
  CHECK(cores(with(kSlurm, "SLURM_CPUS_PER_TASK", "4"), {.nnodes = "3", .rdzv_endpoint = "a:1"}) == 4U);
  CHECK(cores({{"SLURM_CPUS_PER_TASK", "4"}}) == std::nullopt);  // the shell of an allocation, on another machine
  CHECK(refusal({}, with(kSlurm, "SLURM_CPUS_PER_TASK", "many")) == "SLURM_CPUS_PER_TASK=many is no whole number");

  const Environment machine = with(with(kSlurm, "SLURM_TASKS_PER_NODE", "2(x2),4"), "SLURM_CPUS_ON_NODE", "10");
  CHECK(detect({}, machine).local_size == 4);
  CHECK(cores(machine) == 2U);
  CHECK(detect({}, machine).cores_source == "SLURM_CPUS_ON_NODE=10 for 4 processes");
  CHECK(cores(with(machine, "SLURM_NODEID", "0")) == 5U);
  CHECK(cores(with(machine, "SLURM_STEP_TASKS_PER_NODE", "8(x3)")) == 1U);
  CHECK(detect({}, with(machine, "SLURM_TASKS_PER_NODE", "1(x3)")).local_size == 1);  // contradicts SLURM_LOCALID=1

  // torchrun as a task of Slurm: its processes share the cores of the task.
  Environment both = with(with(kTorchrun, "SLURM_PROCID", "0"), "SLURM_CPUS_PER_TASK", "6");
  CHECK(cores(both) == 3U);
}

TEST_CASE("the tasks of a machine are read from Slurm's list") {
  using actorhost::slurm_tasks_on;
  CHECK(slurm_tasks_on("2(x3),1", 0) == 2);
  CHECK(slurm_tasks_on("2(x3),1", 2) == 2);
  CHECK(slurm_tasks_on("2(x3),1", 3) == 1);
  CHECK(slurm_tasks_on("2(x3),1", 4) == 0);
  CHECK(slurm_tasks_on("7", 0) == 7);
  for (const char* list : {"", ",", "x", "(x", "(x3)", "-1"}) CHECK(slurm_tasks_on(list, 0) == 0);
}

TEST_CASE("the log line names the rule, its inputs and the result") {
  CHECK(describe(detect({}, {})) == "single host: host 0 of 1, a node per core here");
  CHECK(describe(detect({.nproc_per_node = "1"}, {})) == "single host --nproc-per-node 1: host 0 of 1, 1 node here");
  CHECK(describe(detect({}, kTorchrun)) ==
        "torchrun variables RANK=1 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=10.0.0.1 "
        "MASTER_PORT=29500: host 1 of 4, 1 node here, rendezvous 10.0.0.1:29500");
  CHECK(describe(detect({.nproc_per_node = "2", .nnodes = "2:4", .rdzv_endpoint = "a:1", .rdzv_id = "x"}, {})) ==
        "flags --nnodes 2:4 --nproc-per-node 2 --rdzv-id x --rdzv-endpoint a:1: host ? of 2 to 4, 2 nodes here, "
        "rendezvous a:1, run x");
}

TEST_CASE("a wrong, missing or contradictory value is an error that names it") {
  const std::vector<std::tuple<PlacementFlags, Environment, std::string>> cases = {
      {{}, with(kTorchrun, "RANK", "abc"), "RANK=abc is no whole number"},
      {{}, with(kTorchrun, "RANK", "-1"), "RANK=-1 is no whole number"},
      {{}, with(kTorchrun, "RANK", "1x"), "RANK=1x is no whole number"},
      {{}, with(kTorchrun, "RANK", "4"), "RANK=4 must be less than WORLD_SIZE=4"},
      {{}, with(kTorchrun, "WORLD_SIZE", "0"), "WORLD_SIZE=0 is out of range"},
      {{}, with(kTorchrun, "WORLD_SIZE", "99999999999"), "WORLD_SIZE=99999999999 is no whole number"},
      {{}, with(kTorchrun, "WORLD_SIZE", ""), "the variable WORLD_SIZE is missing beside RANK=1"},
      {{}, with(kTorchrun, "RANK", ""), "the variable RANK is missing"},
      {{}, with(kTorchrun, "LOCAL_RANK", "2"), "LOCAL_RANK=2 must be less than LOCAL_WORLD_SIZE=2"},
      {{}, with(kTorchrun, "LOCAL_WORLD_SIZE", "5"), "LOCAL_WORLD_SIZE=5 must not be more than WORLD_SIZE=4"},
      {{}, with(kTorchrun, "MASTER_ADDR", ""), "no address where they meet; give --rdzv-endpoint"},
      {{}, with(kTorchrun, "MASTER_ADDR", "a b"), "torchrun variables: endpoint \"a b:29500\""},
      {{}, with(kTorchrun, "MASTER_PORT", "http"), "MASTER_PORT=http is no whole number"},
      {{}, with(kTorchrun, "MASTER_PORT", "70000"), "MASTER_PORT=70000 leaves no port"},
      {{}, kOpenMpi, "Open MPI variables (OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 "},
      {{}, with(kOpenMpi, "OMPI_COMM_WORLD_SIZE", "3"), "OMPI_COMM_WORLD_RANK=3 must be less than"},
      {{}, {{"PMI_RANK", "0"}}, "the variable PMI_SIZE is missing beside PMI_RANK=0"},
      {{}, with(kSlurm, "SLURM_NTASKS", ""), "the variable SLURM_NTASKS is missing beside SLURM_PROCID=5"},
      {{}, with(kSlurm, "SLURM_LOCALID", "8"), "SLURM_LOCALID=8 must be less than SLURM_NTASKS=8"},
      {{}, with(kSlurm, "SLURM_NODEID", "x"), "SLURM_NODEID=x is no whole number"},
      {{}, with(kSlurm, "SLURM_JOB_NODELIST", "node[01"), "SLURM_JOB_NODELIST=node[01: "},
      {{}, with(kSlurm, "SLURM_JOB_NODELIST", ""), "no address where they meet"},
      {{}, {{"JOB_COMPLETION_INDEX", "0"}}, "set ACTORHOST_NNODES or give --nnodes"},
      {{},
       with(kIndexedJob, "JOB_COMPLETION_INDEX", "4"),
       "JOB_COMPLETION_INDEX=4 must be less than ACTORHOST_NNODES=4"},
      {{}, kIndexedJob, "the host name \"here\" does not end in -2"},
      {hosts("3"), {}, "no address where they meet"},
      {hosts("0"), {}, "--nnodes=0 is neither a number of hosts nor MIN:MAX"},
      {hosts("3:2"), {}, "--nnodes=3:2: the smaller number must be first"},
      {hosts("3:"), {}, "--nnodes=3: is neither"},
      {hosts("many"), {}, "--nnodes=many is neither"},
      {{.node_rank = "0"}, {}, "--node-rank=0 needs --nnodes"},
      {{.nnodes = "2", .node_rank = "2"}, {}, "--node-rank=2 must be less than --nnodes=2"},
      {{.node_rank = "3"}, {{"ACTORHOST_NNODES", "3"}}, "--node-rank=3 must be less than ACTORHOST_NNODES=3"},
      {{.nproc_per_node = "0"}, {}, "--nproc-per-node=0 is out of range: 1 to 65536 (or auto)"},
      {{.nproc_per_node = "100000"}, {}, "--nproc-per-node=100000 is out of range: 1 to 65536 (or auto)"},
      {{.nproc_per_node = "all"}, {}, "--nproc-per-node=all is no whole number (or auto)"},
      {{}, {{"ACTORHOST_NPROC_PER_NODE", "x"}}, "ACTORHOST_NPROC_PER_NODE=x is no whole number (or auto)"},
      {{.nnodes = "2", .rdzv_endpoint = "head"}, {}, "--rdzv-endpoint: endpoint \"head\": the port is missing"},
      {hosts("2"),
       {{"ACTORHOST_RDZV_ENDPOINT", "head:x"}},
       "ACTORHOST_RDZV_ENDPOINT: endpoint \"head:x\": \"x\" is no port"},
  };
  for (const auto& [flags, environment, wanted] : cases) {
    CHECK_THAT(refusal(flags, environment), Catch::Contains(wanted));
  }
}

TEST_CASE("the first machine of a Slurm node list is found") {
  const std::vector<std::pair<std::string, std::string>> lists = {
      {"node7", "node7"},
      {"node7,node8", "node7"},
      {"node[01-03,7]", "node01"},
      {"node[7,01-03],login", "node7"},
      {"gpu-[009-010].rack2", "gpu-009.rack2"},
      {"rack[3-4]n[001,005]", "rack3n001"},
      {"login,node[1-2]", "login"},
  };
  for (const auto& [list, wanted] : lists) {
    INFO(list);
    REQUIRE(first_slurm_host(list).ok());
    CHECK(*first_slurm_host(list) == wanted);
  }
  for (const char* list : {"", ",a", "node[", "node[]", "node[a-b]", "node]", "a b"}) {
    INFO(list);
    CHECK(!first_slurm_host(list).ok());
  }
}
