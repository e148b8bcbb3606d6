#pragma once
// Decides what a `checkpoint` does with a folder that may exist: writes it, reads it, or refuses. The folder has the
// form of a save (save_folder.hpp); its parts are row files (row_file.hpp). Thread-safe; calls block on the disk.

#include <optional>
#include <string>

#include "host/mapreduce/files/save_folder.hpp"

namespace actorhost {

struct CheckpointOptions {
  bool overwrite = false;  // replaces an existing folder
  bool resume = false;     // reads an existing folder with the same rows
};

struct CheckpointStart {
  SaveFolder save;                        // the folder to write; with `ready`, the target and the id only
  std::optional<SaveFigures> ready = {};  // set when the folder is complete and is to be read
};

/// `fingerprint` identifies the rows; `id` is the id of begin_save. Code::bad_argument when the folder exists and
/// neither option allows its use; the message names the option that would.
inline Result<CheckpointStart> begin_checkpoint(const std::string& path, const std::string& fingerprint,
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
