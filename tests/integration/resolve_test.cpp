// Names of coordinators that become known late, like names of pods, and IPv6 addresses.

#include <unistd.h>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

constexpr const char* kWaits = "waiting until the coordinator's name is known: the name \"pod-0.mesh\"";
constexpr const char* kCount =
    "local actor = require 'actor'\n"
    "local sum = actor.collective.allreduce(actor.tensor.ones { 300000 }, 'sum')\n"  // over links of all pairs
    "if actor.rank == 0 then print(actor.size .. ' hosts', sum:sum()) end";

/// Programs that see a file of the test as /etc/hosts, and no other names.
class Names {
 public:
  explicit Names(const JobFolder& folder) : folder_(folder) {
    folder.write("hosts", "127.0.0.1 localhost\n");
    folder.write("nsswitch", "hosts: files\n");
    folder.write("job.lua", kCount);
  }
  bool possible() const {
    const bool yes = run_program("unshare", command({"true"}), 20, folder_.options()).status == 0;
    if (!yes) WARN("test-skipped: no mount namespaces here");
    return yes;
  }
  Process start(const Words& words, const std::map<std::string, std::string>& variables = {}) const {
    ProcessOptions options = folder_.options();
    for (const auto& [name, value] : variables) options.env[name] = value;
    return Process("unshare", command(with({actorhost_binary()}, words)), options);
  }
  void set_hosts(const std::string& line) const { folder_.write("hosts", "127.0.0.1 localhost\n" + line + "\n"); }

 private:
  static Words command(const Words& program) {
    return with({geteuid() == 0 ? "-m" : "-rm", "sh", "-c",
                 "mount --bind hosts /etc/hosts && mount --bind nsswitch /etc/nsswitch.conf && exec \"$@\"", "sh"},
                program);
  }
  const JobFolder& folder_;
};

}  // namespace

TEST_CASE("hosts wait until the coordinator's name is known, in every way to give it", "[deep]") {
  const JobFolder folder;
  const Names names(folder);
  if (!names.possible()) return;
  const FreePort port;
  const std::string number = std::to_string(port.port()), place = "pod-0.mesh:" + number;
  const Words given = {"-n", "1", "--nnodes", "2", "--rdzv-endpoint", place, "job.lua"};
  const std::string how = GENERATE(as<std::string>(), "flag", "ranks", "isolate", "agent", "torchrun", "slurm");
  Words first = given, second = given;
  std::map<std::string, std::string> variables[2];
  if (how == "ranks") {
    first = with({"--node-rank", "0"}, given);
    second = with({"--node-rank", "1"}, given);
  } else if (how == "isolate") {
    first = second = with({"--isolate"}, given);
  } else if (how == "agent") {
    second = {"agent", "-n", "1", "--once", "--join", place};
  } else if (how != "flag") {
    first = second = {"job.lua"};
    for (const std::string rank : {"0", "1"}) {
      auto& its = variables[rank == "1" ? 1 : 0];
      if (how == "torchrun") {
        its = {{"RANK", rank}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "pod-0.mesh"}, {"MASTER_PORT", number}};
      } else {
        its = {{"SLURM_PROCID", rank},
               {"SLURM_NTASKS", "2"},
               {"SLURM_JOB_ID", number},
               {"SLURM_JOB_NODELIST", "pod-0.mesh,pod-1.mesh"}};
      }
    }
  }
  Process hosts[2] = {names.start(first, variables[0]), names.start(second, variables[1])};
  const bool waits = hosts[0].wait_for_output(kWaits, 20) && hosts[1].wait_for_output(kWaits, 20);
  names.set_hosts("127.0.0.1 pod-0.mesh");
  const auto code = hosts[0].wait(30), other = hosts[1].wait(30);
  INFO(how << hosts[0].describe() << hosts[1].describe());
  CHECK(waits);
  CHECK(code == 0);
  CHECK(other == 0);
  CHECK(hosts[0].out() + hosts[1].out() == "2 hosts\t600000\n");
}

TEST_CASE("a run whose first address has an unknown name is joined at a further address") {
  const JobFolder folder;
  const Names names(folder);
  if (!names.possible()) return;
  const FreePort port;
  Process coordinator = names.start({"-n", "1", "--nnodes", "2", "--rdzv-endpoint", port.endpoint(), "job.lua"});
  REQUIRE(coordinator.wait_for_output("info] seed", 20));
  Process late =
      names.start({"-n", "1", "--nnodes", "2", "--rdzv-endpoint", "pod-0.mesh:1," + port.endpoint(), "job.lua"});
  const Ended both({coordinator, late}, 30);
}

TEST_CASE("a name still unknown after --start-timeout is reported with a remedy", "[deep]") {
  const JobFolder folder;
  const Names names(folder);
  if (!names.possible()) return;
  const Words words = GENERATE(Words{"--nnodes", "2", "--rdzv-endpoint", "pod-0.mesh:7", "job.lua"},
                               Words{"agent", "--join", "pod-0.mesh:7"});
  const double begun = now();
  Process run = names.start(with(words, {}).front() == "agent" ? with(words, {"--start-timeout", "1.5"})
                                                               : with({"--start-timeout", "1.5"}, words));
  const Ended ended({run}, 20, 3);
  CHECK(now() - begun > 1.4);
  CHECK_THAT(run.err(), Contains("the name \"pod-0.mesh\" cannot be resolved: ") &&
                            Contains("retried for 1.5 s (--start-timeout)") && Contains("give an address"));
}

TEST_CASE("Ctrl-C ends the wait for a name") {
  const JobFolder folder;
  const Names names(folder);
  if (!names.possible()) return;
  Process run = names.start({"--nnodes", "2", "--rdzv-endpoint", "pod-0.mesh:7", "job.lua"});
  REQUIRE(run.wait_for_output(kWaits, 20));
  run.signal(SIGINT);
  CHECK(run.wait(10) == 130);
}

TEST_CASE("a malformed address is reported at once as a wrong flag") {
  const JobFolder folder;
  folder.write("job.lua", kCount);
  const auto [place, what] = GENERATE(table<std::string, std::string>({
      {"10.0.0.300:7", "is no IPv4 address"},
      {"pod..mesh:7", "is no host name"},
      {"[fe80::1%]:7", "is no network interface"},
      {"[fe80::1%nosuch]:7", "no network interface \"nosuch\""},
      {"[fe80::1]:7", "name the network interface"},
      {"[::1%lo]:7", "only a link-local address"},
  }));
  INFO(place);
  for (const Words& words : {Words{"--nnodes", "2", "--rdzv-endpoint", place, "job.lua"},
                             Words{"agent", "--join", place}, Words{"-n", "1", "--dashboard", place, "job.lua"}}) {
    CHECK_THAT(Ended(folder.run(words), 2).err, Contains(what));
  }
  CHECK_THAT(folder.run({"status", "--attach", place}).err, Contains(what));
}

TEST_CASE("hosts meet at IPv6 addresses, also at link-local addresses with their interface") {
  const JobFolder folder;
  folder.write("job.lua", kCount);
  const std::string place = GENERATE(as<std::string>(), "fd00:9::1", "fe80::9:1%left", "fe80::9:1%25left");
  const std::string at = "[" + place + "]:17871", flags = " -n 1 --nnodes 3 --rdzv-endpoint " + shell_word(at);
  const std::string program = shell_word(actorhost_binary());
  const std::string script =
      "set -e; ip link set lo up; ip link add left type veth peer name right; ip link set left up; ip link set right "
      "up\n"
      "ip address add fd00:9::1/64 dev left nodad; ip address add fe80::9:1/64 dev left nodad; : > ready\n"
      "for i in 1 2; do " +
      program + flags + " job.lua & done\n" + program + flags + " --dashboard " + shell_word("[" + place + "]:8787") +
      " job.lua; wait";
  const Finished run =
      run_program("unshare", {geteuid() == 0 ? "-n" : "-rn", "sh", "-c", script}, 60, folder.options());
  INFO(run.description);
  if (!std::filesystem::exists(folder.path() / "ready")) {
    WARN("test-skipped: no network namespaces here");
    return;
  }
  CHECK(run.status == 0);
  CHECK(run.out == "3 hosts\t900000\n");
  CHECK_THAT(run.err, !Contains("broken"));
}
