// Retained rows: persist, cache, unpersist and checkpoint; which rows are recomputed after the loss of a worker.

#include <sys/inotify.h>
#include <unistd.h>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

namespace fs = std::filesystem;

Finished run_persist_job(const JobFolder& folder, const std::string& job, const Words& words = {"-n", "2"}) {
  return folder.run(with(words, {"jobs/mapreduce_persist.lua", job}));
}

/// Runs a script of a few lines.
Finished run_noted(const JobFolder& folder, const std::string& job, const Words& words = {"-n", "2"}) {
  folder.write("noted_rows.lua", job_text("noted_rows.lua"));
  folder.write("job.lua", "local mr, noted = require('actor').mapreduce, require('noted_rows').noted\n" + job);
  return folder.run(with(words, {"job.lua"}));
}

/// Counts how often programs open a folder, as a list of its files does. Not the files in it.
class FolderOpens : private NonCopyable {
 public:
  explicit FolderOpens(const fs::path& folder) : events_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    REQUIRE(::inotify_add_watch(events_, folder.c_str(), IN_OPEN) >= 0);
  }
  ~FolderOpens() { ::close(events_); }

  int count() const {
    alignas(inotify_event) char buffer[4096];
    int opens = 0;
    for (ssize_t size = ::read(events_, buffer, sizeof buffer); size > 0;
         size = ::read(events_, buffer, sizeof buffer)) {
      for (const char* at = buffer; at < buffer + size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(at);
        if (event->len == 0) ++opens;  // an event of a file in the folder has its name
        at += sizeof(inotify_event) + event->len;
      }
    }
    return opens;
  }

 private:
  const int events_;
};

}  // namespace

TEST_CASE("rows retained on disk are written at once, even with free memory, and leave no file") {
  const JobFolder folder;
  fs::create_directory(folder.path() / "tmp");
  ProcessOptions options = folder.options();
  options.env["TMPDIR"] = (folder.path() / "tmp").string();
  for (const auto& [memory, spilled] : std::map<std::string, std::string>{{"256M", "false"}, {"16M", "true"}}) {
    const Ended run(run_program(
        actorhost_binary(),
        {"-n", "2", "--memory", memory, "jobs/mapreduce_persist.lua", "rows_persisted_on_disk_are_written_at_once"}, 60,
        options));
    CHECK(line_after(run.out, "memory ") == spilled + " 500000500000");
    CHECK(line_after(run.out, "disk ") == "true 500000500000");
  }
  CHECK(names_in(folder.path() / "tmp").empty());
}

TEST_CASE(
    "a repeated job resumes from its checkpoint if it computes the same rows, and otherwise reports the difference") {
  const JobFolder folder;
  const auto job = [](const std::string& before, const std::string& fn, const std::string& options) {
    return before + "local factor = tonumber((...)) or 1\nlocal rows = noted():map(" + fn + "):checkpoint('ck'" +
           options + ")\nprint('sum ' .. rows:sum())\n";
  };
  const std::string twice = "function(x) return 2 * factor * x end";
  const auto runs = [&] { return lines_of(read_text(folder.path() / "made")).size() / 30; };
  const Finished first = run_noted(folder, job("", twice, ""));
  INFO(first.description);
  CHECK(line_after(first.out, "sum ") == "9003000");
  CHECK(runs() == 1);

  const Finished refused = run_noted(folder, job("", twice, ""));
  CHECK(refused.status == 1);
  CHECK_THAT(refused.err, Contains("job.lua:3: mapreduce.checkpoint: ") &&
                              Contains("ck: holds a checkpoint; resume = true reads it"));
  CHECK(runs() == 1);

  // Lines may move, later operations may change, and the number of nodes may grow.
  const Finished resumed = run_noted(folder, job("\n\n", twice, ", { resume = true }"), {"-n", "3"});
  INFO(resumed.description);
  CHECK(line_after(resumed.out, "sum ") == "9003000");
  CHECK(runs() == 1);

  const Ended changed(run_noted(folder, job("", "function(x) return 3 * factor * x end", ", { resume = true }")), 1);
  CHECK_THAT(changed.err, Contains("job.lua:3: ") && Contains("ck: holds the checkpoint of another pipeline"));

  const Finished both = run_noted(folder, job("", twice, ", { resume = true }"));
  CHECK(line_after(both.out, "sum ") == "9003000");
  const Finished captured = folder.run({"-n", "2", "job.lua", "5"});
  CHECK_THAT(captured.err, Contains("ck: holds the checkpoint of another pipeline"));
  CHECK(runs() == 1);
  const Finished replaced =
      run_noted(folder, job("", "function(x) return 3 * factor * x end", ", { resume = true, overwrite = true }"));
  INFO(replaced.description);
  CHECK(line_after(replaced.out, "sum ") == "13504500");
  CHECK(runs() == 2);
}

TEST_CASE("a killed job continues its checkpoint, and a finished task does not run again") {
  const JobFolder folder;
  const std::string job =
      "local function held(x)\n"
      "  if x ~= 1500 or not io.open('stay') then return x end\n"
      "  io.open('staying', 'w'):close()\n"
      "  require('actor').sleep(1000)\n"
      "end\n"
      "print('sum ' .. noted():map(held):checkpoint('ck', { resume = true }):sum())\n";
  folder.write("noted_rows.lua", job_text("noted_rows.lua"));
  folder.write("job.lua", "local mr, noted = require('actor').mapreduce, require('noted_rows').noted\n" + job);
  folder.write("stay", "");
  const auto made = [&] { return lines_of(read_text(folder.path() / "made")).size(); };
  Process killed = folder.start({"-n", "2", "job.lua"});
  REQUIRE(wait_until([&] { return fs::exists(folder.path() / "staying") && made() == 30; }, 30));
  killed.signal(SIGKILL);
  killed.wait(10);
  CHECK_FALSE(fs::exists(folder.path() / "ck"));

  fs::remove(folder.path() / "stay");
  const Ended resumed(folder.run({"-n", "3", "job.lua"}));
  CHECK(line_after(resumed.out, "sum ") == "4501500");
  CHECK_THAT(resumed.err, Contains("checkpoint: continues the unfinished parts in "));
  // The held task, and perhaps the task that the other worker had not finished.
  CHECK(made() >= 31);
  CHECK(made() <= 32);
  for (const std::string& name : names_in(folder.path())) CHECK_FALSE(name.starts_with(".ck"));
}

TEST_CASE("a failed job continues its checkpoint, unless its pipeline has changed") {
  const JobFolder folder;
  const auto job = [](const std::string& factor) {
    return "local function mapped(x)\n"
           "  if x == 3000 and io.open('broken') then error('the disk is full') end\n"
           "  return " +
           factor +
           " * x\n"
           "end\n"
           "print('sum ' .. noted():map(mapped):checkpoint('ck', { resume = true }):sum())\n";
  };
  const auto made = [&] { return lines_of(read_text(folder.path() / "made")).size(); };
  folder.write("broken", "");
  const Ended failed(run_noted(folder, job("1"), {"-n", "1"}), 1);
  CHECK_THAT(failed.err,
             Contains("the disk is full") && Contains("a run of the same pipeline with resume = true continues"));
  const size_t before = made();
  fs::remove(folder.path() / "broken");

  const Ended changed(run_noted(folder, job("2"), {"-n", "1"}));
  CHECK(line_after(changed.out, "sum ") == "9003000");
  CHECK_THAT(changed.err, Contains("are of another pipeline, input or number of partitions, and are not used"));
  CHECK(made() == before + 30);
  fs::remove_all(folder.path() / "ck");

  const Ended resumed(run_noted(folder, job("1"), {"-n", "1"}));
  CHECK(line_after(resumed.out, "sum ") == "4501500");
  CHECK(made() == before + 31);
}

TEST_CASE("a resumed checkpoint lists the folder of its parts once, not for each part") {
  const JobFolder folder;
  const Words job = {"-n", "1", "jobs/mapreduce_persist.lua", "checkpoint_of_200_parts"};
  folder.write("broken", "");
  const Ended failed(folder.run(job), 1);
  CHECK_THAT(failed.err, Contains("the disk is full"));
  fs::remove(folder.path() / "broken");
  const auto names = names_in(folder.path());
  const auto hidden =
      std::find_if(names.begin(), names.end(), [](const auto& name) { return name.starts_with(".ck.saving-"); });
  REQUIRE(hidden != names.end());
  const FolderOpens opens(folder.path() / *hidden);
  const Ended resumed(folder.run(job));
  CHECK(resumed.out == "20100\n");
  CHECK(opens.count() <= 5);  // also to remove it
}

TEST_CASE("a damaged, truncated, missing or foreign checkpoint is an error with the file") {
  const JobFolder folder;
  const std::string job = "local rows = noted():checkpoint('ck', { resume = true })\nprint('sum ' .. rows:sum())\n";
  REQUIRE(run_noted(folder, job).status == 0);
  const fs::path part = folder.path() / "ck/part-00007";
  const std::string bytes = read_text(part);
  const auto error_with = [&](const std::string& text) {
    folder.write("ck/part-00007", text);
    const Ended run(run_noted(folder, job), 1);
    return run.err;
  };
  std::string damaged = bytes;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  CHECK_THAT(error_with(damaged), Contains("ck/part-00007, byte 32: the checkpoint is damaged"));
  CHECK_THAT(error_with(bytes.substr(0, bytes.size() - 10)),
             Contains("ck/part-00007, byte " + std::to_string(bytes.size() - 10) + ": the checkpoint is cut short"));
  CHECK_THAT(error_with(read_text(folder.path() / "ck/part-00008")), Contains("is part 8 under a wrong name"));
  fs::remove(part);
  const Finished without_part = run_noted(folder, job);
  CHECK_THAT(without_part.err, Contains("ck/part-00007: cannot open for reading: No such file") &&
                                   Contains("all hosts have to see the checkpoint"));
  folder.write("ck/part-00007", bytes);
  CHECK(run_noted(folder, job).status == 0);

  const Ended replaced(run_persist_job(folder, "checkpoint_that_is_damaged_cut_short"), 1);
  CHECK_THAT(replaced.err, Contains("other/part-00000, byte 0: the checkpoint belongs to another checkpoint") ||
                               Contains("byte 0: the checkpoint belongs to another checkpoint"));
}

TEST_CASE("a task that kills its process fails the job after three processes") {
  const JobFolder folder;
  // Rank 0, in the coordinator's process, enters the action after three deaths, or when the others have seen the
  // failure.
  const std::string when = GENERATE(as<std::string>(), "soon", "late");
  const Ended run(
      folder.run({"-n", "5", "--isolate", "jobs/mapreduce_persist.lua", "task_that_ends_each_process_that_runs", when}),
      3);
  CHECK_THAT(run.err, Contains("a process has ended 3 times while it ran stage ") && Contains("task 5 of 8"));
  CHECK(read_text(folder.path() / "deaths") == "xxx");
}
