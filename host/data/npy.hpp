#pragma once
// Arrays in NumPy's .npy format, versions 1 to 3. Written are the five element types below, little-endian in C order;
// what is read in another type, byte or element order becomes the first of them that holds it (npy_convert.hpp).
//
//   npy    = "\x93NUMPY" major:u8 minor:u8 length:(u16 if major = 1, else u32) header data
//   header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" spaces "\n"
//
// Written headers are padded so that the data starts at a multiple of 64 bytes. Decoding never trusts a
// number: what a header claims is compared with the bytes that can be there before memory is taken. Any
// thread; calls block on the disk. An array is either a value that owns its bytes (NpyArray) or a view of
// somebody's memory (NpyView).

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/blob.hpp"
#include "host/base/result.hpp"
#include "host/data/byte_source.hpp"

namespace actorhost {

enum class NpyType : uint8_t { f4, f8, i4, i8, u1 };

size_t npy_item_bytes(NpyType type) noexcept;
/// "<f4", "<f8", "<i4", "<i8", "|u1".
const char* npy_descr(NpyType type) noexcept;

/// Memory of somebody else, C order; it must outlive the call that it is given to.
struct NpyView {
  NpyType type = NpyType::f4;
  std::vector<size_t> shape;
  const void* data = nullptr;

  /// Product of the shape; 1 for a scalar (empty shape).
  size_t elements() const noexcept;
  size_t bytes() const noexcept { return elements() * npy_item_bytes(type); }
};

struct NpyArray {
  NpyType type = NpyType::f4;
  std::vector<size_t> shape;
  Blob data;

  NpyView view() const { return {type, shape, data.data()}; }
};

/// The bytes that precede the data.
std::string npy_header(NpyType type, const std::vector<size_t>& shape);

/// Decodes one array that must end where `source` ends. `where` opens every message ("FILE" or "FILE: array
/// 'w'"); `available` is the most bytes that `source` can hold. Code::bad_data with the offset, or the
/// source's error. A number that fits none of the types, a uint64 beyond int64, is bad_data too.
Result<NpyArray> decode_npy(ByteSource& source, const std::string& where, uint64_t available);

Result<NpyArray> read_npy(const std::filesystem::path& path);
/// Creates or truncates. Not synced: AtomicDir does that.
Status write_npy(const std::filesystem::path& path, const NpyView& array);

}  // namespace actorhost
