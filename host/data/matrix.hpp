#pragma once
// What the text readers give: a row-major float32 matrix, and small things about numbers in text. Any thread.

#include <cstddef>
#include <string>
#include <string_view>

#include "host/base/blob.hpp"

namespace actorhost {

struct FloatMatrix {
  size_t rows = 0;
  size_t cols = 0;
  Blob data;  // rows x cols float32

  float* values() noexcept { return reinterpret_cast<float*>(data.data()); }
  const float* values() const noexcept { return reinterpret_cast<const float*>(data.data()); }
};

enum class NumberFault { none, no_number, too_large };

/// The whole of `text` as a float32: decimal, with an optional sign, exponent, "inf" or "nan". Locale-free. What is too
/// small becomes zero.
NumberFault parse_float(std::string_view text, float& value) noexcept;

/// Without blanks and tabs at both ends.
std::string_view trimmed(std::string_view text) noexcept;

/// At most 40 characters of `text`, control characters shown as '?', for a message.
std::string quoted_text(std::string_view text);

}  // namespace actorhost
