// Decodes bytes from another process as a tuple. The result is an encoded array, which encodes to a tuple. This tuple
// decodes to an array of the same tuple.

#include <cstdlib>

#include "host/mapreduce/rows/tuple_key.hpp"
#include "host/wire/value_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace actorhost;
  std::string array;
  if (!decode_tuple({reinterpret_cast<const char*>(data), size}, array)) return 0;
  if (!check_value(array).ok()) std::abort();
  if (size == 0 || size > 65536) return 0;  // an empty array is no tuple, and a tuple has at most 65536 elements
  std::string tuple;
  std::string again;
  if (encode_tuple(array, tuple) != nullptr || !decode_tuple(tuple, again)) std::abort();
  std::string second;
  if (encode_tuple(again, second) != nullptr || second != tuple) std::abort();
  return 0;
}
