// Decodes bytes from the network as a filtered tensor; the first three bytes choose the expected number and type of
// elements. Decoded elements stay within the output, and refused bytes take no more memory than the output.

#include <cstdlib>
#include <cstring>
#include <vector>

#include "host/engine/filter/filter.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace actorhost;
  if (size < 3) return 0;
  const auto dtype = static_cast<Dtype>(data[0] & 1);
  const uint64_t count = data[1] | static_cast<uint64_t>(data[2] & 15) << 8;  // few: an execution is quick
  std::vector<std::byte> out(count * dtype_size(dtype));  // the sanitizer checks accesses beyond its ends
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
  if (!decode_filtered(bytes, dtype, count, out.data()).ok()) return 0;
  // A decoded tensor can be encoded and decoded again.
  const Blob again = Filter(FilterSpec{.fraction = 1}).encode(dtype, count, out.data());
  std::vector<std::byte> back(out.size());
  if (!decode_filtered(again.view(), dtype, count, back.data()).ok()) std::abort();
  return 0;
}
