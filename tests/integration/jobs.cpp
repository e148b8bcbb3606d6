#include "tests/integration/jobs.hpp"

#include <chrono>
#include <future>
#include <stdexcept>
#include <utility>

namespace actorhost::test {

Words with(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

namespace {

std::filesystem::path jobs_dir() { return source_dir() / "tests/integration/jobs"; }

}  // namespace

std::string job_text(const std::string& name) { return read_text(jobs_dir() / name); }

std::string place_in(const std::string& name, std::string_view text) {
  const std::string all = job_text(name);
  const size_t at = all.find(text);
  REQUIRE(at != std::string::npos);
  const auto line = 1 + std::count(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  return name + ":" + std::to_string(line);
}

JobFolder::JobFolder() : env_{{"XDG_CONFIG_HOME", (dir_ / "config").string()}, {"XDG_RUNTIME_DIR", path().string()}} {
  std::filesystem::create_directory_symlink(jobs_dir(), dir_ / "jobs");
}

ProcessOptions JobFolder::options() const { return {.env = env_, .cwd = path()}; }

Process JobFolder::start(const Words& words) const { return Process(actorhost_binary(), words, options()); }

Process JobFolder::start(const Words& words, const std::string& ready) const {
  Process run = start(words);
  const bool is_ready = run.wait_for_output(ready, 20);
  INFO(run.describe());
  REQUIRE(is_ready);
  return run;
}

Finished JobFolder::run(const Words& words, double seconds) const {
  return run_program(actorhost_binary(), words, seconds, options());
}

CertificateFolder::CertificateFolder(const std::string& names) {
  const auto make = [&](const Words& words) {
    const Finished made = run_program("openssl", words, 20, options());
    INFO(made.description);
    REQUIRE(made.status == 0);
  };
  write("names", "subjectAltName = " + names + "\n");
  const Words request = {"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"};
  make(with(request, {"-x509", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca"}));
  make(with(request, {"-x509", "-keyout", "other.key", "-out", "other.pem", "-subj", "/CN=other"}));
  make(with(request, {"-keyout", "host.key", "-out", "host.csr", "-subj", "/CN=host"}));
  make({"x509", "-req", "-in", "host.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "host.pem",
        "-extfile", "names"});
}

Ended::Ended(Finished run, std::optional<int> wanted)
    : Finished(std::move(run)),
      info_(Catch::MessageBuilder("INFO", CATCH_INTERNAL_LINEINFO, Catch::ResultWas::Info) << description) {
  CHECK(status == wanted);
}

namespace {

Finished end_of_all(const std::vector<std::reference_wrapper<Process>>& runs, double seconds,
                    std::optional<int> wanted) {
  Finished all{wanted, {}, {}, {}};
  for (Process& run : runs) {
    const auto status = run.wait(seconds);
    if (status != wanted) all.status = status;
  }
  for (const Process& run : runs) {
    all.out += run.out();
    all.err += run.err();
    all.description += run.describe();
  }
  return all;
}

}  // namespace

Ended::Ended(const std::vector<std::reference_wrapper<Process>>& runs, double seconds, std::optional<int> wanted)
    : Ended(end_of_all(runs, seconds, wanted), wanted) {}

Hosts::Hosts(const JobFolder& folder, size_t count, const Words& words) {
  // As hosts on several machines.
  const Words meeting = {"--nnodes", std::to_string(count), "--rdzv-endpoint", port_.endpoint(), "--no-shared-memory"};
  for (size_t i = 0; i < count; ++i) {
    processes_.push_back(folder.start(with(meeting, words)));
    if (i == 0 && !processes_[0].wait_for_match("(info\\] |\")seed \\d", 20)) {
      throw std::runtime_error("the first host does not listen\n" + processes_[0].describe());
    }
  }
}

std::vector<int> Hosts::wait(double seconds) {
  std::vector<int> codes;
  for (Process& process : processes_) codes.push_back(process.wait(seconds).value_or(-1));
  return codes;
}

std::string Hosts::out() const {
  std::string all;
  for (const Process& process : processes_) all += process.out();
  return all;
}

std::string Hosts::err() const {
  std::string all;
  for (const Process& process : processes_) all += process.err();
  return all;
}

std::string Hosts::describe() const {
  std::string all;
  for (const Process& process : processes_) all += process.describe();
  return all;
}

const Words& places() {
  static const Words kPlaces = {"threads", "isolate", "hosts"};
  return kPlaces;
}

namespace {

/// The number of seeds of a rehearsal.
uint64_t number_of_seeds() { return number_of("ACTORHOST_TEST_SEEDS", 2); }

struct Place {
  explicit Place(const std::string& text)
      : kind(text.substr(0, text.find(':'))), count(text.size() > kind.size() ? text.substr(kind.size() + 1) : "3") {}
  /// The words in front of `words` on one machine. A rehearsal without --seed has several seeds.
  Words flags(const Words& words) const {
    if (kind == "threads") return {"-n", count};
    if (kind == "isolate") return {"-n", count, "--isolate"};
    if (kind != "rehearsal") throw std::runtime_error("there is no place '" + kind + "'");
    Words all = {"rehearse", "--hosts", hosts(), "-n", nodes(), "--virtual-seconds", "60", "--start-timeout", "10"};
    if (std::find(words.begin(), words.end(), "--seed") != words.end()) return all;
    return with(all, {"--seeds", seeds(), "-j", "1"});
  }
  std::string hosts() const { return count.substr(0, count.find('x')); }
  /// The nodes of each host.
  std::string nodes() const { return hosts() == count ? "1" : count.substr(hosts().size() + 1); }
  std::string kind;
  std::string count;

 private:
  static std::string seeds() {
    const uint64_t first = number_of("ACTORHOST_TEST_SEED", 1);
    return std::to_string(first) + ":" + std::to_string(first + number_of_seeds() - 1);
  }
};

}  // namespace

Finished run_at(const std::string& place, const JobFolder& folder, const Words& words, double seconds) {
  const Place at(place);
  if (at.kind == "rehearsal") seconds *= std::max(1.0, static_cast<double>(number_of_seeds()) / 2);
  if (at.kind != "hosts") return folder.run(with(at.flags(words), words), seconds);
  Hosts hosts(folder, std::stoul(at.hosts()), with({"-n", at.nodes()}, words));
  Finished all;
  for (const int code : hosts.wait(seconds)) {
    if (!all.status || *all.status == 0) all.status = code;
  }
  all.out = hosts.out();
  all.err = hosts.err();
  all.description = hosts.describe();
  return all;
}

Finished run_and_kill(const std::string& place, const JobFolder& folder, const Words& words, double seconds,
                      const std::string& name) {
  Process run = folder.start(with(Place(place).flags(words), words));
  ::kill(process_of(run, name), SIGKILL);
  const auto status = run.wait(seconds);
  return {status, run.out(), run.err(), run.describe()};
}

PlacedRun::PlacedRun(const JobFolder& folder, const std::string& place, const Words& words) {
  if (place == "hosts") {
    hosts = std::make_unique<Hosts>(folder, 3, with({"-n", "1"}, words));
  } else {
    alone = std::make_unique<Process>(folder.start(with(Place(place).flags(words), words)));
  }
}

Ended PlacedRun::end(double seconds) {
  if (alone) return Ended({*alone}, seconds);
  std::vector<std::reference_wrapper<Process>> runs;
  for (size_t i = 0; i < hosts->size(); ++i) runs.emplace_back((*hosts)[i]);
  return Ended(runs, seconds);
}

Words elastic_words(const FreePort& port, const std::string& nnodes, const Words& words) {
  return with({"--nnodes", nnodes, "--rdzv-endpoint", port.endpoint()}, words);
}

std::vector<Ended> run_late(const JobFolder& folder, const Words& words, const std::string& ready, size_t late) {
  const FreePort port;
  const Words all = elastic_words(port, "1:" + std::to_string(late + 1), words);
  std::vector<Process> hosts;
  hosts.push_back(folder.start(all, ready));
  for (size_t i = 0; i < late; ++i) hosts.push_back(folder.start(all));
  for (Process& host : hosts) host.wait(30);
  std::vector<Ended> ended;
  for (Process& host : hosts) ended.emplace_back(Finished{host.wait(0), host.out(), host.err(), host.describe()});
  return ended;
}

std::vector<Finished> run_together(size_t count, const std::function<Finished(size_t)>& run) {
  std::vector<std::future<Finished>> runs;
  for (size_t i = 0; i < count; ++i) runs.push_back(std::async(std::launch::async, run, i));
  std::vector<Finished> all;
  for (auto& one : runs) all.push_back(one.get());
  return all;
}

bool wait_until(const std::function<bool()>& reached, double seconds) {
  constexpr double kLeastPause = 0.002;  // files send no notifications
  const double deadline = now() + seconds * patience();
  for (double began = now(); !reached(); began = now()) {
    if (now() > deadline) return false;
    // A slow check, which may start a program, gets a third of the time.
    const double pause = std::max(kLeastPause, 2 * (now() - began));
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
  }
  return true;
}

const Words kOwnNetwork = {"--net", "--mount", "--pid", "--fork", "--kill-child"};

bool networks_can_be_made() {
  const std::string attempt =
      "mount -t tmpfs none /run && ip netns add one && ip link add name hub type bridge && command -v bridge";
  return run_program("unshare", with(kOwnNetwork, {"sh", "-c", attempt}), 20).status == 0;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

pid_t process_of(Process& run, const std::string& name) {
  const auto number = run.wait_for_match(name + " in process (\\d+)\\.", 20);
  INFO(run.describe());
  REQUIRE(number.has_value());
  return static_cast<pid_t>(std::stol(*number));
}

Finished run_mapreduce(const JobFolder& folder, const std::string& job, const Words& words) {
  folder.write("job.lua", kUseMapreduce + job);
  return folder.run(with({"-n", "2", "job.lua"}, words));
}

uint64_t number_of(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::string any_seed() { return std::to_string(number_of("ACTORHOST_TEST_SEED", std::random_device{}())); }

std::string model_file(const std::string& name) { return (source_dir() / "examples/models" / name).string(); }

std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

size_t count_of(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

std::string line_after(const std::string& text, const std::string& start) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (text.compare(at, start.size(), start) == 0) return text.substr(at + start.size(), end - at - start.size());
    at = end + 1;
  }
  throw std::runtime_error("no line begins with '" + start + "' in:\n" + text);
}

}  // namespace actorhost::test
