#include "host/data/content/unicode_text.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <utf8proc.h>

#include "host/base/printable.hpp"

namespace actorhost {

namespace {

enum class Sort : uint8_t { other, start, mark, joint };

/// A character of a text, or a byte that starts no character.
struct Character {
  int32_t code = -1;  // -1: no character
  size_t bytes = 1;
};

constexpr int32_t kFinalSigma = 0x3c2;
constexpr int32_t kSmallSigma = 0x3c3;
constexpr int32_t kCapitalSigma = 0x3a3;
constexpr int32_t kDottedI = 0x130;
constexpr int32_t kDotAbove = 0x307;
constexpr int32_t kRightQuote = 0x2019;

constexpr std::array<Sort, 128> ascii_sorts() {
  std::array<Sort, 128> sorts{};
  for (size_t c = 0; c < sorts.size(); ++c) {
    const size_t letter = c | 0x20;
    if ((letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9')) sorts[c] = Sort::start;
  }
  sorts['\''] = Sort::joint;
  return sorts;
}
constexpr std::array<Sort, 128> kAsciiSorts = ascii_sorts();

/// The character at `at`, before `end`.
Character character_at(const char* at, const char* end) noexcept {
  const size_t size = utf8_size({at, static_cast<size_t>(end - at)});
  if (size == 0) return {};
  const auto byte = [at](size_t i) { return static_cast<int32_t>(static_cast<uint8_t>(at[i])); };
  if (size == 1) return {byte(0), 1};
  int32_t code = byte(0) & (0x7f >> size);
  for (size_t i = 1; i < size; ++i) code = code << 6 | (byte(i) & 0x3f);
  return {code, size};
}

Sort sort_of(const Character& character) noexcept {
  if (character.code < 0) return Sort::other;
  if (character.code < 128) return kAsciiSorts[static_cast<size_t>(character.code)];
  if (character.code == kRightQuote) return Sort::joint;
  const utf8proc_category_t category = utf8proc_category(character.code);
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) return Sort::start;
  if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) return Sort::start;
  if (category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME) return Sort::mark;
  return category == UTF8PROC_CATEGORY_CF ? Sort::joint : Sort::other;
}

/// The sort of the character at `at`; sets `bytes` to its length.
inline Sort sort_at(const char* at, const char* end, size_t& bytes) noexcept {
  const auto byte = static_cast<uint8_t>(*at);
  bytes = 1;
  if (byte < 128) return kAsciiSorts[byte];
  const Character character = character_at(at, end);
  bytes = character.bytes;
  return sort_of(character);
}

/// Applies `change(out, code, at, rest)` to each character of `text`, which extends from `at` to `rest`. `change`
/// appends the result. Bytes outside of characters stay unchanged.
template <typename Change>
std::string changed(std::string_view text, Change&& change) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const Character character = character_at(at, end);
    const char* const rest = at + character.bytes;
    if (character.code < 0) {
      out += *at;
    } else {
      change(out, character.code, at, rest);
    }
    at = rest;
  }
  return out;
}

bool is_cased(int32_t code) noexcept {
  const utf8proc_category_t category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT;
}

/// Whether the character has no influence on case: marks, apostrophes, joiners.
bool is_without_case(const Character& character) noexcept {
  const Sort sort = sort_of(character);
  return sort == Sort::mark || sort == Sort::joint ||
         (character.code >= 128 && utf8proc_category(character.code) == UTF8PROC_CATEGORY_LM);
}

bool cased_behind(const char* at, const char* end) noexcept {
  while (at != end) {
    const Character character = character_at(at, end);
    if (character.code < 0) return false;
    if (!is_without_case(character)) return is_cased(character.code);
    at += character.bytes;
  }
  return false;
}

bool cased_before(const char* begin, const char* at) noexcept {
  while (at != begin) {
    const char* first = at - 1;
    while (first != begin && at - first < 4 && (static_cast<uint8_t>(*first) & 0xc0) == 0x80) --first;
    const Character character = character_at(first, at);
    if (character.code < 0 || first + character.bytes != at) return false;
    if (!is_without_case(character)) return is_cased(character.code);
    at = first;
  }
  return false;
}

/// The length of the valid UTF-8 at the front.
size_t valid_front(std::string_view text) noexcept {
  size_t at = 0;
  while (at < text.size()) {
    const size_t size = utf8_size(text.substr(at));
    if (size == 0) break;
    at += size;
  }
  return at;
}

}  // namespace

bool UnicodeWords::find_start() noexcept {
  for (size_t bytes = 1; at_ != end_; at_ += bytes) {
    if (sort_at(at_, end_, bytes) == Sort::start) return true;
  }
  return false;
}

bool UnicodeWords::next(std::string_view& word) noexcept {
  if (!find_start()) return false;
  const char* const from = at_;
  const char* to = from;  // after the last character of the word
  size_t bytes = 1;
  for (const char* at = from; at != end_;) {
    const Sort sort = sort_at(at, end_, bytes);
    if (sort == Sort::other || (sort != Sort::start && to != at)) break;  // at most one joint, then a start
    at += bytes;
    if (sort != Sort::joint) to = at;
  }
  word = {from, static_cast<size_t>(to - from)};
  at_ = to;
  return true;
}

bool is_ascii(std::string_view text) noexcept {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  uint64_t bits = 0;
  for (; text.size() >= sizeof bits; text.remove_prefix(sizeof bits)) {
    std::memcpy(&bits, text.data(), sizeof bits);
    if ((bits & kHighBits) != 0) return false;
  }
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) < 128; });
}

std::string lower_text(std::string_view text) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  return changed(text, [&](std::string& out, int32_t code, const char* at, const char* rest) {
    if (code == kCapitalSigma) {
      const bool is_final = cased_before(begin, at) && !cased_behind(rest, end);
      append_utf8(out, static_cast<uint32_t>(is_final ? kFinalSigma : kSmallSigma));
    } else if (code == kDottedI) {
      out += 'i';
      append_utf8(out, kDotAbove);
    } else {
      append_utf8(out, static_cast<uint32_t>(utf8proc_tolower(code)));
    }
  });
}

std::string folded_text(std::string_view text) {
  return changed(text, [](std::string& out, int32_t code, const char*, const char*) {
    std::array<utf8proc_int32_t, 8> folded{};
    const auto count =
        utf8proc_decompose_char(code, folded.data(), folded.size(), UTF8PROC_CASEFOLD, nullptr);  // at most 3
    if (count < 0) return append_utf8(out, static_cast<uint32_t>(code));
    for (utf8proc_ssize_t i = 0; i < count; ++i)
      append_utf8(out, static_cast<uint32_t>(folded.at(static_cast<size_t>(i))));
  });
}

std::string composed_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t valid = valid_front(text);
    utf8proc_uint8_t* composed = nullptr;
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    const auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                   static_cast<utf8proc_ssize_t>(valid), &composed, options);
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(composed, &std::free);
    if (size < 0) throw std::bad_alloc();  // valid text has no other error
    out.append(reinterpret_cast<const char*>(composed), static_cast<size_t>(size));
    text.remove_prefix(valid);
    if (text.empty()) break;
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

size_t count_characters(std::string_view text) noexcept {
  size_t count = 0;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end; at += character_at(at, end).bytes) ++count;
  return count;
}

size_t count_graphemes(std::string_view text) noexcept {
  size_t count = 0;
  int32_t before = -1;
  utf8proc_int32_t state = 0;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const Character character = character_at(at, end);
    const bool continues =
        before >= 0 && character.code >= 0 && !utf8proc_grapheme_break_stateful(before, character.code, &state);
    if (!continues) ++count;
    if (character.code < 0) state = 0;
    before = character.code;
    at += character.bytes;
  }
  return count;
}

}  // namespace actorhost
