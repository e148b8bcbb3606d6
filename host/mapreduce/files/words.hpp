#pragma once
// The words of a text: what lies between ASCII white space (blank, \t \n \v \f \r), as Lua's %S+ and Python's
// bytes.split see it. 64 bytes at once: words are short, so a loop over bytes mispredicts where each of them ends.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace actorhost {

inline bool is_space(char c) noexcept { return c == ' ' || static_cast<unsigned char>(c - '\t') < 5; }

/// Bit i says whether byte i of 64 is no white space.
inline uint64_t word_bits(const char* bytes) noexcept {
  uint64_t spaces = 0;
#ifdef __SSE2__
  const __m128i blank = _mm_set1_epi8(' ');
  const __m128i tab = _mm_set1_epi8('\t');
  const __m128i four = _mm_set1_epi8(4);
  for (unsigned part = 0; part < 4; ++part) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * part));
    const __m128i from_tab = _mm_sub_epi8(text, tab);
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(from_tab, four), from_tab);
    const __m128i space = _mm_or_si128(control, _mm_cmpeq_epi8(text, blank));
    spaces |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(space))} << (16 * part);
  }
#else
  for (unsigned i = 0; i < 64; ++i) spaces |= uint64_t{is_space(bytes[i])} << i;
#endif
  return ~spaces;
}

/// Calls `word(text)` for each; stops and returns false when that returns false.
template <typename Word>
bool for_each_word(std::string_view text, const Word& word) {
  const char* const data = text.data();
  const size_t size = text.size();
  size_t begin = 0;
  uint64_t inside = 0;  // 1 while a word is open, which began at `begin`
  size_t at = 0;
  for (; at + 64 <= size; at += 64) {
    const uint64_t bits = word_bits(data + at);
    // Where a word begins or ends, in turns.
    for (uint64_t edges = bits ^ (bits << 1 | inside); edges != 0; edges &= edges - 1) {
      const size_t edge = at + static_cast<size_t>(std::countr_zero(edges));
      if (inside != 0 && !word(std::string_view(data + begin, edge - begin))) return false;
      begin = edge;
      inside ^= 1;
    }
  }
  for (; at < size; ++at) {
    const uint64_t bit = is_space(data[at]) ? 0 : 1;
    if (bit == inside) continue;
    if (inside != 0 && !word(std::string_view(data + begin, at - begin))) return false;
    begin = at;
    inside = bit;
  }
  return inside == 0 || word(std::string_view(data + begin, size - begin));
}

}  // namespace actorhost
