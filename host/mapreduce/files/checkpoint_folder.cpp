#include "host/mapreduce/files/checkpoint_folder.hpp"

namespace actorhost {

namespace fs = std::filesystem;

Result<CheckpointStart> begin_checkpoint(const std::string& path, const std::string& fingerprint,
                                         const CheckpointOptions& options, const std::string& id) {
  AH_LET(const auto target, save_target(path));
  const auto refused = [&](const std::string& reason) {
    return Error{Code::bad_argument, target.string() + ": " + reason};
  };
  const auto mark = read_mark(target);
  const bool is_own = mark && mark->id == id;  // the same checkpoint, begun again: written as before
  const bool is_checkpoint = mark && !mark->fingerprint.empty() && !is_own;
  if (is_checkpoint && options.resume) {
    if (mark->fingerprint == fingerprint) {
      return CheckpointStart{{target, {}, mark->id, false, fingerprint}, mark->figures};
    }
    if (!options.overwrite) {
      return refused(
          "holds the checkpoint of another pipeline (other operations, functions, captured numbers or texts, "
          "broadcasts or input) and cannot be resumed from; overwrite = true replaces it");
    }
  }
  if (is_checkpoint && !options.overwrite) {
    return refused("holds a checkpoint; resume = true reads it if its rows are the same, overwrite = true replaces it");
  }
  AH_LET(auto save, begin_save(path, options.overwrite, id));
  save.fingerprint = fingerprint;
  return CheckpointStart{std::move(save)};
}

}  // namespace actorhost
