#pragma once
// The trace of --record: the steps of each worker, one CSV row for each event (format: TRACE.md). The host of shard 0
// creates it before its nodes start. Afterwards only the thread of server 0 uses it, for one run's controller after
// another's, so it needs no lock. Rows are collected and written together: at most kFlushSeconds after the oldest row,
// if `poll` is called by next_time().
//
// Times are points on the caller's clock. The file counts them from the start of the first run.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

  using Keys = std::vector<std::pair<std::string, std::string>>;

  /// `keys` are written as `# key=value` lines before the first run's own keys. Errors as in RecordFile.
  static Result<std::unique_ptr<ParamTrace>> open(const std::string& path, Keys keys, Log& log);
  ~ParamTrace();

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

 private:
  ParamTrace(RecordFile file, Keys keys) : file_(std::move(file)), keys_(std::move(keys)) {}
  void put_keys(const Keys& keys, double now);
  /// The common part of all rows, up to and including TIME.
  void member(const char* event, NodeId id, uint64_t step, double now);
  void put(const char* event, double now);
  void put(const char* event, NodeId id, uint64_t step, double now);
  void put_number(uint64_t value);
  void put_seconds(double seconds);
  void put_point(double time) { put_seconds(time - origin_); }
  void end_row(double now);

  RecordFile file_;
  Keys keys_;
  std::string buffer_;
  double oldest_ = 0;  // when the first row of buffer_ was added
  double origin_ = 0;
  uint64_t runs_ = 0;
};

}  // namespace actorhost
