#pragma once
// The manifest that makes an AtomicDir complete: names, sizes and hashes of its files in manifest.json. Used by
// atomic_dir.cpp only. Any thread.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

inline constexpr const char* kManifestName = "manifest.json";

struct ManifestFile {
  std::string name;
  uint64_t bytes = 0;
  std::string xxh3;  // 16 hexadecimal digits: XXH3, 64 bits, canonical order
};

/// Hashes the regular files in a directory on a disk, sorted by name. A directory or another kind of entry is an error.
Result<std::vector<ManifestFile>> hash_files(const std::filesystem::path& dir);
Status write_manifest(const std::filesystem::path& dir, const std::vector<ManifestFile>& files);
/// Code::bad_data for content that write_manifest does not write; the error does not name the directory.
Result<std::vector<ManifestFile>> read_manifest(const std::filesystem::path& dir);

}  // namespace actorhost
