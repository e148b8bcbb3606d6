#pragma once
// A private directory for one test, removed at its end, and helpers to write, read and damage files in it.

#include <iterator>

#include <unistd.h>

#include "host/base/random.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace actorhost {

/// A temporary directory, in /dev/shm if it is usable: thousands of small files take minutes on a busy disk.
struct Scratch : TempDir {
  Scratch() : TempDir(::access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path()) {}
  std::filesystem::path file(const std::string& name, std::string_view bytes) const { return write(name, bytes); }
};

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// A damaged copy of `bytes`: a few bytes changed, or cut short, or a part doubled.
inline std::string mutate(std::string bytes, Rng& rng) {
  const uint64_t kind = rng.below(8);
  if (kind == 0) return bytes.substr(0, rng.below(bytes.size() + 1));
  if (kind == 1 && !bytes.empty()) {
    const size_t at = rng.below(bytes.size());
    bytes.insert(at, bytes.substr(at, rng.below(64)));
    return bytes;
  }
  const uint64_t changes = 1 + rng.below(4);
  for (uint64_t i = 0; i < changes && !bytes.empty(); ++i) {
    bytes[rng.below(bytes.size())] = static_cast<char>(rng.next());
  }
  return bytes;
}

/// Whether `text` contains `part`; for CHECKs that show the text.
inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace actorhost
