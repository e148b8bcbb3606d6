#pragma once
// The folder of a `save` or a `checkpoint`: it appears complete or not at all. Parts are written into a hidden folder
// beside the target. A commit links the final parts into a folder of its own, which gets the target's name in one step,
// so a kill at any moment leaves the old folder or the new folder. After a worker has failed, another worker may run
// the same steps again: `begin_save` gives the same result, also when the folder is complete by then; each attempt at a
// part has a unique name; and a second commit changes nothing. A suspected worker that still runs is harmless, since it
// writes under its own names. Thread-safe; calls block on the disk, which all hosts must share.
//
//   TARGET                  the final folder: part-00000[.csv|.jsonl][.gz|...], ..., _SUCCESS
//   .NAME.saving-ID         beside it, during the save; in it attempts, .part-00000-RANDOM, and .unfinished of a
//                           checkpoint that can be resumed (checkpoint_folder.hpp)
//   .NAME.saving-ID-RANDOM  of a worker that commits
// An s3:// target: object_save.hpp.
//
//   _SUCCESS                {"id": ID, "files": n, "rows": n, "bytes": n[, "checkpoint": FINGERPRINT]}

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

struct SaveFolder {
  std::filesystem::path target;
  std::filesystem::path staging;
  std::string id;  // unique to this save
  bool overwrite = false;
  std::string fingerprint = {};  // identifies the rows of a checkpoint; empty for other saves
  bool resume = false;           // complete attempts of an earlier run count
};

/// A complete attempt at a part.
struct SavedPart {
  std::string name;  // in the hidden folder; empty when the save was complete before the attempt
  uint64_t rows = 0;
  uint64_t bytes = 0;
};

struct SaveFigures {
  uint64_t files = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;
};

/// The contents of _SUCCESS in a complete folder.
struct SaveMark {
  std::string id;
  SaveFigures figures;
  std::string fingerprint;
};

/// Returns the absolute path of a folder that is not yet made. Code::bad_argument when no folder can have that path.
Result<std::filesystem::path> save_target(const std::string& path);

/// Code::bad_data when `folder` holds no completed save.
Result<SaveMark> read_mark(const std::filesystem::path& folder);

/// Makes the hidden folder of the save `id`, which is unique among all saves of all runs. Code::bad_argument when the
/// target exists, unless `overwrite` is set and the target holds only files of a save. Code::io when the disk is not
/// writable or the file system cannot replace the target in one step.
Result<SaveFolder> begin_save(const std::string& path, bool overwrite, const std::string& id);

/// Whether this save has already made the target.
bool is_committed(const SaveFolder& save);

/// Completes the folder with `parts` and removes other attempts. Returns the figures of the target. A checkpoint then
/// survives a crash of the machine (its parts are synced when they are complete).
Result<SaveFigures> commit_save(const SaveFolder& save, const std::vector<SavedPart>& parts);

/// Removes the hidden folders. Call only when the save is over for all workers.
void abandon_save(const SaveFolder& save);

}  // namespace actorhost
