#include "host/base/copy.hpp"

#include <cstdint>
#include <cstring>

// Sanitizers do not see streaming stores, so sanitized builds use the plain copy.
#if defined(__SSE2__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <emmintrin.h>
#define ACTORHOST_STREAMING_STORES 1
#endif

namespace actorhost {

#ifdef ACTORHOST_STREAMING_STORES

namespace {

constexpr size_t kLine = 64;

void copy_line(std::byte* to, const std::byte* from) noexcept {
  for (size_t at = 0; at < kLine; at += sizeof(__m128i)) {
    const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), part);
  }
}

}  // namespace

void copy_bytes(std::byte* to, const std::byte* from, size_t bytes, size_t whole) noexcept {
  if (whole >= kPastCaches && bytes >= kLine) {
    const size_t first = (kLine - reinterpret_cast<uintptr_t>(to) % kLine) % kLine;  // up to the start of the next line
    std::memcpy(to, from, first);
    size_t at = first;
    for (; at + kLine <= bytes; at += kLine) copy_line(to + at, from + at);
    _mm_sfence();  // orders these stores before a lock or an atomic that publishes them
    to += at;
    from += at;
    bytes -= at;
  }
  if (bytes != 0) std::memcpy(to, from, bytes);
}

#else

void copy_bytes(std::byte* to, const std::byte* from, size_t bytes, size_t /*whole*/) noexcept {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

#endif

}  // namespace actorhost
