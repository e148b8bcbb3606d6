#pragma once
// Encodes Lua values as bytes (host/wire/value_bytes.hpp), decodes them, and hashes values. Numbers, strings, booleans,
// nil, 64-bit integers, tensors and tables of these can be encoded. Cycles, functions, userdata, threads, other cdata
// and tables with a metatable are refused with their path ("value.layers[3].activation is a function"). A table with
// two references is written twice. Tensors stay out of band: the encoder collects them in a Lua array and writes their
// index in it. The tensor module registers its hooks by register_tensor of actor.codec.
//
// Runs on the Vm's thread. No function here raises a Lua error.

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

/// Encodes the value at `index`. On success pushes one value: the array of its tensors, or nil without tensors. On
/// failure pushes nothing; the error (bad_argument) has the path below `name`.
Result<EncodedValue> encode_value(lua_State* L, int index, const char* name = "value", const ValueLimits& limits = {});

/// Checks and decodes untrusted bytes and pushes the value. `tensors` is the stack index of the array that encode_value
/// pushed, or 0 for none. On failure (bad_data) pushes nothing. Copies the bytes once.
Status decode_value(lua_State* L, std::string_view bytes, int tensors = 0, const ValueLimits& limits = {});

/// xxh64 over the value at `index`, with tables in key order: equal values have equal hashes in every VM and on every
/// machine. Refuses the same values as encode_value.
Result<uint64_t> hash_value(lua_State* L, int index, const char* name = "value", const ValueLimits& limits = {});

/// Registers "actor.c.codec".
void open_codec(Vm& vm);

}  // namespace actorhost
