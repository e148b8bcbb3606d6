#pragma once
// Lua values as bytes and back (the encoding of host/wire/value_bytes.hpp), and their hash. Numbers, strings, booleans,
// nil, 64-bit integers, tensors and tables of these travel; cycles, functions, userdata, threads, other cdata and
// tables with a metatable are refused with their path ("value.layers[3].activation is a function"). A table that is
// reached twice is written twice. Tensors stay out of band: the encoder collects them in a Lua array and writes their
// place in it. What a tensor is, the tensor module tells by actor.codec's register_tensor.
//
// On the Vm's thread. These functions never raise a Lua error, so C++ code around them needs no care.

#include <cstdint>
#include <string>
#include <string_view>

#include "host/base/result.hpp"
#include "host/wire/value_check.hpp"

struct lua_State;

namespace actorhost {

class Vm;

struct EncodedValue {
  std::string bytes;
  uint32_t tensors = 0;
};

/// Encodes the value at `index`. On success one value is pushed: the array of its tensors, or nil when it has none; on
/// failure (bad_argument, message with the path below `name`) nothing is.
Result<EncodedValue> encode_value(lua_State* L, int index, const char* name = "value", const ValueLimits& limits = {});

/// Checks and decodes bytes from anywhere and pushes the value; `tensors` is the stack index of the array that stood
/// beside them, 0 for none. On failure (bad_data) nothing is pushed. The bytes are copied once.
Status decode_value(lua_State* L, std::string_view bytes, int tensors = 0, const ValueLimits& limits = {});

/// xxh64 over the value at `index` with its tables in key order: equal values have equal hashes in every VM and on
/// every machine. Refuses what encode_value refuses.
Result<uint64_t> hash_value(lua_State* L, int index, const char* name = "value", const ValueLimits& limits = {});

/// Registers "actor.c.codec".
void open_codec(Vm& vm);

}  // namespace actorhost
