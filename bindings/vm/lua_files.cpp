#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

#include "bindings/vm/lua_support.hpp"
#include "bindings/vm/standard_modules.hpp"
#include "host/data/file/atomic_file.hpp"

namespace actorhost {

namespace {

namespace fs = std::filesystem;

/// regular(path): the target of all links, if it is a regular file or does not exist yet; else nil.
int files_regular(lua_State* L) {
  const auto real = regular_file_behind(std::string(check_text(L, 1, "path", "regular")));
  if (!real) return 0;
  lua_pushstring(L, real->c_str());
  return 1;
}

/// writable(path): true when a file can be made or replaced there; else nil, message, code.
int files_writable(lua_State* L) {
  const fs::path path(std::string(check_text(L, 1, "path", "writable")));
  const bool there = access(path.c_str(), F_OK) == 0;
  const auto folder = regular_file_behind(path).value_or(fs::absolute(path)).parent_path();
  const bool regular = !there || fs::is_regular_file(path);
  if (fs::is_directory(path)) errno = EISDIR;
  if (!fs::is_directory(path) && access(regular ? folder.c_str() : path.c_str(), W_OK) == 0) {
    return push(L, true);
  }
  return push_failure(L, Error{Code::io, path.string() + " cannot be written: " + std::strerror(errno)});
}

/// replace(path, bytes): true once the file has these bytes; else nil, message, code, with the old content unchanged.
int files_replace(lua_State* L) {
  const std::string path(check_text(L, 1, "path", "replace"));
  const std::string_view bytes = check_text(L, 2, "bytes", "replace");
  auto file = AtomicFile::begin(path);
  if (!file) return push_failure(L, file.error());
  Status status = file->write(std::as_bytes(std::span(bytes)));
  if (status.ok()) status = file->commit();
  if (!status.ok()) return push_failure(L, status.error());
  return push(L, true);
}

/// make_directory(path): true; else nil, message, code.
int files_make_directory(lua_State* L) {
  const std::string path(check_text(L, 1, "path", "make_directory"));
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return push_failure(L, Error{Code::io, path + " cannot be made: " + error.message()});
  return push(L, true);
}

/// list(path): the names in a folder, subfolders with a slash behind; empty for an unreadable folder.
int files_list(lua_State* L) {
  const fs::path path(std::string(check_text(L, 1, "path", "list")));
  lua_newtable(L);
  std::error_code error;
  int count = 0;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    const std::string name = at->path().filename().string() + (at->is_directory(ignored) ? "/" : "");
    lua_pushlstring(L, name.data(), name.size());
    lua_rawseti(L, -2, ++count);
  }
  return 1;
}

}  // namespace

void open_files(Vm& vm) {
  static constexpr luaL_Reg kFunctions[] = {
      {"list", guarded<files_list>},
      {"replace", guarded<files_replace>},
      {"regular", guarded<files_regular>},
      {"writable", guarded<files_writable>},
      {"make_directory", guarded<files_make_directory>},
  };
  vm.register_module("actor.c.files", open_functions<kFunctions>);
}

}  // namespace actorhost
