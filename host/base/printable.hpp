#pragma once
// Makes external text safe for a terminal and a log: characters that would move the cursor, change a title or start a
// new line become escapes. Any thread.

#include <string>
#include <string_view>

namespace actorhost {

enum class Lines {
  escaped,  // one line: a newline becomes "\n"
  kept,     // newlines and tabs stay, as for a traceback
};

/// `text` with control characters (ASCII and Unicode) and invalid UTF-8 bytes escaped, as in "\x1b". Other text stays
/// as it is, including backslashes, so the result cannot be parsed back.
std::string printable(std::string_view text, Lines lines = Lines::escaped);

inline std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// "2.5 s"
std::string seconds_text(double seconds);

}  // namespace actorhost
