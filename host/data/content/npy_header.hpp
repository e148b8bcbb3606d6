#pragma once
// The text of a .npy header, a Python dictionary literal with three known keys, and the conversion of an array from the
// file's form to the form of this build: little-endian, C order, a Dtype. bool becomes b8, float16 f32, int8, int16 and
// uint16 i32, uint32 and uint64 i64: values do not change. `npy.cpp` and `safetensors.cpp` use this file.

#include <cstddef>
#include <string>
#include <string_view>

#include "host/data/content/npy.hpp"

namespace actorhost {

/// The stored element type: NumPy's letter (b, i, u or f; g is bfloat16, which becomes f32), bytes, byte order.
struct NpyStored {
  char kind = 'f';
  uint8_t bytes = 4;
  bool swapped = false;  // big-endian
};

struct NpyHeader {
  NpyStored stored;
  bool fortran = false;  // the first dimension varies fastest
  Shape shape;
};

/// A fault in `text` and its offset.
struct NpyHeaderFault {
  size_t offset = 0;
  std::string message;
};

/// Parses `text`; returns false and fills `fault` for an invalid or unsupported header.
bool parse_npy_header(std::string_view text, NpyHeader& header, NpyHeaderFault& fault);

/// Converts `data`, which has the size that the header announces. `where` starts the message.
Result<Tensor> from_stored(const NpyHeader& header, Blob data, const std::string& where);

}  // namespace actorhost
