#pragma once
// Standard output and error of a process whose nodes are threads: whole lines, one writer at a time, flushed line by
// line so that another process's lines do not land in the middle. Any thread.

#include <mutex>
#include <string_view>

namespace actorhost {

class Console {
 public:
  void out(std::string_view line);
  void err(std::string_view line);

 private:
  std::mutex mutex_;
};

}  // namespace actorhost
