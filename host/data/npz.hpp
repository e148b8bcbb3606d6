#pragma once
// Named arrays in one file: a zip archive (members stored, CRC-checked) of NAME.npy, what numpy.savez writes
// and numpy.load opens; numpy.savez_compressed is read too. The same arrays give the same bytes on every
// machine: no time, user or host is recorded. Names are UTF-8 without control characters, without spaces at either
// end, each once. A name beyond ASCII has the zip format's mark for UTF-8 (bit 11 of the flags), as numpy.savez
// writes it. A name without this mark that is not UTF-8 is read as code page 437, as the format says.
//
// Writer and reader belong to one thread; calls block on the disk.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/result.hpp"
#include "host/data/npy.hpp"

namespace actorhost {

struct NamedArray {
  std::string name;
  Tensor array;
};

/// Writes arrays one by one straight from the caller's memory. `close()` makes the file or replaces it (AtomicFile);
/// without `close()` nothing is changed.
class NpzWriter {
 public:
  static Result<NpzWriter> create(const std::filesystem::path& path);
  NpzWriter(NpzWriter&&) noexcept;
  NpzWriter& operator=(NpzWriter&&) noexcept;
  ~NpzWriter();

  /// Code::bad_argument for a name that is malformed or was used already.
  Status add(std::string_view name, const Tensor& array);
  /// Writes the directory and gives the file its name.
  Status close();

 private:
  struct Impl;
  explicit NpzWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Reads arrays one by one, in the file's order.
class NpzReader {
 public:
  static Result<NpzReader> open(const std::filesystem::path& path);
  NpzReader(NpzReader&&) noexcept;
  NpzReader& operator=(NpzReader&&) noexcept;
  ~NpzReader();

  /// The next array, nothing at the end. Code::bad_data names file, array and offset.
  Result<std::optional<NamedArray>> next();

 private:
  struct Impl;
  explicit NpzReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

Result<std::vector<NamedArray>> read_npz(const std::filesystem::path& path);

}  // namespace actorhost
