// Runs under other launchers, if installed: two jobs of one script that start at once do not mix.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

bool installed(const std::string& program) {
  const bool found = run_program("sh", {"-c", "command -v " + program}, 10).status == 0;
  if (!found) WARN("test-skipped: " << program << " is not installed");
  return found;
}

/// Starts six pairs of jobs of three workers at once, each by `launch(program)`.
void start_pairs(const std::function<Finished(const Words&)>& launch) {
  const std::vector<Finished> runs = run_together(12, [&](size_t i) {
    return launch({actorhost_binary(), "--log-level", "warn", "jobs/launchers.lua", std::to_string(i + 1)});
  });
  for (size_t i = 0; i < runs.size(); ++i) {
    INFO(runs[i].description);
    CHECK(runs[i].status == 0);
    CHECK(runs[i].out == "job " + std::to_string(i + 1) + ": 3 of 3\n");
  }
}

/// A Slurm on one machine, without the usual folders, users and secrets of its daemons.
class Slurm {
 public:
  explicit Slurm(const JobFolder& folder) : folder_(folder) {
    const std::string at = folder.path().string();
    const auto number = [](const FreePort& port) { return std::to_string(port.port()); };
    folder.write("state/.keep", "");
    folder.write("spool/.keep", "");
    folder.write("slurm.conf",
                 "ClusterName=test\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=" + number(control_port_) +
                     "\nSlurmdPort=" + number(node_port_) + "\nAuthType=auth/none\nCredType=cred/none\nSlurmUser=" +
                     user() + "\nSlurmdUser=" + user() + "\nStateSaveLocation=" + at + "/state\nSlurmdSpoolDir=" + at +
                     "/spool\nSlurmctldPidFile=" + at + "/control.pid\nSlurmdPidFile=" + at +
                     "/node.pid\nProctrackType=proctrack/linuxproc\n"
                     "TaskPlugin=task/none\nMpiDefault=none\nSelectType=select/cons_tres\n"
                     "SelectTypeParameters=CR_CPU\nSlurmdParameters=config_overrides\nMailProg=/bin/true\n"
                     "NodeName=localhost CPUs=64 State=UNKNOWN\nPartitionName=all Nodes=ALL Default=YES\n");
    control_.emplace("slurmctld", Words{"-D", "-i"}, options());
    node_.emplace("slurmd", Words{"-D", "-N", "localhost"}, options());
  }

  /// False if its node is not ready in time: some containers have no place for its daemons.
  bool ready() const {
    const std::string ask = "for i in $(seq 100); do sinfo -h -o %T | grep -q idle && exit 0; sleep 0.1; done; exit 1";
    return run_program("sh", {"-c", ask}, 30, options()).status == 0;
  }
  ProcessOptions options() const {
    ProcessOptions options = folder_.options();
    options.env["SLURM_CONF"] = (folder_.path() / "slurm.conf").string();
    options.env["PATH"] = std::string(std::getenv("PATH")) + ":/usr/sbin";
    return options;
  }
  std::string describe() const { return control_->describe() + node_->describe(); }

 private:
  static std::string user() { return line_after(run_program("id", {"-un"}, 10).out, ""); }

  const JobFolder& folder_;
  FreePort control_port_, node_port_;
  std::optional<Process> control_, node_;
};

}  // namespace

TEST_CASE("jobs of one script that mpirun starts at once have separate ranks") {
  const auto [program, flags] =
      GENERATE(table<std::string, Words>({{"mpirun.openmpi", {"--oversubscribe"}}, {"mpirun.mpich", {}}}));
  if (!installed(program)) return;
  const JobFolder folder;
  const Words start = with(flags, {"-n", "3"});
  start_pairs([&, launcher = std::string(program)](const Words& words) {
    ProcessOptions options = folder.options();
    options.env["OMPI_ALLOW_RUN_AS_ROOT"] = options.env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
    // For Open MPI: of many simultaneous starts, one may fail to create its folder in the shared folder.
    options.env["TMPDIR"] = folder.write("job" + words.back() + "/.keep", "").parent_path().string();
    // For MPICH: its mpirun dies of SIGPIPE in one of 60 runs of /bin/true with standard input at its end.
    std::string command = "mkfifo in." + words.back() + " && exec " + launcher;
    for (const std::string& word : with(start, words)) command += " " + shell_word(word);
    return run_program("sh", {"-c", command + " <>in." + words.back()}, 60, options);
  });
}

TEST_CASE("jobs of one script that srun starts at once have separate ranks") {
  if (!installed("srun") || !installed("slurmctld") || !installed("slurmd")) return;
  const JobFolder folder;
  const Slurm slurm(folder);
  if (!slurm.ready()) {
    WARN("test-skipped: no Slurm can run here\n" << slurm.describe());
    return;
  }
  start_pairs([&](const Words& program) {
    return run_program("srun", with({"-n", "3"}, program), 60, slurm.options());
  });
}
