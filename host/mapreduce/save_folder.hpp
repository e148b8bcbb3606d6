#pragma once
// The folder that a `save` or a `checkpoint` makes: there completely or not at all. Parts are written into a hidden
// folder beside it, which gets the final name when all are there; a folder that it replaces goes in the same moment.
// Steps may run again after a worker was lost, on another one: beginning gives the same, also when the folder is
// complete by then, a part is written under a name of its own and renamed, and committing twice is once. Any thread;
// calls block on the disk, which all hosts see.
//
//   TARGET                  the final folder: part-00000[.csv|.jsonl][.gz|...], ..., _SUCCESS
//   .NAME.saving-ID         beside it, meanwhile; in it .part-00000-RANDOM until that part is complete
//   _SUCCESS                {"id": ID, "files": n, "rows": n, "bytes": n[, "checkpoint": FINGERPRINT]}

#include <cstdint>
#include <filesystem>
#include <string>

#include "host/base/result.hpp"

namespace actorhost {

struct SaveFolder {
  std::filesystem::path target;
  std::filesystem::path staging;
  std::string id;  // of this save alone
  bool overwrite = false;
  std::string fingerprint = {};  // of what a checkpoint's rows are; empty for other saves
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

/// The whole path of a folder to be made. Code::bad_argument when it cannot be one's.
Result<std::filesystem::path> save_target(const std::string& path);

/// Code::bad_data when no save has been completed there.
Result<SaveMark> read_mark(const std::filesystem::path& folder);

/// Makes the hidden folder of the save `id`, which no other save of any run has. Code::bad_argument when the target
/// exists, unless it is to be overwritten and holds nothing but what a save has made; Code::io when nothing can be
/// written there.
Result<SaveFolder> begin_save(const std::string& path, bool overwrite, const std::string& id);

/// Whether the target is there already as this save has made it.
bool is_committed(const SaveFolder& save);

/// All parts are there; `figures` says what they have to be together. Gives what the target holds. A checkpoint is on
/// disk then, whatever happens to the machine (its parts are synced when they are complete).
Result<SaveFigures> commit_save(const SaveFolder& save, const SaveFigures& figures);

/// Removes the hidden folder.
void abandon_save(const SaveFolder& save);

}  // namespace actorhost
