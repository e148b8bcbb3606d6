#pragma once
// UTF-8 texts: words, lower case, lengths, by the Unicode tables of utf8proc. Texts may hold any bytes: a byte outside
// of a valid character stays unchanged, counts as one character and is not part of a word. Pure functions, any thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace actorhost {

/// Iterates over the words of a text.
///
///   word   = start { start | mark | joint start }    as long as possible
///   start  = letter | digit                          of any script: categories L and N
///   mark   = a combining mark (M), which stays with its letter
///   joint  = "'" | U+2019 | a format character (Cf) such as a soft hyphen or a joiner
///
/// So "don't" is one word, and so is a run of Chinese, Japanese or Thai, which are written without spaces.
class UnicodeWords {
 public:
  /// The words of `text` from byte `at` on, the start of a character.
  explicit UnicodeWords(std::string_view text, size_t at = 0) noexcept
      : begin_(text.data()), at_(text.data() + at), end_(text.data() + text.size()) {}

  /// False at the end of the text.
  bool next(std::string_view& word) noexcept;
  /// The offset after the last word.
  size_t at() const noexcept { return static_cast<size_t>(at_ - begin_); }

 private:
  bool find_start() noexcept;

  const char* begin_;
  const char* at_;
  const char* end_;
};

bool is_ascii(std::string_view text) noexcept;

/// Lower case of each letter, as in Unicode: a capital sigma at the end of a word becomes a final sigma, I with a dot
/// becomes i with a combining dot.
std::string lower_text(std::string_view text);
/// Case folding: texts that differ only in case become equal ("STRASSE" and "Straße").
std::string folded_text(std::string_view text);
/// Normalisation form C: a letter with marks becomes one character where Unicode has such a character.
std::string composed_text(std::string_view text);

/// The number of characters (code points) or of visible characters (grapheme clusters).
size_t count_characters(std::string_view text) noexcept;
size_t count_graphemes(std::string_view text) noexcept;

}  // namespace actorhost
