#pragma once
// Runs of `actorhost rehearse` for the tests of this folder.

#include <cstdint>
#include <filesystem>
#include <regex>
#include <string>
#include <string_view>

#include "tests/integration/jobs.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

struct Job {
  std::string name;
  Words words;  // flags, the job and its arguments
  std::string hosts = "3";
};

struct Run {
  Finished ended;
  std::string trace;
};

/// Runs jobs on hosts with one node each, in a folder of the same name, since hosts send each other the names of files.
class Rehearsals {
 public:
  /// Runs the job in an empty folder.
  Run run(const Job& job, uint64_t order, const Words& flags = {}) {
    std::filesystem::remove_all(work_);
    std::filesystem::create_directory(work_);
    std::filesystem::create_directory_symlink(source_dir() / "tests/integration/jobs", work_ / "jobs");
    return run_again(job, order, flags);
  }
  /// Runs the job in the folder of the last run.
  Run run_again(const Job& job, uint64_t order, const Words& flags = {}) {
    const Words fixed = {"rehearse", "--hosts", job.hosts,           "-n", "1", "--order", std::to_string(order),
                         "--seed",   "1",       "--virtual-seconds", "40"};
    ProcessOptions options = folder_.options();
    options.cwd = work_;
    options.env["TMPDIR"] = work_.string();
    Run run{run_program(actorhost_binary(), with(with(fixed, flags), job.words), 60, options), {}};
    static const std::regex line("actorhost: rehearsed (.*)");
    std::smatch found;
    if (std::regex_search(run.ended.err, found, line)) run.trace = found[1];
    return run;
  }
  const std::filesystem::path& work() const { return work_; }
  std::string write(const std::string& name, std::string_view text) { return folder_.write(name, text).string(); }

 private:
  JobFolder folder_;
  std::filesystem::path work_ = folder_.path() / "work";
};

}  // namespace actorhost::test
