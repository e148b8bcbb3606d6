#pragma once
// Named tensors in one file in the safetensors format, the usual format for the weights of PyTorch models.
//
//   file    = length:u64 header data          little-endian
//   header  = a JSON object, then spaces      `length` bytes of UTF-8, at most 100 million
//   entry   = "NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}
//   entry   = "__metadata__": {"KEY": "TEXT", ...}    optional
//
// The offsets count bytes from the start of the data, which are row-major elements. The tensors cover the data without
// gap or overlap. Source: the README of the safetensors package.
//
// Written files equal the files of that package: the largest elements first, then by name, and a header that ends at a
// multiple of 8 bytes. Any thread; calls block on the disk.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/data/content/npz.hpp"

namespace actorhost {

struct Safetensors {
  std::vector<NamedArray> arrays;               // names are unique UTF-8
  std::map<std::string, std::string> metadata;  // UTF-8
};

/// Reads a file; the arrays are in the order of their data. Elements of other types are converted without a change of
/// their values: F16 and BF16 to float32; I8, I16 and U16 to int32; U32 and U64 to int64. Code::bad_data, with the file
/// and the tensor, for a damaged file, a repeated name, an unknown element type (8-bit floats), or a U64 value of 2^63
/// or more. Allocates memory only for data in the file.
Result<Safetensors> read_safetensors(const std::filesystem::path& path);

/// Creates or replaces the file, completely or not at all (AtomicFile). Code::bad_argument for invalid UTF-8,
/// a repeated name, the name "__metadata__", or too long a header.
Status write_safetensors(const std::filesystem::path& path, const Safetensors& content);

}  // namespace actorhost
