#pragma once
// The text part of a .npy header, a Python dictionary literal of three known keys. Used by npy.cpp only.

#include <cstddef>
#include <string>
#include <string_view>

#include "host/data/npy.hpp"

namespace actorhost {

/// How a file holds elements: NumPy's letter (b, i, u or f), bytes, byte order.
struct NpyStored {
  char kind = 'f';
  uint8_t bytes = 4;
  bool swapped = false;  // big-endian
};

struct NpyHeader {
  NpyStored stored;
  bool fortran = false;  // the first dimension is the fastest
  Shape shape;
};

/// What is wrong and where in `text`.
struct NpyHeaderFault {
  size_t offset = 0;
  std::string message;
};

/// Parses `text`; returns false and fills `fault` when it is not a header that this build reads.
bool parse_npy_header(std::string_view text, NpyHeader& header, NpyHeaderFault& fault);

}  // namespace actorhost
