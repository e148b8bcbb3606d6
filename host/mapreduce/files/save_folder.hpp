#pragma once
// The folder that a `save` or a `checkpoint` makes: there completely or not at all. Parts are written into a hidden
// folder beside it; a commit links those that count into a folder of its own, which gets the final name in one step, so
// a kill at any moment leaves the older folder or the new one. After a worker was lost, steps may run again on another
// worker: `begin_save` gives the same result, also when the folder is complete by then, each attempt at a part has a
// name of its own, and a second commit changes nothing. A worker that was given up may still be at one of the steps; it
// harms nobody, since it writes under names of its own. Any thread; calls block on the disk, which all hosts see.
//
//   TARGET                  the final folder: part-00000[.csv|.jsonl][.gz|...], ..., _SUCCESS
//   .NAME.saving-ID         beside it, meanwhile; in it attempts, .part-00000-RANDOM
//   .NAME.saving-ID-RANDOM  of a worker that commits
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
  std::string id;  // of this save alone
  bool overwrite = false;
  std::string fingerprint = {};  // of what a checkpoint's rows are; empty for other saves
};

/// A complete attempt at a part.
struct SavedPart {
  std::string name;  // in the hidden folder; empty when the save was complete before it
  uint64_t rows = 0;
  uint64_t bytes = 0;
};

struct SaveFigures {
  uint64_t files = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;
};

/// What a complete folder says of itself.
struct SaveMark {
  std::string id;
  SaveFigures figures;
  std::string fingerprint;
};

/// The whole path of a folder that is to be made. Code::bad_argument when no folder can have that path.
Result<std::filesystem::path> save_target(const std::string& path);

/// Code::bad_data when no save has been completed there.
Result<SaveMark> read_mark(const std::filesystem::path& folder);

/// Makes the hidden folder of the save `id`, which no other save of any run has. Code::bad_argument when the target
/// exists, unless it is to be overwritten and holds nothing but what a save has made; Code::io when nothing can be
/// written there, or the file system cannot replace it in one step.
Result<SaveFolder> begin_save(const std::string& path, bool overwrite, const std::string& id);

/// Whether the target is there already as this save has made it.
bool is_committed(const SaveFolder& save);

/// Completes the folder with `parts`; other attempts are removed. Returns what the target holds. A checkpoint is then
/// on disk, whatever happens to the machine (its parts are synced when they are complete).
Result<SaveFigures> commit_save(const SaveFolder& save, const std::vector<SavedPart>& parts);

/// Removes the hidden folders. To be called only when the save is over for all workers.
void abandon_save(const SaveFolder& save);

}  // namespace actorhost
