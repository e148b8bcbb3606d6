// actorhost doctor: its findings about a machine and its problems.

#include <regex>

#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

Finished doctor(const JobFolder& folder, const Words& words, const std::map<std::string, std::string>& variables = {}) {
  ProcessOptions options = folder.options();
  for (const auto& [name, value] : variables) options.env[name] = value;
  return run_program(actorhost_binary(), with({"doctor"}, words), 20, options);
}

/// The finding of that name as JSON.
nlohmann::json finding(const Finished& run, const std::string& name) {
  const auto report = nlohmann::json::parse(run.out);
  for (const auto& found : report.at("findings")) {
    if (found.at("name") == name) return found;
  }
  throw std::runtime_error("no finding '" + name + "' in " + run.out);
}

}  // namespace

TEST_CASE("the doctor prints its findings in lines of 80 columns") {
  const JobFolder folder;
  const Ended run(doctor(folder, {}));
  for (const char* part :
       {"actorhost 0.", "LuaJIT", "NNG 1.", "Eigen 3.", "kernels in use: ", "single host: host 0 of 1", "port 17871",
        "port 8787", "the first run that needs a token makes it", "libmicrohttpd"}) {
    CHECK_THAT(std::regex_replace(run.out, std::regex("\\s+"), " "), Contains(part));
  }
  CHECK(run.err.empty());
  for (const std::string& line : lines_of(run.out)) {
    INFO(line);
    // A word may be longer than its line.
    CHECK((line.size() <= 80 || line.find(' ', line.find_first_not_of(' ')) == std::string::npos));
  }
}

TEST_CASE("the doctor's findings are JSON with --json") {
  const JobFolder folder;
  folder.write("config/actorhost/token", "0123456789abcdef");
  std::filesystem::permissions(folder.path() / "config/actorhost/token", std::filesystem::perms(0600));
  const Ended run(doctor(folder, {"--json"}, {{"XDG_CONFIG_HOME", (folder.path() / "config").string()}}));
  CHECK(finding(run, "token").at("state") == "ok");
  CHECK_THAT(finding(run, "token").at("text"), Contains("mode 0600, of user " + std::to_string(geteuid())));
  CHECK(finding(run, "version").at("state") == "ok");
}

TEST_CASE("the doctor names each problem and its remedy, and exits with 1") {
  const JobFolder folder;
  const auto file = folder.write("config/actorhost/token", "0123456789abcdef");
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  const Ended run(doctor(folder, {"--json"},
                         {{"XDG_CONFIG_HOME", (folder.path() / "config").string()},
                          {"RANK", "4"},
                          {"WORLD_SIZE", "4"},
                          {"ACTORHOST_ISA", "v9"},
                          {"TMPDIR", (folder.path() / "missing").string()}}),
                  1);
  for (const auto& [name, text] :
       std::map<std::string, std::string>{{"token", "others can read or change it (mode 0644)"},
                                          {"place", "RANK=4 must be less than WORLD_SIZE=4"},
                                          {"processor", "ACTORHOST_ISA asks for 'v9'"},
                                          {"TMPDIR", "missing: No such file or directory"}}) {
    CHECK(finding(run, name).at("state") == "problem");
    CHECK_THAT(finding(run, name).at("text"), Contains(text));
    CHECK(!finding(run, name).at("todo").get<std::string>().empty());
  }
  CHECK_THAT(doctor(folder, {"--token-file", "missing"}).out, Contains("PROBLEM  token         missing is not there"));
  const Finished few = run_program("sh", {"-c", "ulimit -n 32; exec " + shell_word(actorhost_binary()) + " doctor"}, 20,
                                   folder.options());
  CHECK_THAT(few.out, Contains("PROBLEM  open files    32") && Contains("run: ulimit -n 1024"));
}

TEST_CASE("the doctor names the rank rule that matched, and the owner of a port") {
  const JobFolder folder;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(8787);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool ours = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && listen(fd, 1) == 0;
  const Ended run(doctor(
      folder, {"--json"},
      {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "3"}, {"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "localhost"}}));
  ::close(fd);
  CHECK_THAT(finding(run, "place").at("text"),
             Contains("Slurm variables SLURM_PROCID=1 SLURM_NTASKS=3") && Contains("host 1 of 3"));
  if (!ours) {  // and may have released it since
    WARN("test-skipped: another program of this machine had port 8787");
    return;
  }
  const auto port = finding(run, "port 8787");
  CHECK(port.at("state") == "note");
  CHECK_THAT(port.at("text"), Contains("Address already in use") &&
                                  Contains("process " + std::to_string(getpid()) + " (test_integratio)"));
}

TEST_CASE("the doctor reports runs without a place for their sockets, and an unknown rendezvous name") {
  const JobFolder folder;
  const auto deep = folder.path() / std::string(100, 'x');
  std::filesystem::create_directory(deep);
  const Ended run(doctor(folder, {"--json"},
                         {{"XDG_RUNTIME_DIR", deep.string()},
                          {"RANK", "1"},
                          {"WORLD_SIZE", "2"},
                          {"MASTER_ADDR", "nobody.invalid"},
                          {"MASTER_PORT", "17871"}}),
                  1);
  CHECK(finding(run, "sockets").at("state") == "problem");
  CHECK_THAT(finding(run, "sockets").at("text"), Contains("too long") && Contains("XDG_RUNTIME_DIR"));
  CHECK(finding(run, "names").at("state") == "problem");
  CHECK_THAT(finding(run, "names").at("text"), Contains("'nobody.invalid'"));
  ProcessOptions options = folder.options();
  options.env["XDG_RUNTIME_DIR"] = deep.string();
  Process alone(actorhost_binary(), {"-n", "1", "jobs/status.lua", "computing", "done"}, options);
  INFO(alone.describe());
  CHECK(alone.wait_for_output("observers cannot find this run from here: ", 20));
  folder.write("done", "");
  CHECK(alone.wait(20) == 0);
}

TEST_CASE("the doctor takes no other words") {
  const JobFolder folder;
  CHECK_THAT(Ended(doctor(folder, {"--jsn"}), 2).err, Contains("unknown flag '--jsn'; did you mean --json?"));
  CHECK_THAT(Ended(doctor(folder, {"me"}), 2).err, Contains("it takes no 'me'"));
  CHECK_THAT(Ended(doctor(folder, {"--help"})).out, Contains("--token-file FILE"));
}
