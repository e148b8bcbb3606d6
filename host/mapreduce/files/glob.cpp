#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>

#include <fnmatch.h>

#include "host/mapreduce/files/file_list.hpp"

namespace actorhost {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostChoices = 10'000;

using Views = std::vector<std::string_view>;

/// Returns the choices of the braces that begin at `begin`, and sets `end` to the position after them; none when the
/// braces offer no choice.
Views choices_at(std::string_view pattern, size_t begin, size_t& end) {
  Views choices;
  size_t from = begin + 1;
  int depth = 0;
  for (end = from; end < pattern.size(); ++end) {
    const char c = pattern[end];
    if (c == '\\') ++end;
    if (c == '{') ++depth;
    if ((c == ',' || c == '}') && depth == 0) {
      choices.push_back(pattern.substr(from, end - from));
      from = end + 1;
    }
    if (c == '}' && depth-- == 0) {
      ++end;
      return choices.size() > 1 ? choices : Views();
    }
  }
  return {};
}

/// Returns the choices of the first braces that offer any, and their range from `begin` to `end`.
Views first_choices(std::string_view pattern, size_t& begin, size_t& end) {
  for (begin = 0; begin < pattern.size(); ++begin) {
    if (pattern[begin] == '\\') {
      ++begin;
    } else if (pattern[begin] == '{') {
      Views choices = choices_at(pattern, begin, end);
      if (!choices.empty()) return choices;
    }
  }
  return {};
}

bool has_wildcard(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

Views names_of(std::string_view pattern) {
  Views names;
  while (!pattern.empty()) {
    const size_t at = std::min(pattern.find('/'), pattern.size());
    const std::string_view name = pattern.substr(0, at);
    if (!name.empty() && (name != "**" || names.empty() || names.back() != "**")) names.push_back(name);
    pattern.remove_prefix(std::min(at + 1, pattern.size()));
  }
  return names;
}

bool is_hidden(std::string_view name) { return name[0] == '.' || name[0] == '_'; }

/// Whether `name` matches one name of a pattern.
bool matches_name(std::string_view pattern, const std::string& name) {
  if (is_hidden(name) && name[0] != pattern[0]) return false;
  return ::fnmatch(std::string(pattern).c_str(), name.c_str(), 0) == 0;
}

/// Whether the names of a path match the names of a pattern, from the given positions on.
bool match(std::span<const std::string_view> pattern, std::span<const std::string_view> path) {
  if (pattern.empty() || path.empty()) return pattern.empty() && path.empty();
  if (pattern[0] != "**") {
    return matches_name(pattern[0], std::string(path[0])) && match(pattern.subspan(1), path.subspan(1));
  }
  if (pattern.size() == 1) return std::none_of(path.begin(), path.end(), is_hidden);
  return match(pattern.subspan(1), path) || (!is_hidden(path[0]) && match(pattern, path.subspan(1)));
}

/// Walks through folders; each level matches one name of the pattern.
class Walk {
 public:
  explicit Walk(const std::string& pattern) : names_(names_of(pattern)) {}

  Status from(const fs::path& folder, size_t i) {
    if (i == names_.size()) return {};
    const bool last = i + 1 == names_.size();
    if (names_[i] == "**") {
      if (!last) AH_TRY(from(folder, i + 1));
      return below(folder, i);
    }
    if (!has_wildcard(names_[i])) return found(folder / names_[i], i);
    return each_in(folder, [&](const fs::directory_entry& entry) -> Status {
      return matches_name(names_[i], entry.path().filename()) ? found(entry.path(), i) : Status();
    });
  }
  std::vector<std::string> take() { return std::move(files_); }

 private:
  /// Handles a path that matches name `i` of the pattern.
  Status found(const fs::path& path, size_t i) {
    std::error_code error;
    const bool is_folder = fs::is_directory(path, error);
    if (i + 1 < names_.size()) return is_folder ? from(path, i + 1) : Status();
    if (!is_folder && fs::exists(fs::symlink_status(path, error))) files_.push_back(path);
    return {};
  }

  /// Matches the rest of the pattern in a folder and in all folders below; all files when the pattern ends with `**`.
  Status below(const fs::path& folder, size_t i) {
    return each_in(folder, [&](const fs::directory_entry& entry) -> Status {
      const std::string name = entry.path().filename();
      if (is_hidden(name)) return {};
      std::error_code error;
      if (entry.is_directory(error)) return entry.is_symlink(error) ? Status() : from(entry.path(), i);
      if (i + 1 == names_.size()) files_.push_back(entry.path());
      return {};
    });
  }

  template <typename Visit>
  Status each_in(const fs::path& folder, const Visit& visit) {
    std::error_code error;
    fs::directory_iterator entries(folder.empty() ? "." : folder, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      const fs::directory_entry& entry = *entries;
      AH_TRY(visit(folder.empty() ? fs::directory_entry(entry.path().filename()) : entry));
    }
    if (error) return Error{Code::bad_argument, folder.string() + ": " + error.message()};
    return {};
  }

  Views names_;
  std::vector<std::string> files_;
};

}  // namespace

Result<std::vector<std::string>> expand_braces(const std::string& pattern) {
  std::vector<std::string> done;
  std::vector<std::string> open = {pattern};
  while (!open.empty()) {
    const std::string text = std::move(open.back());
    open.pop_back();
    size_t begin = 0;
    size_t end = 0;
    const Views choices = first_choices(text, begin, end);
    for (auto choice = choices.rbegin(); choice != choices.rend(); ++choice) {
      open.push_back(text.substr(0, begin) + std::string(*choice) + text.substr(end));
    }
    if (choices.empty()) done.push_back(text);
    if (done.size() + open.size() > kMostChoices) {
      return Error{Code::bad_argument, pattern + ": the braces expand to more than 10000 names"};
    }
  }
  return done;
}

bool is_pattern(const std::string& text) {
  size_t begin = 0;
  size_t end = 0;
  return has_wildcard(text) || !first_choices(text, begin, end).empty();
}

bool matches_pattern(std::string_view pattern, std::string_view path) {
  return match(names_of(pattern), names_of(path));
}

std::string_view literal_start(std::string_view pattern) noexcept {
  return pattern.substr(0, pattern.find_first_of("*?[\\"));
}

Result<std::vector<std::string>> glob_files(const std::string& pattern) {
  Walk walk(pattern);
  AH_TRY(walk.from(pattern.starts_with('/') ? "/" : "", 0));
  return walk.take();
}

}  // namespace actorhost
