#pragma once
// A checkpoint's files, as checkpoint.hpp describes them. Used by checkpoint.cpp and its tests. Any thread;
// calls block on the disk.

#include <filesystem>

#include "host/engine/param/checkpoint.hpp"

namespace actorhost {

/// Into a directory that exists.
Status write_checkpoint(const std::filesystem::path& directory, const ParamCheckpoint& checkpoint);
/// Code::bad_data names the file and what is wrong with it.
Result<ParamCheckpoint> read_checkpoint(const std::filesystem::path& directory);

}  // namespace actorhost
