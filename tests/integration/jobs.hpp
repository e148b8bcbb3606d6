#pragma once
// Runs of actorhost for tests: a folder with jobs in it, and several hosts that find each other over loopback. Owned
// and used by the thread of the test; what was started ends with its object.
//
//   const JobFolder folder;
//   const Ended run(folder.run({"-n", "2", "jobs/steps.lua", "steps"}));
//   CHECK(run.out == "hello\n");
//   Hosts hosts(folder, 3, {"jobs/elastic.lua"});

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/integration/process.hpp"

namespace actorhost::test {

using Words = std::vector<std::string>;

/// The words of both lists, one behind the other.
Words with(Words first, const Words& second);

/// The text of a file of tests/integration/jobs, for tests that need it under another name or changed.
std::string job_text(const std::string& name);

/// "NAME:LINE" of the line of that file that has `text`, as messages name it.
std::string place_in(const std::string& name, std::string_view text);

/// A temporary folder that programs run in, with a token of its own: nothing of the user's is read or written. "jobs"
/// in it is tests/integration/jobs.
class JobFolder {
 public:
  JobFolder();
  std::filesystem::path write(const std::string& name, std::string_view text) const { return dir_.write(name, text); }
  std::filesystem::path path() const { return dir_.path(); }
  /// Sets a variable of the environment for programs that are started from now on.
  void set(const std::string& name, const std::string& value) { env_[name] = value; }
  /// The options with which programs of this folder are started.
  ProcessOptions options() const;

  /// Starts actorhost.
  Process start(const Words& words) const;
  /// Runs actorhost to its end.
  Finished run(const Words& words, double seconds = 30) const;

 private:
  TempDir dir_;
  std::map<std::string, std::optional<std::string>> env_;
};

/// A job's folder with "ca.pem", and "host.pem" with "host.key", which it has signed for these names (as openssl writes
/// them: "IP:127.0.0.1"); "other.pem" with "other.key" is a stranger's.
class CertificateFolder : public JobFolder {
 public:
  explicit CertificateFolder(const std::string& names);
};

/// A run that has come to its end, which has to be with `status`. As long as this lives, each check that fails says
/// what the run was and wrote.
class Ended : public Finished {
 public:
  explicit Ended(Finished run, std::optional<int> wanted = 0);

 private:
  Catch::ScopedMessage said_;
};

/// The first line of a script.
inline const std::string kUseMapreduce = "local mr = require 'actor.mapreduce'\n";
/// Runs a script of one line or two behind `kUseMapreduce` on two workers; `words` are its arguments.
Finished run_mapreduce(const JobFolder& folder, const std::string& job, const Words& words = {});

/// Hosts of one run: the same command line for each, besides `--nnodes` and the endpoint. Host 0 is the rendezvous
/// host: it is started first, the others when it listens.
class Hosts {
 public:
  Hosts(const JobFolder& folder, size_t count, const Words& words);

  Process& operator[](size_t host) { return processes_.at(host); }
  size_t size() const { return processes_.size(); }
  std::string endpoint() const { return port_.endpoint(); }
  /// Waits until all have ended, in order; their exit codes, -1 for one that has not ended in time.
  std::vector<int> wait(double seconds);
  /// What all of them wrote.
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
/// Runs the job there to its end; `words` are flags and the job. The status is that of the first host that did not end
/// with 0, and the output is that of all hosts.
Finished run_at(const std::string& place, const JobFolder& folder, const Words& words, double seconds = 30);

/// Does `count` runs at once, for those that wait more than they compute: `run(i)` makes the i-th, on a thread of its
/// own, so it must not check anything itself.
std::vector<Finished> run_together(size_t count, const std::function<Finished(size_t)>& run);

/// Asks `reached` repeatedly, for things such as files that do not tell of changes: whether it held within `seconds`,
/// which are `patience` times longer.
bool wait_until(const std::function<bool()>& reached, double seconds);

/// Arguments of `unshare` for a program in fresh namespaces of the network, mounts and processes.
extern const Words kOwnNetwork;
/// Whether hosts can be given networks of their own there, which needs root and programs.
bool networks_can_be_made();

/// Seconds on the steady clock.
double now();
/// The number of the process in "WHO in process NUMBER.", which `run` has to print within 20 seconds; else the test
/// fails.
pid_t process_of(Process& run, const std::string& who);

/// A seed for a run: ACTORHOST_TEST_SEED, or another one each time.
std::string any_seed();
/// The path of a file of examples/models.
std::string model_file(const std::string& name);
/// The names in a folder, hidden ones too.
std::set<std::string> names_in(const std::filesystem::path& folder);

/// The lines of a text.
Words lines_of(const std::string& text);
/// How often `part` is in `text`.
size_t count_of(std::string_view text, std::string_view part);
/// The line that begins with `start`, without it; throws when there is none.
std::string line_after(const std::string& text, const std::string& start);

}  // namespace actorhost::test
