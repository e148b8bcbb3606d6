#pragma once
// Records the states of a run in a file, one JSON object in each line (JSONL), and reads such files for `actorhost
// dashboard --replay`. The recorder writes each line at once, so the file of a killed run is readable up to its end.
// Both classes are thread-safe and block on the disk.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/base/record_file.hpp"
#include "host/base/result.hpp"
#include "host/page/run_past.hpp"
#include "host/page/state_poller.hpp"

namespace actorhost {

/// Writes a state each second, or less often so that the file grows by at most 64 KiB a second. A full disk ends the
/// recording with a warning; the run continues.
class StateRecorder final : public Watcher {
 public:
  /// Opens the file, like `RecordFile::open`.
  static Result<std::unique_ptr<StateRecorder>> open(const std::string& path, Log& log);
  /// Writes the last state, after the run's end.
  void last(const StatePtr& state);
  double next_poll() override;
  std::vector<std::string> sections() override;
  void seen(const StatePtr& state, double now) override;

 private:
  explicit StateRecorder(RecordFile file) : file_(std::move(file)) {}
  size_t write(const StatePtr& state);

  std::mutex mutex_;  // guards the members below
  RecordFile file_;
  StatePtr written_;
  std::vector<std::string> sections_;
  double next_ = 0;
};

/// A recorded run, which does not change after `open`.
class Recording {
 public:
  /// Reads the file once to index its lines. Fails with Code::io, or with Code::bad_data that names a line without a
  /// state. Ignores an unfinished last line.
  static Result<Recording> open(const std::string& path);
  size_t size() const noexcept { return times_.size(); }
  /// The time of each state, in seconds since the run's start.
  const std::vector<double>& times() const noexcept { return times_; }
  const std::string& path() const noexcept { return path_; }
  /// The point of each state, for curves, and their lines.
  const std::vector<PastPoint>& points() const noexcept { return points_; }
  const PastReader& reader() const noexcept { return reader_; }
  /// Reads state `number`, from 0, from the disk.
  Result<nlohmann::json> state(size_t number) const;

 private:
  std::string path_;
  std::vector<size_t> begins_;  // offset of each line, and the end of the last
  std::vector<double> times_;
  std::vector<PastPoint> points_;
  PastReader reader_;
};

}  // namespace actorhost
