#pragma once
// Arrays in NumPy's .npy format, versions 1 to 3. Arrays are written with the element types of Dtype, little-endian in
// C order. Arrays of other types, byte orders or element orders are converted on reading to the first of float32,
// int32, int64 that holds their values (npy_header.hpp).
//
//   npy    = "\x93NUMPY" major:u8 minor:u8 length:(u16 if major = 1, else u32) header data
//   header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" spaces "\n"
//
// Written headers are padded so that the data starts at a multiple of 64 bytes. Decoding trusts no header: it compares
// the announced size with the available bytes before it allocates memory. Any thread; calls block on the disk.

#include <cstdint>
#include <filesystem>
#include <string>

#include "host/base/result.hpp"
#include "host/base/tensor.hpp"
#include "host/data/file/byte_source.hpp"

namespace actorhost {

/// The bytes before the data.
std::string npy_header(const TensorLayout& layout);

/// Decodes one array that must end at the end of `source`. `where` starts every message ("FILE" or "FILE: array 'w'");
/// `available` is the maximum size of `source` in bytes. Errors are Code::bad_data with the offset, or the error of the
/// source. A value that no type can hold, a uint64 of 2^63 or more, is bad_data too.
Result<Tensor> decode_npy(ByteSource& source, const std::string& where, uint64_t available);

Result<Tensor> read_npy(const std::filesystem::path& path);
/// Creates or replaces the file, completely or not at all (AtomicFile).
Status write_npy(const std::filesystem::path& path, const Tensor& array);

}  // namespace actorhost
