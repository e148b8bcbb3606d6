// `actorhost launch` over a real ssh server on this machine, whose loopback addresses are the hosts.

#include <csignal>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

const std::string kFirst = "127.0.0.1";
const std::string kBoth = "127.0.0.1,127.0.0.2";

/// An ssh server of this user with its own keys. Programs that it starts have their temporary files in the job's
/// folder.
class SshServer {
 public:
  explicit SshServer(const JobFolder& folder) : folder_(folder) {
    const std::string at = folder.path().string();
    const std::string port = std::to_string(port_.port());
    for (const std::string key : {"host_key", "key"}) {
      const Finished made = run_program("ssh-keygen", {"-q", "-t", "ed25519", "-N", "", "-f", at + "/" + key}, 20);
      REQUIRE(made.status == 0);
    }
    folder.write("tmp/.keep", "");
    folder.write("authorized_keys", read_text(folder.path() / "key.pub"));
    folder.write("known_hosts", "*  " + read_text(folder.path() / "host_key.pub"));
    folder.write("sshd_config", "ListenAddress 127.0.0.1\nListenAddress 127.0.0.2\nPort " + port + "\nHostKey " + at +
                                    "/host_key\nPidFile none\nAuthorizedKeysFile " + at +
                                    "/authorized_keys\nUsePAM no\nStrictModes no\nPermitRootLogin yes\n"
                                    "MaxStartups 100\nSetEnv TMPDIR=" +
                                    at + "/tmp XDG_RUNTIME_DIR=" + at + "/tmp\n");
    server_.emplace("sh", Words{(source_dir() / "tests/integration/sshd.sh").string(), at + "/sshd_config"},
                    folder.options());
    ready_ = server_->wait_for_output("Server listening on 127.0.0.2", 20);
  }

  /// Whether ssh works; warns if not.
  bool ready() const {
    if (!ready_)
      WARN("test-skipped: no ssh server can be started (Debian's package openssh-server)\n" << server_->describe());
    return ready_;
  }
  /// The words of --ssh.
  std::string command() const {
    const std::string at = folder_.path().string();
    return "ssh -F none -p " + std::to_string(port_.port()) + " -i '" + at + "/key' -o 'UserKnownHostsFile=" + at +
           "/known_hosts' -o GlobalKnownHostsFile=none";
  }
  Words words(const std::string& hosts, const Words& rest) const {
    return with({"launch", "--ssh", command(), "--program", actorhost_binary(), "--hosts", hosts}, rest);
  }

 private:
  const JobFolder& folder_;
  FreePort port_;
  std::optional<Process> server_;
  bool ready_ = false;
};

bool has_ssh() {
  static const bool kFound =
      run_program("sh", {"-c", "PATH=$PATH:/usr/sbin; command -v sshd && command -v ssh && command -v ssh-keygen"}, 10)
          .status == 0;
  if (!kFound) WARN("test-skipped: sshd or ssh is not here (Debian's packages openssh-server and openssh-client)");
  return kFound;
}

/// The number of folders that far sides have left.
size_t folders_left(const JobFolder& folder) {
  size_t count = 0;
  for (const std::string& name : names_in(folder.path() / "tmp")) count += name.starts_with("actorhost-run-") ? 1 : 0;
  return count;
}

bool is_running(pid_t process) { return kill(process, 0) == 0; }

/// The processes of the jobs on both hosts, which log "stays in process NUMBER.".
std::vector<pid_t> processes_of(Process& run) {
  std::vector<pid_t> found;
  for (const std::string host : {"127.0.0.1", "127.0.0.2"}) {
    const auto id = run.wait_for_match(host + ": [^\n]*stays in process ([0-9]+)\\.", 40);
    INFO(run.describe());
    REQUIRE(id);
    found.push_back(std::stoi(*id));
  }
  return found;
}

bool end_within(const std::vector<pid_t>& processes, double seconds) {
  return wait_until([&] { return std::none_of(processes.begin(), processes.end(), is_running); }, seconds);
}

}  // namespace

TEST_CASE("launch runs a job with its modules, rule and arguments on two hosts and labels their output", "[deep]") {
  if (!has_ssh()) return;
  const JobFolder folder;
  const SshServer ssh(folder);
  if (!ssh.ready()) return;
  folder.write("mine/job.lua", job_text("launch.lua") + "\nrequire 'lib.deep'");
  folder.write("mine/meeting.lua", job_text("meeting.lua"));
  folder.write("mine/lib/deep.lua", "return require('words')");
  folder.write("mine/words.lua", "require('actor').log.info('words are here') return {}");
  folder.write("rules/slow.lua", "return { mine = function(view) return view.step <= view:min() end }");
  const std::string odd = "it's \"odd\" $HOME `x` \\ *\n!é";
  const Ended run(folder.run(
      ssh.words("127.0.0.1:2,127.0.0.2", {"--env", "LAUNCH_TEST=a b", "--barrier", "rules/slow.lua:mine", "-n", "1",
                                          "--print", "all", "mine/job.lua", "shows", odd, "", "--hosts"}),
      60));
  CHECK(count_of(run.out, "127.0.0.1: ") == 2 * 2);  // two nodes, whose argument has two lines
  CHECK_THAT(run.out, Contains("127.0.0.1: ") && Contains("host 2 of 3 has " + odd.substr(0, odd.find('\n'))));
  CHECK_THAT(run.out, Contains("!é||--hosts\n"));
  CHECK(count_of(run.err, "words are here") == 3);
  CHECK(count_of(run.err, "folder " + folder.path().string() + ", variable a b") == 3);
  CHECK(folders_left(folder) == 0);
}

TEST_CASE("launch ends with the largest exit code of its hosts", "[deep]") {
  if (!has_ssh()) return;
  const JobFolder folder;
  const SshServer ssh(folder);
  if (!ssh.ready()) return;
  {
    const Ended run(folder.run(ssh.words(kBoth, {"-n", "1", "jobs/launch.lua", "fails"}), 60), 1);
    CHECK_THAT(run.err,
               Contains("127.0.0.2: ") && Contains("no good") && Contains("host 127.0.0.2 has ended with exit code 1"));
  }
  const Ended run(folder.run(ssh.words(kBoth, {"-n", "1", "jobs/launch.lua", "dies"}), 60), 137);
  CHECK_THAT(run.err, Contains("host 127.0.0.2 has ended with exit code 137"));
  CHECK(folders_left(folder) == 0);
}

TEST_CASE("launch starts nothing if a host cannot be reached or has no program, and names the host", "[deep]") {
  if (!has_ssh()) return;
  const JobFolder folder;
  const SshServer ssh(folder);
  if (!ssh.ready()) return;
  folder.write("job.lua", "print 'started'");
  const Ended lost(folder.run(ssh.words("127.0.0.1,127.0.0.3", {"job.lua"}), 60), 3);
  CHECK_THAT(lost.err, Contains("host 127.0.0.3: it cannot be reached: ssh: connect to host 127.0.0.3") &&
                           Contains("127.0.0.3 true` must work without a question"));
  const Ended stranger(folder.run(ssh.words("nobody-here@127.0.0.2,127.0.0.1", {"job.lua"}), 60), 3);
  CHECK_THAT(stranger.err, Contains("host 127.0.0.2: it cannot be reached: ") && Contains("Permission denied"));
  const Ended missing(
      folder.run({"launch", "--ssh", ssh.command(), "--program", "/no/such/program", "--hosts", kBoth, "job.lua"}, 60),
      3);
  CHECK(count_of(missing.err, "it has no program /no/such/program; install actorhost there, or give its path") == 2);
  folder.write("other.sh", "#!/bin/sh\necho welcome\necho actorhost-launch 0.0.1\ncat\n");
  std::filesystem::permissions(folder.path() / "other.sh", std::filesystem::perms(0700));
  const Ended old(folder.run({"launch", "--ssh", ssh.command(), "--program", (folder.path() / "other.sh").string(),
                              "--hosts", kFirst, "job.lua"},
                             60),
                  3);
  CHECK_THAT(old.err, Contains("host 127.0.0.1: it has actorhost 0.0.1, this host has "));
  CHECK(count_of(lost.out + stranger.out + missing.out + old.out, "started") == 0);
}

TEST_CASE("launch starts nothing if a host that was ready ends before the others are ready") {
  const JobFolder folder;
  folder.write("job.lua", "print('started')");
  // Host a ends at once. Host b replies when launch has taken note of that.
  folder.write("ssh.sh",
               "if [ $1 = a ]; then echo $$ >a.new; mv a.new a.pid; eval \"$2\" </dev/null; fi\n"
               "until [ -e a.pid ]; do sleep 0.01; done\n"
               "while kill -0 $(cat a.pid) 2>/dev/null; do sleep 0.01; done\n"
               "eval \"$2\"\n");
  const Ended run(folder.run({"launch", "--ssh", "sh ssh.sh", "--program", actorhost_binary(), "--hosts", "a,b", "-n",
                              "1", "job.lua"},
                             60),
                  3);
  CHECK_THAT(run.err, Contains("host a: its actorhost has ended with exit code 3") && Contains("has not started"));
  CHECK_THAT(run.out, !Contains("started"));
}

TEST_CASE("launch copies a file of 20 MB in seconds", "[deep]") {
  const JobFolder folder;
  folder.write("job.lua", "print('started')");
  folder.write("data.bin", std::string(20'000'000, 'x'));
  folder.write("ssh.sh", "eval \"$2\"\n");
  const Ended run(folder.run({"launch", "--ssh", "sh ssh.sh", "--program", actorhost_binary(), "--hosts", "a", "--copy",
                              "data.bin", "-n", "1", "job.lua"},
                             20));
  CHECK_THAT(run.out, Contains("a: started"));
}

TEST_CASE("one Ctrl-C of launch interrupts the job on all hosts", "[deep]") {
  if (!has_ssh()) return;
  const JobFolder folder;
  const SshServer ssh(folder);
  if (!ssh.ready()) return;
  const int signal = GENERATE(SIGINT, SIGTERM);
  Process run = folder.start(ssh.words(kBoth, {"-n", "1", "jobs/launch.lua", "stays"}));
  const std::vector<pid_t> processes = processes_of(run);
  run.signal(signal);
  const Ended ended({run}, 30, 128 + signal);
  CHECK(end_within(processes, 10));
  CHECK(count_of(run.err(), signal == SIGINT ? "actorhost: interrupted" : "actorhost: terminated") >= 1);
  CHECK(folders_left(folder) == 0);
}

TEST_CASE("a second Ctrl-C of launch kills a job that does not stop", "[deep]") {
  if (!has_ssh()) return;
  const JobFolder folder;
  const SshServer ssh(folder);
  if (!ssh.ready()) return;
  Process run = folder.start(
      ssh.words(kBoth, {"-n", "1", "--checkpoint", "saved", "--grace", "100", "jobs/launch.lua", "stays"}));
  const std::vector<pid_t> processes = processes_of(run);
  run.signal(SIGTERM);  // the job waits for a last checkpoint
  REQUIRE(run.wait_for_output("last checkpoint", 20));
  run.signal(SIGINT);
  run.signal(SIGINT);
  const auto code = run.wait(20);
  INFO(run.describe());
  CHECK(code == 130);
  CHECK(end_within(processes, 10));
}

TEST_CASE("the job ends on all hosts if launch is killed or a connection is cut", "[deep]") {
  if (!has_ssh()) return;
  const JobFolder folder;
  const SshServer ssh(folder);
  if (!ssh.ready()) return;
  Process run = folder.start(ssh.words(kBoth, {"-n", "1", "jobs/launch.lua", "stays"}));
  const std::vector<pid_t> processes = processes_of(run);
  run.signal(SIGKILL);
  CHECK(run.wait(20) == 137);
  CHECK(end_within(processes, 30));
  CHECK(wait_until([&] { return folders_left(folder) == 0; }, 20));
}

TEST_CASE("launch --dry-run prints the files, the commands and the variables, and starts nothing") {
  const JobFolder folder;
  folder.write("job.lua", "require 'part' local more = require('nowhere')");
  folder.write("part.lua", "return {}");
  folder.write("data/rows.txt", "1");
  const Ended run(
      folder.run({"launch", "--dry-run", "--hosts", "ada@node1:2,node2 port=2222", "--ssh", "false -i 'my key'",
                  "--program", "/opt/act or", "--copy", "data", "--seed", "7", "job.lua", "two words"}));
  CHECK_THAT(run.out, Contains("job/job.lua, job/part.lua, job/data/rows.txt ("));
  CHECK_THAT(run.out, Contains("host node1: false -i 'my key' ada@node1 'exec sh -c '"));
  CHECK_THAT(run.out, Contains("host node2: false -i 'my key' -p 2222 node2 "));
  CHECK(count_of(run.out, "actorhost --seed 7 job/job.lua 'two words'\n") == 2);
  CHECK_THAT(run.out, Contains("ACTORHOST_LAUNCH_RANK=1") && Contains("ACTORHOST_NPROC_PER_NODE=2"));
  CHECK(run.err.empty());
}

TEST_CASE("launch refuses wrong words before it contacts a host") {
  const JobFolder folder;
  folder.write("job.lua", "print 'started'");
  const auto [words, message] = GENERATE(table<Words, std::string>({
      {{"job.lua"}, "no hosts: give --hosts a,b:2,c or --hostfile FILE"},
      {{"--hosts", "a"}, "no job given"},
      {{"--hosts", "a", "--hostfile", "b", "job.lua"}, "exclude each other"},
      {{"--hosts", "a", "none.lua"}, "none.lua"},
      {{"--hosts", "a,,b", "job.lua"}, "'' is no host"},
      {{"--hosts", "a;rm", "job.lua"}, "'a;rm' is no host"},
      {{"--hosts", "-oProxyCommand=x", "job.lua"}, "is no host"},
      {{"--hosts", "a,a:2", "job.lua"}, "host a is given twice"},
      {{"--hosts", "localhost,b", "--ssh", "false", "job.lua"}, "host b cannot reach the first host as 'localhost'"},
      {{"--hosts", "a", "--nnodes", "2", "job.lua"}, "launch counts the hosts itself"},
      {{"--hosts", "a", "--bogus", "job.lua"}, "unknown flag '--bogus'"},
      {{"--hosts", "a", "--env", "1=2", "job.lua"}, "--env wants NAME=VALUE or NAME"},
      {{"--hosts", "a", "--ssh", "ssh 'x", "job.lua"}, "has no closing '"},
      {{"--hosts", "a", "--copy", "../x", "job.lua"}, "is not below the script's folder"},
      {{"--hosts", "a", "--barrier", "none.lua", "job.lua"}, "none.lua"},
  }));
  const Ended run(folder.run(with({"launch"}, words)), 2);
  CHECK_THAT(run.err, Contains("actorhost launch: ") && Contains(message));
}
