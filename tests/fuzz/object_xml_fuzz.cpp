// Reads bytes as replies of an object storage; the first byte chooses the request. The parts of a reply can be written
// as the request that completes their upload.

#include <cstdlib>

#include "host/data/file/object_xml.hpp"

namespace {

using namespace actorhost;

void read_parts(std::string_view body) {
  const auto page = part_page(body);
  if (page && parts_text(page->parts).empty()) std::abort();
}

void read_id(std::string_view body) {
  const auto id = upload_id(body);
  if (id && id->empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0: (void)storage_error(body); break;
    case 1: (void)object_page(body).ok(); break;
    case 2: (void)upload_page(body).ok(); break;
    case 3: read_parts(body); break;
    default: read_id(body);
  }
  return 0;
}
