#include "host/cluster/job.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "host/base/fd.hpp"

namespace actorhost {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxSource = size_t{16} << 20;  // bytes

/// Reads a source text. `streams`: also from pipes and devices, and waits for their writers.
Result<std::string> read_text(const std::string& path, bool streams) {
  const auto refused = [&path](const std::string& what) { return Error{Code::refused, "'" + path + "' " + what}; };
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | (streams ? 0 : O_NONBLOCK)));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) {
    return Error{Code::bad_argument, "cannot read '" + path + "': " + std::strerror(errno)};
  }
  if (S_ISDIR(info.st_mode)) return refused("is a folder, not a Lua file");
  if (!streams && !S_ISREG(info.st_mode)) return refused("is a pipe or a device, not a Lua file");
  std::string text(std::min(kMaxSource, S_ISREG(info.st_mode) ? static_cast<size_t>(info.st_size) : 0) + 1, '\0');
  size_t size = 0;
  for (;;) {
    const int error = transfer(text.data() + size, text.size() - size, [&](char* at, size_t left) {
      const ssize_t got = ::read(file.get(), at, left);
      if (got > 0) size += static_cast<size_t>(got);
      return got;
    });
    if (error == kNoMore) break;
    if (error != 0) return Error{Code::io, "reading '" + path + "' failed: " + std::strerror(error)};
    if (size > kMaxSource) return refused("has more than 16 MiB, the most that a Lua file may have");
    text.resize(std::min(2 * text.size(), kMaxSource + 1));  // the file has grown, or has no size
  }
  text.resize(size);
  return text;
}

/// Whether `name` is a module name: dotted identifiers that cannot leave the script's folder.
bool is_module_name(const std::string& name) {
  return !name.empty() && name.find("..") == std::string::npos && name.front() != '.' && name.back() != '.' &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; });
}

/// Whether `name` is a relative path without ".." and without a zero byte, which would end it for the system.
bool stays_below(const std::string& name) {
  const fs::path path(name);
  return !path.is_absolute() && name.find('\0') == std::string::npos &&
         std::find(path.begin(), path.end(), fs::path("..")) == path.end();
}

bool is_hidden(const fs::path& path) {
  return std::any_of(path.begin(), path.end(),
                     [](const fs::path& part) { return part.string().starts_with('.') && part != "."; });
}

}  // namespace

uint64_t source_hash(std::string_view text) {
  const uint64_t hash = XXH3_64bits(text.data(), text.size());
  return hash == 0 ? 1 : hash;
}

Status JobSource::open(const std::string& path) {
  auto text = read_text(path, true);
  if (!text) return Error{Code::bad_argument, text.error().message};
  text_ = std::move(*text);
  name_ = fs::path(path).filename().string();
  folder_ = fs::absolute(path).parent_path().string();
  return {};
}

void JobSource::receive(std::string name, std::string text, std::string folder) {
  if (!folder.empty()) folder_ = std::move(folder);
  name_ = std::move(name);
  text_ = std::move(text);
}

Result<SourceText> JobSource::find_here(const std::string& name) const {
  AH_LET(const auto place, place_of(name));
  AH_LET(auto text, read_text(place.path, false));
  return SourceText{std::move(text), place.chunk};
}

Result<SourceText> JobSource::find_to_send(const std::string& name) const {
  AH_LET(const auto place, place_of(name));
  if (!rule_files_.contains(name)) {
    std::error_code error;
    const fs::path file = fs::canonical(place.path, error);
    if (error) return find_here(name);  // its error names the reason
    const fs::path below = file.lexically_relative(fs::canonical(folder_, error));
    if (below.empty() || *below.begin() == "..") {
      return Error{
          Code::refused,
          "'" + name + "' is a link to outside of the script's folder, so it is not sent; copy the file there"};
    }
    if (is_hidden(place.chunk) || is_hidden(below)) {
      return Error{Code::refused, "'" + name + "' is a hidden file, so it is not sent"};
    }
  }
  return find_here(name);
}

Result<JobSource::Place> JobSource::place_of(const std::string& name) const {
  if (name.ends_with(".lua")) return place_of_file(name);
  if (!is_module_name(name)) return Error{Code::bad_argument, "'" + name + "' is not a module name"};
  if (folder_.empty()) return Error{Code::bad_argument, "module '" + name + "' is not on this machine"};
  std::string relative = name;
  std::replace(relative.begin(), relative.end(), '.', '/');
  std::string tried;
  for (const std::string& candidate : {relative + ".lua", relative + "/init.lua"}) {
    const fs::path path = fs::path(folder_) / candidate;
    std::error_code error;
    if (fs::exists(path, error)) return Place{path.string(), candidate};
    tried += "\n\tno file '" + path.string() + "'";
  }
  return Error{Code::bad_argument, "module '" + name + "' not found:" + tried};
}

Result<JobSource::Place> JobSource::place_of_file(const std::string& name) const {
  fs::path path(name);
  if (!rule_files_.contains(name)) {
    if (!stays_below(name)) return Error{Code::bad_argument, "'" + name + "' is not below the script's folder"};
    if (folder_.empty()) return Error{Code::bad_argument, "file '" + name + "' is not on this machine"};
    path = fs::path(folder_) / path;
  }
  return Place{path.string(), stays_below(name) ? name : path.filename().string()};
}

ModuleReply module_reply(const ModuleFind& find, const Result<SourceText>& found, const std::string& home, Blob& text) {
  if (!found) return {false, found.error().code, {}, "on the coordinator: " + found.error().message};
  if (find.hash != 0 && find.hash != source_hash(found->text)) {
    return {false, Code::refused, found->chunk,
            "module '" + find.name + "' on " + home +
                " differs from the coordinator's (compared by hash); copy the file, or remove it there and it will be "
                "sent"};
  }
  if (find.hash == 0) text = Blob::copy_of(found->text);
  ModuleReply reply;
  reply.chunk = found->chunk;
  return reply;
}

}  // namespace actorhost
