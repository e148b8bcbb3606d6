#pragma once
// The words of a text, separated by ASCII white space (blank, \t \n \v \f \r), as Lua's %S+ and Python's bytes.split
// define them. Scans 64 bytes at once: words are short, so a loop over bytes mispredicts the end of each word.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace actorhost {

inline bool is_space(char c) noexcept { return c == ' ' || static_cast<unsigned char>(c - '\t') < 5; }

/// Bit i is set when byte i of 64 is not white space.
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

/// Iterates over the words of a text. Not thread-safe.
class WordCutter {
 public:
  void begin(std::string_view text) noexcept {
    *this = WordCutter();
    text_ = text;
  }
  /// False at the end of the text.
  bool next(std::string_view& word) noexcept {
    for (;;) {
      for (; edges_ != 0; edges_ &= edges_ - 1) {
        const size_t edge = block_ + static_cast<size_t>(std::countr_zero(edges_));
        open_ = !open_;
        if (open_) {
          word_ = edge;
          continue;
        }
        word = text_.substr(word_, edge - word_);
        edges_ &= edges_ - 1;
        return true;
      }
      block_ += size_t{64} * started_;
      started_ = true;
      if (block_ >= text_.size()) break;
      const uint64_t bits = bits_here();
      edges_ = bits ^ (bits << 1 | uint64_t{open_});
    }
    if (!open_) return false;
    open_ = false;
    word = text_.substr(word_);
    return true;
  }

 private:
  uint64_t bits_here() const noexcept {
    if (text_.size() - block_ >= 64) return word_bits(text_.data() + block_);
    uint64_t bits = 0;  // the padding after the text has no words
    for (size_t i = block_; i < text_.size(); ++i) bits |= uint64_t{!is_space(text_[i])} << (i - block_);
    return bits;
  }

  std::string_view text_;
  size_t block_ = 0;      // the offset of the current 64 bytes
  uint64_t edges_ = 0;    // in them, where a word begins or ends, alternating
  size_t word_ = 0;       // where the last word began
  bool open_ = false;     // the last word has not ended yet
  bool started_ = false;  // a block has been scanned
};

}  // namespace actorhost
