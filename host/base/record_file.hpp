#pragma once
// A file that grows while a run goes on (--record). It is written in place, from the start. When it cannot be written
// any more the log says so once, and the recording ends, never the run. One thread.

#include <string>
#include <string_view>

#include "host/base/log.hpp"
#include "host/base/result.hpp"

namespace actorhost {

class RecordFile {
 public:
  /// Empties the file, or makes it. bad_argument with the path when it cannot be written, or is a pipe or socket, whose
  /// reader could hold the run up. The log outlives the file.
  static Result<RecordFile> open(const std::string& path, Log& log);
  ~RecordFile();
  RecordFile(RecordFile&& other) noexcept;
  RecordFile& operator=(RecordFile&&) = delete;

  /// False once the recording has ended.
  bool open() const noexcept { return file_ >= 0; }
  void write(std::string_view bytes);

 private:
  RecordFile(std::string path, int file, Log& log) : path_(std::move(path)), file_(file), log_(log) {}

  std::string path_;
  int file_;
  Log& log_;
};

}  // namespace actorhost
