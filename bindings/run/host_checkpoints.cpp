#include "bindings/run/host_checkpoints.hpp"

#include "host/data/file/atomic_dir.hpp"

namespace actorhost {

Status HostCheckpoints::load(Log& log) {
  if (!options_.resume || process_.resumed) return {};
  std::string directory = options_.resume->empty() ? options_.checkpoint : *options_.resume;
  if (directory.empty()) directory = "checkpoints";
  AH_LET(auto loaded, load_newest_checkpoint(directory, log));
  if (options_.checkpoint.empty()) options_.checkpoint = directory;
  if (!loaded) {
    AH_LET(const auto others, has_complete(directory));
    if (others) return {};
    return Error{Code::bad_argument, "--resume: there is no complete checkpoint in '" + directory + "'"};
  }
  process_.resumed = std::move(*loaded);
  log.info("", "resuming from the newest checkpoint in '" + directory + "' (" +
                   std::to_string(process_.resumed->state.updates) + " updates)");
  return {};
}

Status HostCheckpoints::test() {
  return options_.checkpoint.empty() ? Status() : usable(try_to_checkpoint(options_.checkpoint));
}

Status HostCheckpoints::lock() {
  if (options_.checkpoint.empty()) return {};
  return usable(process_.locks.take(options_.checkpoint, CheckpointFolder{}.prefix));
}

Status HostCheckpoints::usable(const Status& status) {
  unusable_ = !status.ok();
  if (status.ok()) return {};
  return Error{Code::refused, "--checkpoint: " + status.error().message};
}

}  // namespace actorhost
