#include "bindings/isolate.hpp"

#include <csignal>
#include <cstdlib>

#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "bindings/child_process.hpp"

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
  auto pid = start_child(args, kVariable, place.encode(), Interrupt::kept);
  if (!pid) return pid.error();
  children_.push_back({*pid, std::nullopt});
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
