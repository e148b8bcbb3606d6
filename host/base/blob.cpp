#include "host/base/blob.hpp"

#include <cassert>
#include <cstring>
#include <new>

namespace actorhost {

Blob Blob::allocate(size_t size) {
  Blob blob;
  if (size == 0) return blob;
  auto* raw = static_cast<std::byte*>(::operator new[](size, std::align_val_t{kBlobAlignment}));
  blob.owner_ =
      std::shared_ptr<std::byte[]>(raw, [](std::byte* p) { ::operator delete[](p, std::align_val_t{kBlobAlignment}); });
  blob.data_ = raw;
  blob.size_ = size;
  return blob;
}

Blob Blob::copy_of(const void* bytes, size_t size) {
  Blob blob = allocate(size);
  if (size != 0) std::memcpy(blob.data_, bytes, size);
  return blob;
}

Blob Blob::slice(size_t offset, size_t size) const {
  assert(offset <= size_ && size <= size_ - offset);
  Blob part = *this;
  part.data_ += offset;
  part.size_ = size;
  return part;
}

}  // namespace actorhost
