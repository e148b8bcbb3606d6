#pragma once
// A private directory for one test, removed at its end, and helpers to write, read and damage files in it.

#include <iterator>

#include <unistd.h>

#include "host/base/random.hpp"
#include "tests/test.hpp"

namespace actorhost {

class Scratch : private NonCopyable {
 public:
  Scratch() {
    // Uses memory if there is a file system for it: thousands of small files take minutes on a busy disk.
    const std::filesystem::path memory = "/dev/shm";
    const bool usable = ::access(memory.c_str(), W_OK | X_OK) == 0;
    std::string pattern =
        ((usable ? memory : std::filesystem::temp_directory_path()) / "actorhost-data-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::filesystem::path file(const std::string& name, std::string_view bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream out(path_ / name, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    REQUIRE(out);
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
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
