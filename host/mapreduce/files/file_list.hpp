#pragma once
// Finds the files that an input names. Thread-safe; blocks on the disk.

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

struct InputFile {
  std::string path;
  uint64_t bytes = 0;       // the size on disk
  bool compressed = false;  // or of unknown size: one task reads the whole file
  bool stream = false;      // of unknown size: a pipe, a file of /proc
};

/// `path` is a file, a folder or a pattern (glob.hpp). A folder gives its direct files in order of names, except hidden
/// files and names that begin with "_". A pattern gives each matching file once, in order of paths. A choice of its
/// braces without wildcards must exist, and may be a folder. Code::bad_argument when nothing is found (except in a
/// folder that a save has made) or a file cannot be read.
Result<std::vector<InputFile>> find_input_files(const std::string& path);

}  // namespace actorhost
