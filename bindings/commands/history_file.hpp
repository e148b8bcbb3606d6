#pragma once
// The input lines of prompt sessions, stored one per line in a file that only its owner may read. Concurrent sessions
// append to the same file. A session that opens a long file truncates it to the newest lines.

#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

class HistoryFile {
 public:
  /// Makes a missing file and its folder on first use. An empty path stores nothing.
  HistoryFile(std::string path, size_t most) : path_(std::move(path)), most_(most) {}

  /// The newest lines, oldest first.
  Result<std::vector<std::string>> load() const;
  Status add(const std::string& line) const;

 private:
  std::string path_;
  size_t most_;
};

}  // namespace actorhost
