#pragma once
// The trace of --record: what each worker did when, one CSV row an event (TRACE.md has the format). Made by the host
// that runs shard 0, before any of its nodes; from then on only the thread of server 0 uses it, one run's coordinator
// after the other, so there is nothing to lock. Rows are collected and written in one go: at the latest kFlushSeconds
// after the oldest of them, if `poll` is called by then, which is what next_time() is for.
//
// Times are points on the caller's clock; in the file they count from the first run's beginning.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/record_file.hpp"
#include "host/base/result.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

class ParamTrace {
 public:
  static constexpr double kFlushSeconds = 0.5;
  static constexpr size_t kFlushBytes = size_t{64} << 10;

  using Keys = std::vector<std::pair<std::string, std::string>>;

  /// `keys` are written as `# key=value` lines before the first run's own. Errors as RecordFile's.
  static Result<std::unique_ptr<ParamTrace>> open(const std::string& path, Keys keys, Log& log);
  ~ParamTrace();
  ParamTrace(const ParamTrace&) = delete;
  ParamTrace& operator=(const ParamTrace&) = delete;

  /// The next run begins, with the keys that are its own.
  void begin_run(const Keys& keys, double now);
  // `step` is the number of steps that the worker has completed.
  /// It is counted from now on, or no longer: lost, or without work.
  void join(NodeId id, uint64_t step, double now) { member("join,", id, step, now); }
  void leave(NodeId id, uint64_t step, double now) { member("leave,", id, step, now); }
  /// `compute`: seconds that the worker says it worked. Kept within 0 .. now - released; false when it was no such
  /// time.
  bool step(NodeId id, uint64_t step, double released, double compute, double now);
  /// It is in a step that it will not complete within the trace.
  void open_step(NodeId id, uint64_t step, double released, double now);
  /// The run stops: it is whole in the file then.
  void stop(double now);

  /// Writes what has been waiting for long enough.
  void poll(double now);
  double next_time() const noexcept { return buffer_.empty() ? kForever : oldest_ + kFlushSeconds; }
  void flush();

 private:
  ParamTrace(RecordFile file, Keys keys) : file_(std::move(file)), keys_(std::move(keys)) {}
  void put_keys(const Keys& keys, double now);
  /// The part that all rows have, up to and with TIME.
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
