#pragma once
// The trace of --record FILE.json: what every node of the run did when, in the trace-event format of chrome://tracing
// and Perfetto. One file, on the rendezvous host; a process of the trace for each of the run, a track for each node.
// The cluster's service thread uses it. Written as it comes, so a killed run leaves all but the last half second: the
// viewers do without the closing bracket.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/base/record_file.hpp"
#include "host/base/span_sink.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

class ChromeTrace {
 public:
  /// Later spans are left out, and the log says so.
  static constexpr size_t kMostSpans = 2'000'000;

  /// Errors as RecordFile's.
  static Result<std::unique_ptr<ChromeTrace>> open(const std::string& path, Log& log, double now);
  ~ChromeTrace();
  ChromeTrace(const ChromeTrace&) = delete;
  ChromeTrace& operator=(const ChromeTrace&) = delete;

  /// What node `name` of a process on `host` has done. The process has sent it at `sent` on its own clock, and it has
  /// come at `now`: by that its times are put on this clock.
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
  std::map<ProcessId, double> shifts_;  // from a process's clock to this one
  std::set<Address> named_;
};

}  // namespace actorhost
