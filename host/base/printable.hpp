#pragma once
// Text from elsewhere, made safe for a terminal and a log: characters that would move the cursor, change a title or
// begin a line of their own are written as escapes instead. Any thread.

#include <string>
#include <string_view>

namespace actorhost {

enum class Lines {
  escaped,  // one line: a newline becomes "\n"
  kept,     // newlines and tabs stay, as in a traceback
};

/// `text` with its control characters (ASCII's and Unicode's), and bytes that are no UTF-8, written as "\x1b". Other
/// text, backslashes included, stays as it is: this is for reading, not for reading back.
std::string printable(std::string_view text, Lines lines = Lines::escaped);

inline std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// "2.5 s"
std::string seconds_text(double seconds);

}  // namespace actorhost
