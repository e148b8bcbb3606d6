#pragma once
// Writes the trace of --record FILE.json: the spans of every node of the run, in the trace-event format of
// chrome://tracing and Perfetto. The coordinator writes one file, with a trace process for each process of the run and
// a track for each node. Used by the cluster's service thread alone. The file is flushed twice a second, so a killed
// run loses at most the last half second. Viewers accept a file without its closing bracket.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/base/record_file.hpp"
#include "host/base/span_sink.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

class ChromeTrace : private NonCopyable {
 public:
  /// Drops later spans, and logs a warning once.
  static constexpr size_t kMostSpans = 2'000'000;

  /// Fails as RecordFile does.
  static Result<std::unique_ptr<ChromeTrace>> open(const std::string& path, Log& log, double now);
  ~ChromeTrace();

  /// Adds the spans of node `name` of a process on `host`. The process sent them at `sent` on its own clock, and they
  /// arrived at `now`. The difference converts their times to this process's clock.
  void add(ProcessId process, const std::string& host, Address node, const std::string& name,
           const std::vector<TimeSpan>& spans, double sent, double now);

 private:
  ChromeTrace(RecordFile file, Log& log, double now);
  void put(const std::string& event);
  void flush(double now);

  RecordFile file_;
  Log& log_;
  const double begun_;
  double flushed_;
  std::string waiting_;
  size_t spans_ = 0;
  std::map<ProcessId, double> shifts_;  // from a process's clock to this clock
  std::set<Address> named_;
};

}  // namespace actorhost
