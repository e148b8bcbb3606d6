#include "bindings/modules/tool/call_watchdog.hpp"

#include <condition_variable>
#include <mutex>

#include "host/base/clock.hpp"
#include "tests/test.hpp"

namespace {

// A watchdog's reports, for a test that waits for them.
struct WatchdogReports {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> late, takes_long;

  CallWatchdog::Late on_late() {
    return [this](const std::string& message, bool still) {
      if (!still) note(late, message);
    };
  }
  CallWatchdog::Long on_long() {
    return [this](const std::string& call) { note(takes_long, call); };
  }
  void note(std::vector<std::string>& list, const std::string& text) {
    std::lock_guard lock(mutex);
    list.push_back(text);
    changed.notify_all();
  }
  std::string first(const std::vector<std::string>& list) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::seconds(20), [&] { return !list.empty(); });
    return list.empty() ? "" : list.front();
  }
};

}  // namespace

TEST_CASE("a callback that does not return is reported as slow, then as late with its limit") {
  WatchdogReports reports;
  CallWatchdog watchdog({10, 0.05, 0.02}, reports.on_late(), reports.on_long());
  watchdog.begin_call("schedule (job.lua:12)", true);
  CHECK(reports.first(reports.takes_long) == "schedule (job.lua:12)");
  CHECK(reports.first(reports.late) == "schedule (job.lua:12) did not return within 0.05 s (--callback-timeout)");
  CHECK(watchdog.message() == reports.late.front());
}

TEST_CASE("Lua without a limit is reported as slow but never as late, and each call once") {
  WatchdogReports reports;
  CallWatchdog watchdog({10, 0.02, 0.02}, reports.on_late(), reports.on_long());
  watchdog.begin_call("the script", false);
  CHECK(reports.first(reports.takes_long) == "the script");
  watchdog.end();
  watchdog.end();  // no call is in progress
  watchdog.begin_call("stop", true);
  CHECK_THAT(reports.first(reports.late), Catch::Contains("stop did not return"));
  std::lock_guard lock(reports.mutex);
  CHECK(reports.takes_long.size() <= 2);
  CHECK(reports.late.size() == 1);
}
