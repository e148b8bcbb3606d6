#pragma once
// Numbers in text, for the readers of tables. If a number spells out all digits before its decimal point (after its
// exponent is applied), the value keeps these digits or is rejected: a time stamp never changes silently. A number with
// fewer digits (1.7e9) and digits after the point are rounded to the nearest value. Any thread.

#include <string>
#include <string_view>

namespace actorhost {

enum class NumberFault { none, no_number, too_large, inexact };

/// Parses the whole of `text`: decimal, with an optional sign, exponent, "inf" or "nan". Locale-free. Values below the
/// range of T become zero. With `inexact` the value is the nearest one. T is float or double.
template <typename T>
NumberFault parse_number(std::string_view text, T& value) noexcept;

/// The fault of `text` and the remedy, for a message.
template <typename T>
std::string number_fault_text(std::string_view text, NumberFault fault);

/// `text` without blanks and tabs at both ends.
std::string_view trimmed(std::string_view text) noexcept;

/// The byte order mark with which some editors and spreadsheets start UTF-8 text. It is not part of the text: every
/// reader of text files drops it.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
inline std::string_view without_mark(std::string_view text) noexcept {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

/// The message for a carriage return within a line and outside of quotes.
inline constexpr const char* kLoneReturn =
    "a carriage return (CR) without a line feed; lines end in LF or CRLF, and a field with a CR is put in quotes";

/// At most 40 characters of `text`, with control characters as '?', for a message.
std::string quoted_text(std::string_view text);

}  // namespace actorhost
