#include "host/cluster/run_files.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tuple>

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace actorhost {

namespace {

using nlohmann::json;

std::string file_of(const std::string& folder, int pid) { return folder + "/" + std::to_string(pid) + ".json"; }
std::string socket_of(const std::string& folder, int pid) { return folder + "/" + std::to_string(pid) + ".sock"; }

void remove_files(const std::string& folder, int pid) {
  unlink(file_of(folder, pid).c_str());
  unlink(socket_of(folder, pid).c_str());
}

bool alive(int pid) { return kill(pid, 0) == 0 || errno == EPERM; }

}  // namespace

Result<std::string> run_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const bool given = runtime != nullptr && runtime[0] == '/';
  const std::string folder = given ? std::string(runtime) + "/actorhost" : "/tmp/actorhost-" + std::to_string(getuid());
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{Code::io, "cannot make the folder '" + folder + "' of control sockets: " + std::strerror(errno)};
  }
  struct stat info {};
  if (lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != getuid() ||
      (info.st_mode & 077) != 0) {
    return Error{Code::refused, "'" + folder +
                                    "', the folder of control sockets, has to be a folder of yours that "
                                    "nobody else may read; remove it, or chmod 700"};
  }
  return folder;
}

std::string control_url(const std::string& folder, int pid) { return "ipc://" + socket_of(folder, pid); }

Status write_run_file(const RunFile& run) {
  auto folder = run_folder();
  if (!folder) return folder.error();
  const json text = {{"url", run.url},        {"meeting", run.meeting},       {"job", run.job},
                     {"id", run.id},          {"token_file", run.token_file}, {"insecure", run.insecure},
                     {"started", run.started}};
  const std::string path = file_of(*folder, run.pid);
  const std::string fresh = path + ".new";
  std::ofstream out(fresh);
  out << text.dump(-1, ' ', false, json::error_handler_t::replace) << "\n";
  out.close();
  if (!out || rename(fresh.c_str(), path.c_str()) != 0) {
    unlink(fresh.c_str());
    return Error{Code::io, "cannot write '" + path + "': " + std::strerror(errno)};
  }
  return {};
}

void remove_run_file() {
  if (const auto folder = run_folder()) remove_files(*folder, getpid());
}

Result<std::vector<RunFile>> find_runs() {
  auto folder = run_folder();
  if (!folder) return folder.error();
  std::vector<RunFile> runs;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(*folder, failed)) {
    const int pid = std::atoi(entry.path().stem().c_str());
    if (pid <= 0) continue;
    if (!alive(pid)) {
      remove_files(*folder, pid);
      continue;
    }
    if (entry.path().extension() != ".json") continue;
    std::ifstream in(entry.path());
    const json text = json::parse(in, nullptr, false);
    if (!text.is_object()) continue;
    const auto word = [&text](const char* name) {
      return text.contains(name) && text[name].is_string() ? text[name].get<std::string>() : "";
    };
    RunFile run{pid, word("url"), word("meeting"), word("job"), word("id"), word("token_file"), false, 0};
    if (text.contains("insecure") && text["insecure"].is_boolean()) run.insecure = text["insecure"].get<bool>();
    if (text.contains("started") && text["started"].is_number()) run.started = text["started"].get<double>();
    runs.push_back(std::move(run));
  }
  // Of a run's hosts on this machine the rendezvous host is the one with a socket.
  std::sort(runs.begin(), runs.end(), [](const RunFile& a, const RunFile& b) {
    return std::tuple(a.meeting, !a.url.starts_with("ipc://")) < std::tuple(b.meeting, !b.url.starts_with("ipc://"));
  });
  const auto same = [](const RunFile& a, const RunFile& b) { return !a.meeting.empty() && a.meeting == b.meeting; };
  runs.erase(std::unique(runs.begin(), runs.end(), same), runs.end());
  std::sort(runs.begin(), runs.end(), [](const RunFile& a, const RunFile& b) { return a.started > b.started; });
  return runs;
}

}  // namespace actorhost
