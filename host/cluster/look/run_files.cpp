#include "host/cluster/look/run_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <tuple>

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/base/outside_json.hpp"
#include "host/net/token_file.hpp"

namespace actorhost {

namespace {

using nlohmann::json;

std::string file_of(const std::string& folder, int pid) { return folder + "/" + std::to_string(pid) + ".json"; }
std::string socket_of(const std::string& folder, int pid) { return folder + "/" + std::to_string(pid) + ".sock"; }

constexpr int kLargestPid = 4'194'304;

void remove_files(const std::string& folder, int pid) {
  unlink(file_of(folder, pid).c_str());
  unlink(socket_of(folder, pid).c_str());
}

/// The start time of a process, in ticks since the machine started; 0 if there is no process. The system reuses process
/// numbers.
uint64_t begin_of(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(in, text);
  const size_t name_ends = text.rfind(')');
  if (name_ends == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_ends + 1));
  std::string field;
  constexpr int kBegin = 20;  // the twentieth field after the name
  for (int i = 0; i < kBegin; ++i) fields >> field;
  return std::strtoull(field.c_str(), nullptr, 10);
}

}  // namespace

Result<std::string> run_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const bool given = runtime != nullptr && runtime[0] == '/';
  const std::string folder = given ? std::string(runtime) + "/actorhost" : "/tmp/actorhost-" + std::to_string(getuid());
  if (socket_of(folder, kLargestPid).size() >= sizeof(sockaddr_un::sun_path)) {
    return Error{Code::io, "the path of the folder '" + folder +
                               "' is too long for control sockets, which have at most " +
                               std::to_string(sizeof(sockaddr_un::sun_path) - 1) +
                               " characters; set XDG_RUNTIME_DIR to a shorter one"};
  }
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{Code::io, "cannot make the folder '" + folder + "' of control sockets: " + std::strerror(errno)};
  }
  struct stat info {};
  if (lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != getuid() ||
      (info.st_mode & 077) != 0) {
    return Error{Code::refused, "'" + folder +
                                    "', the folder of control sockets, has to be a folder of yours that "
                                    "no other user may read; remove it, or chmod 700"};
  }
  return folder;
}

Result<std::string> own_token_path() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  const std::string configuration = variable("XDG_CONFIG_HOME");
  std::string home = variable("HOME");
  std::error_code error;
  if (!std::filesystem::is_directory(home, error)) home.clear();
  if (auto path = default_token_path(configuration, home)) return path;
  AH_LET(auto folder, run_folder());
  return folder + "/token";
}

std::string control_url(const std::string& folder, int pid) { return "ipc://" + socket_of(folder, pid); }

Status write_run_file(const RunFile& run) {
  AH_LET(auto folder, run_folder());
  const json text = {{"url", run.url},         {"meeting", run.meeting},       {"job", run.job},
                     {"id", run.id},           {"token_file", run.token_file}, {"insecure", run.insecure},
                     {"started", run.started}, {"begun", begin_of(run.pid)}};
  const std::string path = file_of(folder, run.pid);
  const std::string fresh = path + ".new";
  std::ofstream out(fresh);
  out << json_text(text) << "\n";
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
  AH_LET(auto folder, run_folder());
  std::vector<RunFile> runs;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const int pid = std::atoi(entry.path().stem().c_str());
    if (pid <= 0) continue;
    const uint64_t begun = begin_of(pid);
    std::ifstream in(file_of(folder, pid));
    const json text = parse_outside_json(std::string(std::istreambuf_iterator<char>(in), {}));
    const json written = text.is_object() ? text.value("begun", json(begun)) : json(begun);
    if (begun == 0 || written != begun) {
      remove_files(folder, pid);
      continue;
    }
    if (entry.path().extension() != ".json" || !text.is_object()) continue;
    const auto word = [&text](const char* name) {
      return text.contains(name) && text[name].is_string() ? text[name].get<std::string>() : "";
    };
    RunFile run{pid, word("url"), word("meeting"), word("job"), word("id"), word("token_file"), false, 0};
    if (text.contains("insecure") && text["insecure"].is_boolean()) run.insecure = text["insecure"].get<bool>();
    if (text.contains("started") && text["started"].is_number()) run.started = text["started"].get<double>();
    runs.push_back(std::move(run));
  }
  // Of a run's hosts on this machine the coordinator has a socket.
  std::sort(runs.begin(), runs.end(), [](const RunFile& a, const RunFile& b) {
    return std::tuple(a.meeting, !a.url.starts_with("ipc://")) < std::tuple(b.meeting, !b.url.starts_with("ipc://"));
  });
  const auto same = [](const RunFile& a, const RunFile& b) { return !a.meeting.empty() && a.meeting == b.meeting; };
  runs.erase(std::unique(runs.begin(), runs.end(), same), runs.end());
  std::sort(runs.begin(), runs.end(), [](const RunFile& a, const RunFile& b) { return a.started > b.started; });
  return runs;
}

}  // namespace actorhost
