#pragma once
// Expands patterns of file names. Thread-safe; blocks on the disk.

#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

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

}  // namespace actorhost
