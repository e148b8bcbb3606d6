#include "bindings/modules/array/file_fetch.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "bindings/modules/array/lua_data.hpp"
#include "host/data/content/idx.hpp"
#include "host/data/file/download.hpp"
#include "host/data/file/url_source.hpp"

namespace actorhost {

namespace fs = std::filesystem;

namespace {

const char kCache = 0;                         // registry key, by address
constexpr const char* kMnistFolder = "mnist";  // in the cache of fetched files

}  // namespace

DataCache& cache_of(lua_State* L) {
  lua_pushlightuserdata(L, const_cast<char*>(&kCache));
  lua_rawget(L, LUA_REGISTRYINDEX);
  auto* cache = static_cast<DataCache*>(lua_touserdata(L, -1));
  lua_pop(L, 1);
  return *cache;
}

void share_data(Vm& vm, DataCache& cache) {
  lua_State* L = vm.state();
  lua_pushlightuserdata(L, const_cast<char*>(&kCache));
  lua_pushlightuserdata(L, &cache);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

void raise_file_error(lua_State* L, Error error) {
  if (error.code == Code::io) error.code = Code::script;
  raise_error(L, error);
}

HttpOptions options_until_stop(lua_State* L) {
  HttpOptions options;
  options.check = [&vm = Vm::from(L)]() -> Status {
    if (vm.stop_requested()) return Error{Code::interrupted, "interrupted: the run is stopping"};
    return {};
  };
  return options;
}

/// find_mnist() -> directory; or nil, the folders of the search as text, and whether this node is to report it.
/// Searches $ACTORHOST_MNIST; else shared/data/mnist beside the current directory and the executable, and beside the
/// next directories above them; then the cache of fetched files.
int find_mnist(lua_State* L) {
  constexpr int kLevels = 5;
  if (const char* given = std::getenv("ACTORHOST_MNIST"); given != nullptr && *given != 0) return push(L, given);
  std::error_code error;
  std::string searched = "shared/data/mnist beside or above";
  const char* between = " ";
  for (const fs::path& start : {fs::current_path(error), fs::read_symlink("/proc/self/exe", error).parent_path()}) {
    searched += std::exchange(between, " and ") + start.string();
    fs::path dir = start;
    for (int level = 0; level < kLevels && dir.has_relative_path(); ++level) {
      dir = dir.parent_path();
      const fs::path candidate = dir / "shared" / "data" / "mnist";
      if (!has_mnist(candidate)) continue;
      const std::string shown = fs::proximate(candidate, error).string();
      return push(L, shown);
    }
  }
  if (const auto cache = cache_folder()) {
    const fs::path fetched = *cache / kMnistFolder;
    if (has_mnist(fetched)) return push(L, fetched.string());
    searched += ", and in " + fetched.string();
  }
  lua_pushnil(L);
  lua_pushlstring(L, searched.data(), searched.size());
  lua_pushboolean(L, cache_of(L).reports_missing() ? 1 : 0);
  return 3;
}

/// fetch(url, sha256 or "", unpacked, is_mnist, seconds, ca_file or "", report) -> path; or nil, message. Calls
/// report(done, size or nil, waits for another process) about ten times per second. Raises at a stop.
int fetch_file(lua_State* L) {
  constexpr int kReport = 7;
  const char* function = "data.fetch";
  DownloadRequest request;
  request.url = check_text(L, 1, "url", function);
  request.sha256 = check_text(L, 2, "sha256", function);
  request.of_unpacked = check_boolean(L, 3, "unpacked", function);
  if (check_boolean(L, 4, "mnist", function)) request.folder = kMnistFolder;
  HttpOptions options = options_until_stop(L);
  options.seconds = check_number(L, 5, "timeout", function);
  options.ca_file = check_text(L, 6, "ca_file", function);
  const RemoteOptions scope(std::move(options));
  auto begun = Download::begin(std::move(request));
  if (!begun) return push_failure(L, begun.error());
  Download& download = **begun;
  for (;;) {
    const auto is_complete = download.step();
    if (!is_complete && is_complete.error().code == Code::interrupted) raise_error(L, is_complete.error());
    if (!is_complete) return push_failure(L, is_complete.error());
    if (*is_complete) return push(L, download.path().string());
    lua_pushvalue(L, kReport);
    lua_pushnumber(L, static_cast<lua_Number>(download.done()));
    if (const auto size = download.size()) {
      lua_pushnumber(L, static_cast<lua_Number>(*size));
    } else {
      lua_pushnil(L);
    }
    lua_pushboolean(L, download.is_waiting() ? 1 : 0);
    if (const Status reported = Vm::from(L).call(L, 3, 0); !reported) raise_error(L, reported.error());
  }
}

}  // namespace actorhost
