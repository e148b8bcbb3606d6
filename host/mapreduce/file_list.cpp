#include "host/mapreduce/file_list.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include <glob.h>
#include <unistd.h>

#include "host/data/file_reader.hpp"
#include "host/data/files.hpp"

namespace actorhost {

namespace {

namespace fs = std::filesystem;

Result<std::vector<std::string>> files_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with('.') || name.starts_with('_') || entry.is_directory()) continue;
    paths.push_back(entry.path());
  }
  if (error) return Error{Code::bad_argument, folder + ": " + error.message()};
  if (paths.empty()) return Error{Code::bad_argument, folder + ": the folder has no files"};
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<std::vector<std::string>> globbed(const std::string& pattern) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  std::erase_if(paths, [](const std::string& path) { return fs::is_directory(path); });
  if ((status != 0 && status != GLOB_NOMATCH) || paths.empty()) {
    return Error{Code::bad_argument, pattern + ": no file matches"};
  }
  return paths;
}

Result<InputFile> looked_at(const std::string& path) {
  auto opened = open_for_reading(path);
  if (!opened) return Error{Code::bad_argument, opened.error().message};
  std::array<char, 16> start{};
  const ssize_t got = opened->regular ? ::pread(opened->fd.get(), start.data(), start.size(), 0) : 0;
  if (got < 0) return Error{Code::bad_argument, file_error(path, "cannot be read", errno).message};
  const bool packed = is_compressed({start.data(), static_cast<size_t>(got)});
  return InputFile{path, opened->size, packed || !opened->regular, !opened->regular};
}

}  // namespace

Result<std::vector<InputFile>> find_input_files(const std::string& path) {
  const auto named = [&]() -> Result<std::vector<std::string>> {
    if (fs::is_directory(path)) return files_in(path);
    if (!fs::exists(path) && path.find_first_of("*?[") != std::string::npos) return globbed(path);
    return std::vector<std::string>{path};
  };
  const auto paths = named();
  if (!paths) return paths.error();
  std::vector<InputFile> files;
  for (const std::string& one : *paths) {
    auto file = looked_at(one);
    if (!file) return file.error();
    files.push_back(std::move(*file));
  }
  return files;
}

}  // namespace actorhost
