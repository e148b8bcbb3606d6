#pragma once
// Which files an input names. Any thread; blocks on the disk.

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

struct InputFile {
  std::string path;
  uint64_t bytes = 0;       // as they lie on disk
  bool compressed = false;  // or without a size: to be read whole, by one task
  bool stream = false;      // without a size: a pipe, a file of /proc
};

/// A file, the files right in a folder (but for hidden ones and those that begin with "_", in order of names), or those
/// that a pattern (glob.hpp) finds, in order of paths, each once: of the choices of its braces a plain name has to be
/// there, and may be a folder. Code::bad_argument when there is nothing (but for a folder that a save has made), or one
/// cannot be read.
Result<std::vector<InputFile>> find_input_files(const std::string& path);

}  // namespace actorhost
