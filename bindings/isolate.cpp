#include "bindings/isolate.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorhost {

namespace {

constexpr const char* kVariable = "ACTORHOST_CHILD";

}  // namespace

std::string ChildPlace::encode() const {
  return nlohmann::json{{"url", url},     {"group", std::to_string(group)}, {"size", size},
                        {"index", index}, {"node_rank", node_rank},         {"token", token}}
      .dump();
}

Result<ChildPlace> ChildPlace::decode(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    return ChildPlace{json.at("url"),       std::stoull(json.at("group").get<std::string>()),
                      json.at("size"),      json.at("index"),
                      json.at("node_rank"), json.at("token")};
  } catch (const std::exception& e) {
    return Error{Code::bad_argument,
                 std::string(kVariable) + " is set by actorhost itself; here it is malformed: " + e.what()};
  }
}

Result<std::optional<ChildPlace>> ChildPlace::take_from_environment() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr) return std::optional<ChildPlace>();
  auto place = decode(text);
  unsetenv(kVariable);
  if (!place) return place.error();
  return std::optional(std::move(*place));
}

ChildSupervisor::~ChildSupervisor() {
  signal_all(SIGKILL);
  for (Child& child : children_) {
    if (!child.status) waitpid(child.pid, nullptr, 0);
  }
}

Status ChildSupervisor::spawn(const std::vector<std::string>& args, const ChildPlace& place) {
  std::vector<std::string> words = {"actorhost"};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string value = place.encode();
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return Error{Code::io, std::string("cannot start a process: ") + std::strerror(errno)};
  if (pid == 0) {
    // Only this thread exists here; setenv before exec is safe since no other thread of ours holds the environment's
    // lock at start-up, when children are made.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(3);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    setenv(kVariable, value.c_str(), 1);
    execv("/proc/self/exe", argv.data());
    _exit(127);
  }
  children_.push_back({pid, std::nullopt});
  return {};
}

size_t ChildSupervisor::reap() {
  size_t running = 0;
  for (Child& child : children_) {
    if (child.status) continue;
    int status = 0;
    if (waitpid(child.pid, &status, WNOHANG) == child.pid) {
      child.status = status;
    } else {
      ++running;
    }
  }
  return running;
}

void ChildSupervisor::signal_all(int signal) {
  for (const Child& child : children_) {
    if (!child.status) kill(child.pid, signal);
  }
}

int ChildSupervisor::exit_code() const {
  bool any = false;
  for (const Child& child : children_) {
    if (!child.status || !WIFEXITED(*child.status)) continue;
    any = true;
    if (WEXITSTATUS(*child.status) != 0) return WEXITSTATUS(*child.status);
  }
  return any ? 0 : 3;
}

}  // namespace actorhost
