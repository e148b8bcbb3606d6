#pragma once
// The lines typed in sessions of a prompt, one a line in a file that only its owner may read. Sessions that are open
// together each add their lines to it; whoever opens it when it has become long keeps the newest.

#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

class HistoryFile {
 public:
  /// Makes the file and its folder when they are not there. An empty path: nothing is kept.
  HistoryFile(std::string path, size_t most) : path_(std::move(path)), most_(most) {}

  /// The newest lines, oldest first.
  Result<std::vector<std::string>> load() const;
  Status add(const std::string& line) const;

 private:
  std::string path_;
  size_t most_;
};

}  // namespace actorhost
