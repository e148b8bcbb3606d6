#pragma once
// Parses and writes JSON with the bytes of other processes and of files. The parser rejects deep nesting, since a
// recursive walk could overflow the stack. Thread-safe. Each source that instantiates the parser or the writer of
// nlohmann-json compiles for a second or two longer, so all sources call these functions.

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace actorhost {

/// The value; a discarded value if the text is no JSON or has more than a hundred levels.
nlohmann::json parse_outside_json(std::string_view text);

/// The value as JSON text; replaces invalid UTF-8. On one line, or with `indent` spaces a level.
std::string json_text(const nlohmann::json& value, int indent = -1);
std::string json_text(const nlohmann::ordered_json& value);

}  // namespace actorhost
