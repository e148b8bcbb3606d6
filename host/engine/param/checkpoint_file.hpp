#pragma once
// Reads and writes a checkpoint's files (format: checkpoint.hpp). Used by checkpoint.cpp and its tests. Thread-safe;
// calls block on the disk.

#include <filesystem>

#include "host/engine/param/checkpoint.hpp"

namespace actorhost {

/// The directory must exist.
Status write_checkpoint(const std::filesystem::path& directory, const ParamCheckpoint& checkpoint);
/// Code::bad_data names the file and the fault.
Result<ParamCheckpoint> read_checkpoint(const std::filesystem::path& directory);

}  // namespace actorhost
