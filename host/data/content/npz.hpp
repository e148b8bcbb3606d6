#pragma once
// Named arrays in one file: a zip archive (members stored, CRC-checked) of NAME.npy, as numpy.savez writes and
// numpy.load reads it; files of numpy.savez_compressed are read too. The same arrays give the same bytes on every
// machine: no time, user or host is recorded. Names are unique UTF-8 without control characters and without spaces at
// either end. A non-ASCII name has the zip format's flag for UTF-8 (bit 11), as in files of numpy.savez. A name without
// this flag and with invalid UTF-8 is read as code page 437, as the format specifies.
//
// Writer and reader belong to one thread; calls block on the disk.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/result.hpp"
#include "host/data/content/npy.hpp"

namespace actorhost {

struct NamedArray {
  std::string name;
  Tensor array;
};

/// Writes arrays one by one directly from the caller's memory. `close()` creates or replaces the file (AtomicFile);
/// without `close()` the target stays unchanged.
class NpzWriter {
 public:
  static Result<NpzWriter> create(const std::filesystem::path& path);
  NpzWriter(NpzWriter&&) noexcept;
  NpzWriter& operator=(NpzWriter&&) noexcept;
  ~NpzWriter();

  /// Code::bad_argument for a malformed or repeated name.
  Status add(std::string_view name, const Tensor& array);
  /// Writes the zip directory and gives the file its name.
  Status close();

 private:
  struct Impl;
  explicit NpzWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Reads arrays one by one, in the order of the file.
class NpzReader {
 public:
  static Result<NpzReader> open(const std::filesystem::path& path);
  NpzReader(NpzReader&&) noexcept;
  NpzReader& operator=(NpzReader&&) noexcept;
  ~NpzReader();

  /// The next array; nothing at the end. Code::bad_data names file, array and offset.
  Result<std::optional<NamedArray>> next();

 private:
  struct Impl;
  explicit NpzReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

Result<std::vector<NamedArray>> read_npz(const std::filesystem::path& path);

}  // namespace actorhost
