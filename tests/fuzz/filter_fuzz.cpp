// Decodes bytes from the network as a filtered tensor: the first three say how many elements of which type are
// expected. Decoded elements lie within these, and bytes are refused without taking more memory than these need.

#include <cstdlib>
#include <cstring>
#include <vector>

#include "host/engine/filter/filter.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace actorhost;
  if (size < 3) return 0;
  const auto dtype = static_cast<Dtype>(data[0] & 1);
  const uint64_t count = data[1] | static_cast<uint64_t>(data[2] & 15) << 8;  // few: an execution is quick
  std::vector<std::byte> out(count * dtype_size(dtype));                      // the sanitizer watches its ends
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
  if (!decode_filtered(bytes, dtype, count, out.data()).ok()) return 0;
  // What was decoded is a tensor like any other: it can be encoded, and comes back.
  const Blob again = Filter(FilterSpec{.fraction = 1}).encode(dtype, count, out.data());
  std::vector<std::byte> back(out.size());
  if (!decode_filtered(again.view(), dtype, count, back.data()).ok()) std::abort();
  return 0;
}
