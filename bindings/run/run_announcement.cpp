#include "bindings/run/run_announcement.hpp"

#include <algorithm>
#include <cmath>

#include <unistd.h>

#include "bindings/run/cluster_config.hpp"
#include "host/base/clock.hpp"
#include "host/cluster/look/run_files.hpp"

namespace actorhost {

namespace {

constexpr double kUnseenSeconds = 0.1;  // a run that ends sooner is not announced

}  // namespace

RunAnnouncement::RunAnnouncement(Cluster& cluster, const RunOptions& options, Log& log, double now, bool silent)
    : cluster_(cluster), options_(options), log_(log), first_(now + kUnseenSeconds), silent_(silent) {}

bool RunAnnouncement::due(double now) const {
  if (!shown_) return now >= first_;
  const ProcessId coordinator = cluster_.coordinator();
  return coordinator != kNoProcess && coordinator != *shown_;
}

double RunAnnouncement::pause(double now, double most) const { return shown_ ? most : std::min(most, first_ - now); }

void RunAnnouncement::make(const std::string& job) {
  shown_ = cluster_.coordinator();
  if (silent_) return;
  const Status opened = open(job);
  if (opened) return;
  const std::string& why = opened.error().message;
  if (options_.must_be_found) return cluster_.stop({Code::refused, false, why, kNoAddress});
  log_.info("", "observers cannot find this run from here: " + why);
}

Status RunAnnouncement::open(const std::string& job) {
  const std::string meeting = cluster_.is_coordinator() ? cluster_.bound_url() : cluster_.url();
  RunFile run{getpid(),          meeting,
              meeting,           job,
              cluster_.run_id(), options_.token_file,
              options_.insecure, std::floor(wall_seconds())};
  if (cluster_.is_coordinator()) {
    AH_LET(auto folder, run_folder());
    AH_LET(auto token, options_.insecure ? Result<std::string>("") : load_token(options_, log_));
    run.url = control_url(folder, run.pid);
    AH_TRY(cluster_.open_control(run.url, token));
  }
  return write_run_file(run);
}

void RunAnnouncement::remove() {
  if (shown_) remove_run_file();
}

}  // namespace actorhost
