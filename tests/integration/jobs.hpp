#pragma once
// Runs of actorhost for tests: a folder with jobs in it, and several hosts that find each other over loopback. Owned
// and used by the thread of the test; the destructor ends the started programs.
//
//   const JobFolder folder;
//   const Ended run(folder.run({"-n", "2", "jobs/steps.lua", "steps"}));
//   CHECK(run.out == "hello\n");
//   Hosts hosts(folder, 3, {"jobs/elastic.lua"});

#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

using Words = std::vector<std::string>;

/// The concatenation of two lists.
Words with(Words first, const Words& second);

/// The text of a file of tests/integration/jobs, for tests that rename or change it.
std::string job_text(const std::string& name);

/// "NAME:LINE" of the line of that file that contains `text`, in the form of error messages.
std::string place_in(const std::string& name, std::string_view text);

/// A temporary folder for runs, with its own token: programs read and write none of the user's files. Its folder "jobs"
/// is tests/integration/jobs.
class JobFolder {
 public:
  JobFolder();
  std::filesystem::path write(const std::string& name, std::string_view text) const { return dir_.write(name, text); }
  std::filesystem::path path() const { return dir_.path(); }
  /// Sets a variable of the environment for programs started from now on.
  void set(const std::string& name, const std::string& value) { env_[name] = value; }
  /// The options of programs started in this folder.
  ProcessOptions options() const;

  /// Starts actorhost.
  Process start(const Words& words) const;
  /// Starts actorhost, and waits until it has printed `ready`.
  Process start(const Words& words, const std::string& ready) const;
  /// Runs actorhost to its end.
  Finished run(const Words& words, double seconds = 30) const;

 private:
  TempDir dir_;
  std::map<std::string, std::optional<std::string>> env_;
};

/// A job's folder with "ca.pem", and "host.pem" with "host.key", signed by that authority for these names (in openssl's
/// syntax: "IP:127.0.0.1"); "other.pem" and "other.key" are not signed by it.
class CertificateFolder : public JobFolder {
 public:
  explicit CertificateFolder(const std::string& names);
};

/// A completed run whose exit status must be `wanted`. During its lifetime, each failing check prints the command and
/// output of the run.
class Ended : public Finished {
 public:
  explicit Ended(Finished run, std::optional<int> wanted = 0);
  /// noexcept: otherwise a growing vector copies its elements through the constructor above, which checks them again.
  Ended(Ended&&) noexcept = default;
  /// Waits for the end of several programs, whose exit status must be `wanted` each. The output is that of all.
  Ended(const std::vector<std::reference_wrapper<Process>>& runs, double seconds, std::optional<int> wanted = 0);

 private:
  Catch::ScopedMessage info_;
};

/// The first line of a script.
inline const std::string kUseMapreduce = "local mr = require 'actor.mapreduce'\n";
/// Runs a script of one or two lines after `kUseMapreduce` on two workers; `words` are its arguments.
Finished run_mapreduce(const JobFolder& folder, const std::string& job, const Words& words = {});

/// Hosts of one run: the same command line for each, besides `--nnodes` and the endpoint. Host 0 is the coordinator: it
/// is started first, the other hosts when it listens.
class Hosts {
 public:
  Hosts(const JobFolder& folder, size_t count, const Words& words);

  Process& operator[](size_t host) { return processes_.at(host); }
  size_t size() const { return processes_.size(); }
  std::string endpoint() const { return port_.endpoint(); }
  /// Waits until all have ended; returns their exit codes in order, -1 for a host that has not ended in time.
  std::vector<int> wait(double seconds);
  /// The output of all hosts.
  std::string out() const;
  std::string err() const;
  /// For INFO.
  std::string describe() const;

 private:
  FreePort port_;
  std::vector<Process> processes_;
};

/// Ways to run the same job on three workers: "threads", "isolate", "hosts".
const Words& places();
/// Runs the job there to its end; `words` are flags and the job. "threads:N" and "isolate:N" have N workers, "hosts:N"
/// has N hosts of one worker, "hosts:NxM" of M workers. The status is that of the first host that did not exit with 0,
/// and the output is that of all hosts. "rehearsal:N" and "rehearsal:NxM" rehearse the job on such hosts, with several
/// seeds unless the words have a --seed.
Finished run_at(const std::string& place, const JobFolder& folder, const Words& words, double seconds = 30);

/// The same in threads or processes, and kills the process that logs "NAME in process NUMBER.".
Finished run_and_kill(const std::string& place, const JobFolder& folder, const Words& words, double seconds,
                      const std::string& name = "stays");

/// A started run at one of `places`.
struct PlacedRun {
  PlacedRun(const JobFolder& folder, const std::string& place, const Words& words);
  std::string describe() const { return hosts ? hosts->describe() : alone->describe(); }
  /// Waits for the end of the run, whose processes must exit with 0.
  Ended end(double seconds = 20);
  /// The flags of a command that attaches to the run.
  Words attach() const { return hosts ? Words{"--attach", hosts->endpoint()} : Words{}; }

  std::unique_ptr<Hosts> hosts;    // at "hosts"
  std::unique_ptr<Process> alone;  // at other places
};

/// Puts `--nnodes` and `--rdzv-endpoint` in front of `words`.
Words elastic_words(const FreePort& port, const std::string& nnodes, const Words& words);

/// Runs `words` on a first host of an elastic run, and on `late` more hosts once the first host has printed `ready`.
/// All must exit with 0. Returns the hosts in the order of their start.
std::vector<Ended> run_late(const JobFolder& folder, const Words& words, const std::string& ready, size_t late = 1);

/// Makes `count` runs at once, for runs that wait more than they compute: `run(i)` makes the i-th on a thread of its
/// own, so it must not use checks.
std::vector<Finished> run_together(size_t count, const std::function<Finished(size_t)>& run);

/// Polls `reached`, for state without notifications such as files. Returns whether it held within `seconds` times
/// `patience`.
bool wait_until(const std::function<bool()>& reached, double seconds);

/// Arguments of `unshare` for a program in fresh network, mount and process namespaces.
extern const Words kOwnNetwork;
/// Whether hosts can have their own networks on this machine, which needs root and certain programs.
bool networks_can_be_made();

/// Seconds on the steady clock.
double now();
/// The process id in "NAME in process NUMBER.", which `run` must print within 20 seconds; otherwise the test fails.
pid_t process_of(Process& run, const std::string& name);

/// The number in a variable of the environment.
uint64_t number_of(const char* variable, uint64_t otherwise);
/// A seed for a run: ACTORHOST_TEST_SEED, or a new seed each time.
std::string any_seed();
/// The path of a file of examples/models.
std::string model_file(const std::string& name);
/// The names in a folder, including hidden names.
std::set<std::string> names_in(const std::filesystem::path& folder);

/// The lines of a text.
Words lines_of(const std::string& text);
/// How often `part` occurs in `text`.
size_t count_of(std::string_view text, std::string_view part);
/// The rest of the line that begins with `start`; throws if there is none.
std::string line_after(const std::string& text, const std::string& start);

}  // namespace actorhost::test
