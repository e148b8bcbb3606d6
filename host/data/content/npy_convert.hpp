#pragma once
// Converts arrays from the form of a .npy file to the form of this build: little-endian, C order, a Dtype. bool becomes
// b8, float16 f32, int8, int16 and uint16 i32, uint32 and uint64 i64: values do not change. Used by npy.cpp only.

#include <string>

#include "host/data/content/npy_header.hpp"

namespace actorhost {

/// `data` has the size that the header announces. `where` starts the message.
Result<Tensor> from_stored(const NpyHeader& header, Blob data, const std::string& where);

}  // namespace actorhost
