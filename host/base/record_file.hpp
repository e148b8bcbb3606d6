#pragma once
// The output file of --record, written in place from the start during a run. After a write error the log reports the
// error once and the recording ends; the run continues. Not thread-safe.

#include <string>
#include <string_view>
#include <utility>

#include "host/base/fd.hpp"
#include "host/base/log.hpp"
#include "host/base/result.hpp"

namespace actorhost {

class RecordFile {
 public:
  /// Truncates or creates the file. bad_argument with the path if the file cannot be written, or is a pipe or a socket,
  /// whose reader could block the run. The log outlives the file.
  static Result<RecordFile> open(const std::string& path, Log& log);

  /// False once the recording has ended.
  bool open() const noexcept { return file_.valid(); }
  void write(std::string_view bytes);

 private:
  RecordFile(std::string path, Fd file, Log& log) : path_(std::move(path)), file_(std::move(file)), log_(log) {}

  std::string path_;
  Fd file_;
  Log& log_;
};

}  // namespace actorhost
