#include "host/mapreduce/files/file_list.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <unistd.h>

#include "host/data/file/file_reader.hpp"
#include "host/data/file/files.hpp"
#include "host/data/file/object_store.hpp"

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
  const bool is_saved = fs::exists(folder + "/_SUCCESS");  // a saved folder may have no rows
  if (paths.empty() && !is_saved) return Error{Code::bad_argument, folder + ": the folder has no files"};
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// The files of one choice of a pattern's braces. A plain name must exist; a pattern may match nothing.
Result<std::vector<std::string>> chosen(const std::string& path) {
  if (fs::is_directory(path)) return files_in(path);
  if (fs::exists(path) || !is_pattern(path)) return std::vector<std::string>{path};
  return glob_files(path);
}

Result<std::vector<std::string>> globbed(const std::string& pattern) {
  AH_LET(const auto choices, expand_braces(pattern));
  std::vector<std::string> paths;
  for (const std::string& choice : choices) {
    AH_LET(auto found, chosen(choice));
    paths.insert(paths.end(), found.begin(), found.end());
  }
  if (paths.empty()) return Error{Code::bad_argument, pattern + ": no file matches"};
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

Result<InputFile> inspect_file(const std::string& path) {
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
  if (is_object_url(path)) return find_input_objects(path);
  AH_LET(const auto paths, !fs::exists(path) && is_pattern(path) ? globbed(path) : chosen(path));
  std::vector<InputFile> files;
  for (const std::string& one : paths) {
    AH_LET(auto file, inspect_file(one));
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace actorhost
