#pragma once
// From how a .npy file holds an array to how this build does: little-endian, C order, of a Dtype. bool becomes b8,
// float16 f32, int8, int16 and uint16 i32, uint32 and uint64 i64: no value changes. Used by npy.cpp only.

#include <string>

#include "host/data/npy_header.hpp"

namespace actorhost {

/// `data` has the bytes that the header claims. `where` opens the message.
Result<Tensor> from_stored(const NpyHeader& header, Blob data, const std::string& where);

}  // namespace actorhost
