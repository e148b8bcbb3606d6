#pragma once
// Dials other processes until one answers. Each call blocks its thread; several threads may dial at once. Thread-safe.

#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/log.hpp"
#include "host/cluster/run_view.hpp"
#include "host/net/stream_transport.hpp"

namespace actorhost {

class Dialler {
 public:
  Dialler(RunView& view, const Clock& clock, Log& log) : view_(view), clock_(clock), log_(log) {}

  /// Before the first dial.
  void use(StreamTransport* stream) noexcept { stream_ = stream; }
  /// Dials the urls in turn, from index `at` on, until one succeeds, `deadline` has passed or the run ends here; sets
  /// `at` to the last index. `process`: at the other end; kNoProcess if unknown. `once`: dials each url once. If there
  /// are several urls, a host that refuses may belong to another run, so the next url is tried.
  Result<LinkId> dial(ProcessId process, const std::vector<std::string>& urls, size_t& at, double deadline, bool once);

 private:
  RunView& view_;
  const Clock& clock_;
  Log& log_;
  StreamTransport* stream_ = nullptr;
};

inline constexpr double kRedial = 0.1;  // seconds between dials of another process

}  // namespace actorhost
