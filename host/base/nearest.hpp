#pragma once
// Suggestions for misspelt words: flags, commands, names in Lua. Any thread.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace actorhost {

/// The word of `words` that differs by at most two letters (changed, added or removed; one letter for words of up to
/// four), or that has the same letters in another order. Among equally near words, the last in byte order. Case is
/// ignored.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words);

/// "; did you mean --barrier?", with `before` and `behind` around the nearest of `words`; empty if no word is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& words, std::string_view before = "",
                       std::string_view behind = "");

}  // namespace actorhost
