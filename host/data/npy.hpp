#pragma once
// Arrays in NumPy's .npy format, versions 1 to 3. Written are the element types of Dtype, little-endian in C order;
// what is read in another type, byte or element order becomes the first of float32, int32, int64 that holds it
// (npy_convert.hpp).
//
//   npy    = "\x93NUMPY" major:u8 minor:u8 length:(u16 if major = 1, else u32) header data
//   header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" spaces "\n"
//
// Written headers are padded so that the data starts at a multiple of 64 bytes. Decoding never trusts a
// number: what a header claims is compared with the bytes that can be there before memory is taken. Any
// thread; calls block on the disk.

#include <cstdint>
#include <filesystem>
#include <string>

#include "host/base/result.hpp"
#include "host/base/tensor.hpp"
#include "host/data/byte_source.hpp"

namespace actorhost {

/// The bytes that precede the data.
std::string npy_header(const TensorLayout& layout);

/// Decodes one array that must end where `source` ends. `where` opens every message ("FILE" or "FILE: array
/// 'w'"); `available` is the most bytes that `source` can hold. Code::bad_data with the offset, or the
/// source's error. A number that fits none of the types, a uint64 beyond int64, is bad_data too.
Result<Tensor> decode_npy(ByteSource& source, const std::string& where, uint64_t available);

Result<Tensor> read_npy(const std::filesystem::path& path);
/// Makes the file or replaces it, as a whole or not at all (AtomicFile).
Status write_npy(const std::filesystem::path& path, const Tensor& array);

}  // namespace actorhost
