#include "bindings/run/isolate.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bindings/process/child_process.hpp"
#include "host/base/outside_json.hpp"

namespace actorhost {

namespace {

constexpr const char* kChildVariable = "ACTORHOST_CHILD";

std::string encode(const ChildPlace& place, int token_pipe) {
  return json_text(nlohmann::json{{"url", place.url},
                                  {"group", std::to_string(place.group)},
                                  {"size", place.size},
                                  {"index", place.index},
                                  {"node_rank", place.node_rank},
                                  {"token_pipe", token_pipe},
                                  {"started_pipe", place.started_pipe},
                                  {"output_lock", place.output_lock}});
}

/// The read end of a pipe that already contains `token`; a started program inherits it.
Result<int> pipe_with(const std::string& token) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return Error{Code::io, std::string("no pipe: ") + std::strerror(errno)};
  const bool written = write(ends[1], token.data(), token.size()) == static_cast<ssize_t>(token.size());
  ::close(ends[1]);
  const int read_end = written ? dup(ends[0]) : -1;  // without close-on-exec
  ::close(ends[0]);
  if (read_end < 0) return Error{Code::io, std::string("no pipe for a token of this length: ") + std::strerror(errno)};
  return read_end;
}

/// Reads the pipe's written content and closes the pipe.
std::string read_and_close(int pipe) {
  std::string text;
  char bytes[512];
  for (ssize_t got = 0; (got = read(pipe, bytes, sizeof bytes)) > 0;) text.append(bytes, static_cast<size_t>(got));
  ::close(pipe);
  return text;
}

Result<ChildPlace> decode(const std::string& text) {
  try {
    const auto json = parse_outside_json(text);
    ChildPlace place{json.at("url"),       std::stoull(json.at("group").get<std::string>()),
                     json.at("size"),      json.at("index"),
                     json.at("node_rank"), {}};
    place.token = read_and_close(json.at("token_pipe"));
    place.started_pipe = json.at("started_pipe");
    fcntl(place.started_pipe, F_SETFD, FD_CLOEXEC);
    const int shared = json.at("output_lock");
    place.output_lock = open(("/proc/self/fd/" + std::to_string(shared)).c_str(), O_RDWR | O_CLOEXEC);
    ::close(shared);
    return place;
  } catch (const std::exception& e) {
    return Error{Code::bad_argument,
                 std::string(kChildVariable) + " is set by actorhost itself; here it is malformed: " + e.what()};
  }
}

}  // namespace

Result<std::optional<ChildPlace>> ChildPlace::take_from_environment() {
  const char* text = std::getenv(kChildVariable);
  if (text == nullptr) return std::optional<ChildPlace>();
  auto place = decode(text);
  unsetenv(kChildVariable);
  if (!place) return place.error();
  return std::optional(std::move(*place));
}

void ChildPlace::report_started() {
  const int pipe = std::exchange(started_pipe, -1);
  if (pipe < 0) return;
  (void)!write(pipe, "s", 1);
  ::close(pipe);
}

ChildSupervisor::ChildSupervisor() : output_lock_(memfd_create("actorhost-output", MFD_CLOEXEC)) {}

ChildSupervisor::~ChildSupervisor() {
  if (started_pipe_ >= 0) ::close(started_pipe_);
  if (output_lock_ >= 0) ::close(output_lock_);
  signal_all(SIGKILL);
  for (Child& child : children_) {
    if (!child.status) waitpid(child.pid, nullptr, 0);
  }
}

Status ChildSupervisor::spawn(const std::vector<std::string>& args, std::vector<ChildPlace> places) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return Error{Code::io, std::string("no pipe: ") + std::strerror(errno)};
  started_pipe_ = ends[0];
  const int write_end = dup(ends[1]);  // without close-on-exec
  ::close(ends[1]);
  Status spawned = write_end < 0 ? Status(Error{Code::io, std::string("no pipe: ") + std::strerror(errno)}) : Status();
  const int lock = output_lock_ < 0 ? -1 : dup(output_lock_);  // without close-on-exec
  if (spawned && lock < 0) spawned = Error{Code::io, std::string("no file to lock: ") + std::strerror(errno)};
  for (ChildPlace& place : places) {
    place.started_pipe = write_end;
    place.output_lock = lock;
    if (spawned) spawned = spawn_one(args, place);
  }
  ::close(write_end);
  ::close(lock);
  return spawned;
}

Status ChildSupervisor::spawn_one(const std::vector<std::string>& args, const ChildPlace& place) {
  AH_LET(const auto token, pipe_with(place.token));
  auto pid = start_child(args, kChildVariable, encode(place, token), Interrupt::inherited);
  ::close(token);
  if (!pid) return pid.error();
  children_.push_back({*pid, std::nullopt});
  return {};
}

bool ChildSupervisor::started() {
  char byte = 0;
  started_ = started_ || (started_pipe_ >= 0 && read(started_pipe_, &byte, 1) == 1);
  return started_;
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

std::optional<std::string> ChildSupervisor::first_ended() const {
  for (size_t node = 0; node < children_.size(); ++node) {
    const auto& [pid, status] = children_[node];
    if (!status) continue;
    const std::string child_name = "local node " + std::to_string(node) + " (process " + std::to_string(pid) + ") ";
    if (WIFSIGNALED(*status)) return child_name + "was killed by signal " + std::to_string(WTERMSIG(*status));
    return child_name + "ended with exit status " + std::to_string(WEXITSTATUS(*status));
  }
  return std::nullopt;
}

void ChildSupervisor::signal_all(int signal) {
  for (const Child& child : children_) {
    if (!child.status) kill(child.pid, signal);
  }
}

int ChildSupervisor::first_failure() const {
  for (const Child& child : children_) {
    if (!child.status || !WIFEXITED(*child.status)) continue;
    if (WEXITSTATUS(*child.status) != 0) return WEXITSTATUS(*child.status);
  }
  return 0;
}

int ChildSupervisor::exit_code() const {
  const bool any = std::any_of(children_.begin(), children_.end(),
                               [](const Child& child) { return child.status && WIFEXITED(*child.status); });
  return any ? first_failure() : 3;
}

}  // namespace actorhost
