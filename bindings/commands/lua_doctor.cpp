// actor.c.doctor: the facts about this machine for `actorhost doctor`, one per function. scripts/doctor.lua judges
// them.

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include <dlfcn.h>
#include <lua.hpp>
#include <netdb.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "bindings/commands/lua_command.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/base/allowance.hpp"
#include "host/base/outside_json.hpp"
#include "host/cluster/look/run_files.hpp"
#include "host/cluster/place/endpoint.hpp"
#include "host/cluster/place/rank_detect.hpp"
#include "host/kernel/kernels.hpp"
#include "host/net/token_file.hpp"

namespace actorhost {

namespace {

namespace fs = std::filesystem;

int push_errno(lua_State* L) { return push_failure(L, {Code::io, std::strerror(errno)}); }

std::string compiler() {
#ifdef __clang__
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

// built() -> { compiler=, libraries=, host=, user=, port= }
int doctor_built(lua_State* L) {
  lua_createtable(L, 0, 5);
  set_field(L, "compiler", compiler());
  set_field(L, "libraries", ACTORHOST_BUILT_WITH);
  set_field(L, "host", current_hostname());
  set_field(L, "user", geteuid());
  set_field(L, "port", kDefaultRendezvousPort);
  return 1;
}

// kernels() -> the set in use, the sets supported by this machine
int doctor_kernels(lua_State* L) {
  lua_pushstring(L, kernel::kernels().isa);
  std::string all;
  for (const auto isa : {kernel::Isa::sse2, kernel::Isa::v3, kernel::Isa::v4}) {
    const kernel::Kernels* table = kernel::kernels_for(isa);
    if (table != nullptr) all += (all.empty() ? "" : " ") + std::string(table->isa);
  }
  push(L, all);
  return 2;
}

// allowance() -> { cores=, machine_cores=, cores_limit=, memory=, machine_memory=, memory_limit= }: the resources
// available to a run on this machine, and their limits' sources (nil: no limit)
int doctor_allowance(lua_State* L) {
  Allowance allowance = own_allowance();
  const auto placement = detect_placement({}, current_environment(), current_hostname());
  if (placement && placement->cores) allowance.limit_cores(*placement->cores, placement->cores_source);
  lua_createtable(L, 0, 6);
  set_field(L, "cores", allowance.cores);
  set_field(L, "machine_cores", allowance.machine_cores);
  if (!allowance.cores_limit.empty()) set_field(L, "cores_limit", allowance.cores_limit);
  set_field(L, "memory", allowance.memory);
  set_field(L, "machine_memory", allowance.machine_memory);
  if (!allowance.memory_limit.empty()) set_field(L, "memory_limit", allowance.memory_limit);
  return 1;
}

// limit(name) -> soft, hard; infinite without a limit
int doctor_limit(lua_State* L) {
  const std::string_view name = check_text(L, 1, "name", "doctor.limit");
  const auto resource = name == "files" ? RLIMIT_NOFILE : name == "processes" ? RLIMIT_NPROC : RLIMIT_AS;
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return push_errno(L);
  for (const rlim_t value : {limit.rlim_cur, limit.rlim_max}) {
    lua_pushnumber(L, value == RLIM_INFINITY ? std::numeric_limits<double>::infinity() : static_cast<double>(value));
  }
  return 2;
}

// placement() -> this process's place according to environment variables, the coordinator's host (or nil); or nil,
// message
int doctor_placement(lua_State* L) {
  const auto placement = detect_placement({}, current_environment(), current_hostname());
  if (!placement) return push_failure(L, placement.error());
  push(L, describe(*placement));
  const auto endpoint = parse_endpoint(placement->endpoint);
  if (!endpoint || endpoint->host.empty()) return 1;
  push(L, endpoint->host);
  return 2;
}

// has_address(name) -> true; or nil, why this machine cannot resolve the name
int doctor_has_address(lua_State* L) {
  addrinfo* found = nullptr;
  const int failed =
      getaddrinfo(std::string(check_text(L, 1, "name", "doctor.has_address")).c_str(), nullptr, nullptr, &found);
  if (failed != 0) return push_failure(L, {Code::unreachable, gai_strerror(failed)});
  freeaddrinfo(found);
  return push(L, true);
}

// token_path() -> the default path of the token; or nil, message
int doctor_token_path(lua_State* L) {
  const auto path = own_token_path();
  if (!path) return push_failure(L, path.error());
  return push(L, *path);
}

// token_works(path) -> true; or nil, message
int doctor_token_works(lua_State* L) {
  const auto token = read_token(std::string(check_text(L, 1, "path", "doctor.token_works")));
  if (!token) return push_failure(L, token.error());
  return push(L, true);
}

// file(path) -> { mode=, owner=, age=, folder= }; or nil, message for a missing file
int doctor_file(lua_State* L) {
  struct stat info {};
  if (stat(std::string(check_text(L, 1, "path", "doctor.file")).c_str(), &info) != 0) return push_errno(L);
  lua_createtable(L, 0, 4);
  char mode[8];
  std::snprintf(mode, sizeof mode, "%04o", info.st_mode & 07777U);
  set_field(L, "mode", mode);
  set_field(L, "owner", info.st_uid);
  set_field(L, "age", time(nullptr) - info.st_mtime);
  set_field(L, "folder", S_ISDIR(info.st_mode));
  return 1;
}

/// "socket:[NUMBER]" of each socket that listens at the port.
std::set<std::string> listeners_at(uint16_t port) {
  std::set<std::string> out;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string number, local, remote, state, queues, timer, retransmitted, user, timeout, inode;
      words >> number >> local >> remote >> state >> queues >> timer >> retransmitted >> user >> timeout >> inode;
      const size_t colon = local.rfind(':');
      if (state != "0A" || colon == std::string::npos) continue;
      if (std::strtoul(local.c_str() + colon + 1, nullptr, 16) == port) out.insert("socket:[" + inode + "]");
    }
  }
  return out;
}

/// "process 12 (nginx)", the owner of one of the sockets; empty if this user cannot see it.
std::string owner_of(const std::set<std::string>& sockets) {
  std::error_code failed;
  for (const auto& process : fs::directory_iterator("/proc", failed)) {
    if (process.path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    for (const auto& file : fs::directory_iterator(process.path() / "fd", failed)) {
      if (!sockets.contains(fs::read_symlink(file.path(), failed).string())) continue;
      std::string name;
      std::getline(std::ifstream(process.path() / "comm"), name);
      return "process " + process.path().filename().string() + " (" + name + ")";
    }
  }
  return {};
}

// port(number) -> true; or nil, why it cannot be listened on, its owner (or nil)
int doctor_port(lua_State* L) {
  const auto port = static_cast<uint16_t>(check_integer(L, 1, "number", "doctor.port", 1, 65535));
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  const bool free = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                    bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const std::string why = free ? "" : std::strerror(errno);
  if (fd >= 0) ::close(fd);
  if (free) {
    return push(L, true);
  }
  lua_pushnil(L);
  push(L, why);
  const std::string owner = owner_of(listeners_at(port));
  if (owner.empty()) return 2;
  push(L, owner);
  return 3;
}

// loads(library) -> whether the program could load the library on first use
int doctor_loads(lua_State* L) {
  void* const library = dlopen(std::string(check_text(L, 1, "library", "doctor.loads")).c_str(), RTLD_LAZY);
  return push(L, library != nullptr);
}

// run_folder() -> the folder of control sockets, which is made if it is missing; or nil, message
int doctor_run_folder(lua_State* L) {
  const auto folder = run_folder();
  if (!folder) return push_failure(L, folder.error());
  return push(L, *folder);
}

// free_bytes(folder) -> bytes that this user may still write there; or nil, message
int doctor_free_bytes(lua_State* L) {
  const std::string folder(check_text(L, 1, "folder", "doctor.free_bytes"));
  struct statvfs info {};
  if (statvfs(folder.c_str(), &info) != 0 || access(folder.c_str(), W_OK | X_OK) != 0) return push_errno(L);
  return push(L, static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize));
}

// clock() -> resolution of the steady clock in seconds, seconds since 1970
int doctor_clock(lua_State* L) {
  timespec resolution{};
  clock_getres(CLOCK_MONOTONIC, &resolution);
  lua_pushnumber(L, static_cast<double>(resolution.tv_sec) + static_cast<double>(resolution.tv_nsec) * 1e-9);
  lua_pushnumber(L, static_cast<double>(time(nullptr)));
  return 2;
}

// quoted(text) -> the text as JSON
int doctor_quoted(lua_State* L) {
  const nlohmann::json text = std::string(check_text(L, 1, "text", "doctor.quoted"));
  return push(L, json_text(text));
}

}  // namespace

void open_doctor(Vm& vm) {
  static constexpr luaL_Reg kFunctions[] = {
      {"built", guarded<doctor_built>},
      {"kernels", guarded<doctor_kernels>},
      {"allowance", guarded<doctor_allowance>},
      {"limit", guarded<doctor_limit>},
      {"placement", guarded<doctor_placement>},
      {"has_address", guarded<doctor_has_address>},
      {"token_path", guarded<doctor_token_path>},
      {"token_works", guarded<doctor_token_works>},
      {"file", guarded<doctor_file>},
      {"port", guarded<doctor_port>},
      {"loads", guarded<doctor_loads>},
      {"free_bytes", guarded<doctor_free_bytes>},
      {"clock", guarded<doctor_clock>},
      {"quoted", guarded<doctor_quoted>},
      {"run_folder", guarded<doctor_run_folder>},
  };
  vm.register_module("actor.c.doctor", open_functions<kFunctions>);
}

}  // namespace actorhost
