#pragma once
// Which files a pattern names. Any thread; blocks on the disk.

#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

/// What stands for each choice of a pattern's braces: "{a,b{1,2}}.txt" is a.txt, b1.txt, b2.txt. Braces without a
/// comma, without an end or behind a backslash are left as they are. Code::bad_argument for more than 10,000 choices.
Result<std::vector<std::string>> expand_braces(const std::string& pattern);

/// Whether a text has any of `*`, `?`, `[`, or braces with a choice.
bool is_pattern(const std::string& text);

/// The files, not folders, that match a pattern without braces: `*`, `?` and `[...]` within a name, `**` as a name for
/// any number of folders, none too (at the end: all files below). In no order, perhaps more than once. Names that begin
/// with `.` or `_` are matched by what begins that way only; `**` does not go through links to folders, so it comes to
/// an end. Code::bad_argument for a folder that cannot be read.
Result<std::vector<std::string>> glob_files(const std::string& pattern);

}  // namespace actorhost
