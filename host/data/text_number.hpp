#pragma once
// Numbers in text, for the readers of tables. A number that is written out keeps the digits before its point, or is not
// read: a time stamp never becomes another one. What is written with an exponent, and what stands behind a point, is a
// measured value and becomes the nearest one. Any thread.

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

/// At most 40 characters of `text`, control characters shown as '?', for a message.
std::string quoted_text(std::string_view text);

}  // namespace actorhost
