#pragma once
// What becomes of a `checkpoint` into a folder that may exist: written, read as it is, or refused. The folder itself is
// as that of a save (save_folder.hpp), its parts are row files (row_file.hpp). Any thread; calls block on the disk.

#include <optional>
#include <string>

#include "host/mapreduce/files/save_folder.hpp"

namespace actorhost {

struct CheckpointOptions {
  bool overwrite = false;  // a folder that exists is replaced
  bool resume = false;     // one that holds the same rows is read
};

struct CheckpointStart {
  SaveFolder save;                        // to be written; with `ready`, the target and the id only
  std::optional<SaveFigures> ready = {};  // it is there, and is to be read
};

/// `fingerprint` says what rows those are, `id` is as begin_save has it. Code::bad_argument when the folder exists and
/// neither option covers what is there, with what would.
Result<CheckpointStart> begin_checkpoint(const std::string& path, const std::string& fingerprint,
                                         const CheckpointOptions& options, const std::string& id);

}  // namespace actorhost
