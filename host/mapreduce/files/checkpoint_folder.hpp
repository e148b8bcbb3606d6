#pragma once
// Decides what a `checkpoint` does with a folder that may exist: writes it, reads it, or refuses. The folder has the
// form of a save (save_folder.hpp); its parts are row files (row_file.hpp). With `resume` the hidden folder of a save
// outlives a run that was killed or has failed, and a later run with the same parts continues in it. Thread-safe; calls
// block on the disk.

#include <optional>
#include <string>

#include "host/mapreduce/files/save_folder.hpp"

namespace actorhost {

struct CheckpointOptions {
  bool overwrite = false;  // replaces an existing folder
  bool resume = false;     // reads an existing folder with the same rows, or continues an unfinished folder
  std::string parts = {};  // identifies the rows and their division into parts, for an unfinished folder
};

struct CheckpointStart {
  SaveFolder save = {};                   // the folder to write; with `ready`, the target and the id only
  std::optional<SaveFigures> ready = {};  // set when the folder is complete and is to be read
  bool continues = false;                 // an earlier run has begun the folder
  std::filesystem::path other = {};       // an unfinished folder of other parts, which is left as it is
};

/// `fingerprint` identifies the rows; `id` is the id of begin_save. Code::bad_argument when the folder exists and
/// neither option allows its use; the message names the option that would.
Result<CheckpointStart> begin_checkpoint(const std::string& path, const std::string& fingerprint,
                                         const CheckpointOptions& options, const std::string& id);

}  // namespace actorhost
