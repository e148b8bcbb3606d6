#pragma once
// Named arrays in one file in NumPy's npz format: a zip archive with a member NAME.npy for each array. The writer
// stores members uncompressed, with a checksum, as numpy.savez does. The reader also reads files of
// numpy.savez_compressed. The same arrays give the same bytes on every machine, because no time, user or host is
// recorded.
//
// Names are unique and have 1 to 1024 bytes of UTF-8, without control characters, without a '/' at the front, and
// without spaces at either end. The writer sets the zip format's flag for UTF-8 (bit 11) for a non-ASCII name, as
// numpy.savez does. The reader reads a name without this flag as UTF-8, or, if it is not valid UTF-8, in code page 437,
// which the format specifies.
//
// A writer or reader belongs to one thread; calls block on the disk.

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

/// Writes arrays one by one, directly from the caller's memory, to a temporary file. `close` renames it to the final
/// name (AtomicFile). Without `close` the file of that name is unchanged.
class NpzWriter {
 public:
  static Result<NpzWriter> create(const std::filesystem::path& path);
  NpzWriter(NpzWriter&&) noexcept;
  NpzWriter& operator=(NpzWriter&&) noexcept;
  ~NpzWriter();

  /// Code::bad_argument for a malformed or repeated name.
  Status add(std::string_view name, const Tensor& array);
  /// Completes the archive and gives the file its final name.
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

  /// The next array; no value at the end. Code::bad_data names the file, the array and the offset.
  Result<std::optional<NamedArray>> next();

 private:
  struct Impl;
  explicit NpzReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Reads all arrays of a file, in the order of the file. Fails like NpzReader.
Result<std::vector<NamedArray>> read_npz(const std::filesystem::path& path);

}  // namespace actorhost
