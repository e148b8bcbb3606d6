#pragma once
// Directories in an object storage, for checkpoints (atomic_dir.hpp): the objects below s3://BUCKET/KEY/. A directory
// is complete with its manifest, which is written last and removed first. Any thread; calls block on the network.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

/// The sizes of the objects directly below a directory, by name.
Result<std::map<std::string, uint64_t>> object_sizes(const std::filesystem::path& dir);
/// The names of the directories directly below a directory.
Result<std::vector<std::string>> object_folders(const std::filesystem::path& dir);

/// Code::io if no object can be written below the directory.
Status try_object_folder(const std::filesystem::path& dir);
/// Copies the files of a local directory, `last` after all others. Removes an object with the name `last` first.
Status upload_folder(const std::filesystem::path& from, const std::filesystem::path& to, const std::string& last);
/// Copies the objects directly below a directory into a local directory. Code::bad_data if the object `mark` is
/// missing.
Status fetch_folder(const std::filesystem::path& from, const std::filesystem::path& to, const std::string& mark);
/// Removes the objects below a directory, `first` before all others.
Status remove_object_folder(const std::filesystem::path& dir, const std::string& first);

}  // namespace actorhost
