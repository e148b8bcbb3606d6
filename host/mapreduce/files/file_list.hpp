#pragma once
// Finds the files that an input names, by paths or patterns. Thread-safe; blocks on the disk.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

struct InputFile {
  std::string path;
  uint64_t bytes = 0;       // the size on disk
  bool compressed = false;  // or of unknown size: one task reads the whole file
  bool stream = false;      // of unknown size: a pipe, a file of /proc
};

/// `path` is a file, a folder or a pattern, on a disk or below s3://BUCKET/ (object_list.cpp) (glob_files). A folder
/// gives its direct files in order of names, except hidden files and names that begin with "_". A pattern gives each
/// matching file once, in order of paths. If a choice of its braces has no wildcards, the path must exist, and may be a
/// folder. Code::bad_argument when nothing is found (except in a folder that a save has made) or a file cannot be read.
Result<std::vector<InputFile>> find_input_files(const std::string& path);

// ---- patterns: glob.cpp ----

/// Expands the braces of a pattern: "{a,b{1,2}}.txt" gives a.txt, b1.txt, b2.txt. Braces without a comma, without an
/// end or after a backslash stay as they are. Code::bad_argument for more than 10,000 choices.
Result<std::vector<std::string>> expand_braces(const std::string& pattern);

/// Whether a text contains any of `*`, `?`, `[`, or braces with a choice.
bool is_pattern(const std::string& text);

/// Returns the files, not folders, that match a pattern without braces: `*`, `?` and `[...]` match within a name; `**`
/// as a name matches any number of folders, also none (at the end: all files below). The result has no order and may
/// have duplicates. Names that begin with `.` or `_` match only patterns that begin with the same character. `**` does
/// not follow links to folders, so the search is finite. Code::bad_argument for an unreadable folder.
Result<std::vector<std::string>> glob_files(const std::string& pattern);

/// Whether a path matches a pattern without braces, by the rules of glob_files.
bool matches_pattern(std::string_view pattern, std::string_view path);

/// The bytes of a pattern before its first wildcard or backslash.
std::string_view literal_start(std::string_view pattern) noexcept;

// ---- object storage: object_list.cpp ----

/// find_input_files of an s3:// URL. Blocks on the network.
Result<std::vector<InputFile>> find_input_objects(const std::string& url);

}  // namespace actorhost
