#pragma once
// The trace of a run: the steps of each worker, one CSV row for each event (format: TRACE.md). With --record the rows
// go to a file; otherwise observers may request the newest rows while the run is in progress. The host of shard 0
// creates the trace before its nodes start. Afterwards only the thread of server 0 uses it, for one run's controller
// after another's, so it needs no lock; `report` is for any thread. Rows are collected and written together: at most
// kFlushSeconds after the oldest row, if `poll` is called by next_time().
//
// Times are points on the caller's clock. The file counts them from the start of the first run.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "host/base/clock.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/record_file.hpp"
#include "host/base/result.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

class ParamTrace : private NonCopyable {
 public:
  static constexpr double kFlushSeconds = 0.5;
  static constexpr size_t kFlushBytes = size_t{64} << 10;
  static constexpr size_t kReportedBytes = size_t{256} << 10;  // the newest rows in a report
  static constexpr double kPatience = 10;  // seconds for which a report makes the trace record further rows

  using Keys = std::vector<std::pair<std::string, std::string>>;

  /// `keys` are written as `# key=value` lines before the first run's own keys. Errors as in RecordFile. An empty path:
  /// no file.
  static Result<std::unique_ptr<ParamTrace>> open(const std::string& path, Keys keys, Log& log);
  ~ParamTrace();

  /// Whether rows are wanted: for the file, or since an observer has requested them within kPatience.
  bool wanted(double now) const noexcept { return file_ ? file_->open() : now < asked_ + kPatience; }
  bool has_file() const noexcept { return file_.has_value(); }
  /// The next run is the first one again, with the header. Only without a file.
  void restart();

  /// Begins the next run, with the run's own keys.
  void begin_run(const Keys& keys, double now);
  // `step` is the number of steps that the worker has completed.
  /// The worker is counted from now on, or no longer: it has failed or has no work.
  void join(NodeId id, uint64_t step, double now) { member("join,", id, step, now); }
  void leave(NodeId id, uint64_t step, double now) { member("leave,", id, step, now); }
  /// `compute` is the working time in seconds that the worker reports. It is clamped to 0 .. now - released. False if
  /// it was outside of that range or not a number.
  bool step(NodeId id, uint64_t step, double released, double compute, double now);
  /// The worker is in a step that it does not complete within the trace.
  void open_step(NodeId id, uint64_t step, double released, double now);
  /// Ends the run and writes all of its rows to the file.
  void stop(double now);

  /// Writes the rows if the oldest has waited kFlushSeconds.
  void poll(double now);
  double next_time() const noexcept { return buffer_.empty() ? kForever : oldest_ + kFlushSeconds; }
  void flush();

  /// Adds {"recording": {"file"} or {"from", "text"}}: the file, or the newest rows and the number of bytes before
  /// them. `from` is 0 while no row is left out. Any thread.
  void report(nlohmann::json& out, double now);

 private:
  ParamTrace(std::string path, Keys keys) : path_(std::move(path)), keys_(std::move(keys)) {}
  void put_keys(const Keys& keys, double now);
  /// The common part of all rows, up to and including TIME.
  void member(const char* event, NodeId id, uint64_t step, double now);
  void put(const char* event, double now);
  void put(const char* event, NodeId id, uint64_t step, double now);
  void put_number(uint64_t value);
  void put_seconds(double seconds);
  void put_point(double time) { put_seconds(time - origin_); }
  void end_row(double now);

  const std::string path_;
  std::optional<RecordFile> file_;
  Keys keys_;
  std::string buffer_;
  double oldest_ = 0;  // when the first row of buffer_ was added
  double origin_ = 0;
  uint64_t runs_ = 0;

  std::atomic<double> asked_ = -kForever;  // the newest request of an observer
  std::mutex mutex_;                       // guards the members below
  std::string newest_;                     // the newest rows for observers
  size_t before_ = 0;                      // bytes of earlier rows
};

}  // namespace actorhost
