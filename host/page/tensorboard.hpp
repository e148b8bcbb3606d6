#pragma once
// Records the series of a run for TensorBoard: files of events, each a scalar with its tag, step and time. A node is a
// "run" of TensorBoard, so that the page draws the same series of several nodes in one chart:
//
//   DIR/JOB-20261130-093127/worker 0/events.out.tfevents.1796031087.HOST.PID
//
//   file   = record...     the first record has the version, each further record one scalar
//   record = length:u64 mask(crc(length)):u32 event mask(crc(event)):u32    little-endian; crc is CRC-32C
//   event  = a message of Protocol Buffers: wall_time double = 1, step int64 = 2, file_version string = 3,
//            summary = 5 { value = 1 { tag string = 1, simple_value float = 2 } }
//
// Sources: tensorflow/core/util/event.proto, tensorflow/core/framework/summary.proto and tensorflow/core/lib/io/
// record_writer.cc of TensorFlow; RFC 3720, appendix B.4 for CRC-32C.

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "host/base/record_file.hpp"
#include "host/base/result.hpp"
#include "host/page/state_poller.hpp"

namespace actorhost {

/// The record of one event: `fields` is its message. For the recorder and its test.
std::string event_record(std::string_view fields);

/// Each second writes the points of `actor.report` that are new in the state, and of each worker with steps the scalars
/// "actorhost/step" and "actorhost/steps behind" (the foremost live worker), with the run's whole seconds as their
/// step. A point without a finite number is left out, and so are the nodes beyond kMostNodes, with a warning. The
/// files of a killed run are readable up to their ends. A full disk ends a file with an error in the log; the run
/// continues. Thread-safe; blocks on the disk.
class EventRecorder final : public Watcher {
 public:
  static constexpr size_t kMostNodes = 128;  // each has an open file

  /// Makes a new folder for the run in `folder`, which is made too. Code::bad_argument names the flag and the folder.
  static Result<std::unique_ptr<EventRecorder>> open(const std::string& folder, const std::string& job, Log& log);
  /// Writes the points of the last state, after the run's end.
  void last(const StatePtr& state);
  double next_poll() override;
  std::vector<std::string> sections() override { return {"series"}; }
  void seen(const StatePtr& state, double now) override;

 private:
  struct NodeFile {
    RecordFile file;
    std::map<std::string, std::pair<double, double>> newest;  // by series: time and step of the last written point
  };
  EventRecorder(std::string folder, Log& log) : folder_(std::move(folder)), log_(log) {}
  void write(const nlohmann::json& state);
  void write_series(const nlohmann::json& state);
  void write_steps(const nlohmann::json& state);
  void write_scalar(const std::string& node, const std::string& tag, double t, double step, double value);
  NodeFile* file_of(const std::string& node);

  const std::string folder_;
  Log& log_;
  std::mutex mutex_;                       // guards the members below
  std::map<std::string, NodeFile> files_;  // by node
  std::set<std::string> left_out_;         // nodes without a file
  double begun_ = 0;                       // wall-clock time of the run's start
  double next_ = 0;
};

}  // namespace actorhost
