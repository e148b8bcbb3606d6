#pragma once
// Numbers in text, for the readers of tables. A number that writes out all digits before its point, where its exponent
// puts it, keeps them or is not read: a time stamp never becomes another one. What has fewer digits than that (1.7e9),
// and what stands behind a point, becomes the nearest value. Any thread.

#include <string>
#include <string_view>

namespace actorhost {

enum class NumberFault { none, no_number, too_large, inexact };

/// The whole of `text`: decimal, with an optional sign, exponent, "inf" or "nan". Locale-free. What is too small
/// becomes zero. With `inexact` the value is the nearest one. T is float or double.
template <typename T>
NumberFault parse_number(std::string_view text, T& value) noexcept;

/// What is wrong with `text` and what to do about it, for a message.
template <typename T>
std::string number_fault_text(std::string_view text, NumberFault fault);

/// Without blanks and tabs at both ends.
std::string_view trimmed(std::string_view text) noexcept;

/// The mark with which some editors and spreadsheets begin a text in UTF-8. It is no part of the text: every reader of
/// text files drops one.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
inline std::string_view without_mark(std::string_view text) noexcept {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

/// Said of a carriage return within a line and outside of quotes.
inline constexpr const char* kLoneReturn =
    "a carriage return (CR) without a line feed; lines end in LF or CRLF, and a field with a CR is put in quotes";

/// At most 40 characters of `text`, control characters shown as '?', for a message.
std::string quoted_text(std::string_view text);

}  // namespace actorhost
