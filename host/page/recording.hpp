#pragma once
// States of a run in a file: one JSON object a line (JSONL), written while it runs and shown again by `actorhost
// dashboard --replay`. A line is written at once, so a file of a run that was killed can be read up to its end.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/base/record_file.hpp"
#include "host/base/result.hpp"
#include "host/page/looks.hpp"

namespace actorhost {

/// Writes a state each second, or as often as keeps the file below 64 KiB a second. A disk that is full ends it with a
/// warning; the run goes on.
class StateRecorder final : public Watcher {
 public:
  /// As `RecordFile::open`.
  static Result<std::unique_ptr<StateRecorder>> open(const std::string& path, Log& log);
  /// Writes the state after the run's end.
  void last(const StatePtr& state);
  double next_look() override;
  void seen(const StatePtr& state, double now) override;

 private:
  explicit StateRecorder(RecordFile file) : file_(std::move(file)) {}
  size_t write(const StatePtr& state);

  std::mutex mutex_;  // guards what follows
  RecordFile file_;
  StatePtr written_;
  double next_ = 0;
};

/// A recorded run. Opened once; any thread.
class Recording {
 public:
  /// Reads the file once, to know where each line begins. Code::io; Code::bad_data names the line that is no state. A
  /// last line that was not finished is left out.
  static Result<Recording> open(const std::string& path);
  size_t size() const noexcept { return times_.size(); }
  /// Seconds since the run's start at which each state was taken.
  const std::vector<double>& times() const noexcept { return times_; }
  const std::string& path() const noexcept { return path_; }
  /// The state with that number, from 0. Reads from the disk.
  Result<nlohmann::json> state(size_t number) const;

 private:
  std::string path_;
  std::vector<size_t> begins_;  // of each line, and the end of the last
  std::vector<double> times_;
};

}  // namespace actorhost
