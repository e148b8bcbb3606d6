#pragma once
// The word that a misspelt one may have been meant for: of flags, commands, and of names in Lua. Any thread.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace actorhost {

/// The word of `words` that is at most two letters away (changed, added or taken away), one for words of up to four
/// letters, or has the same letters in another order; the last in byte order of several that are as near. Capitals do
/// not count.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words);

/// "; did you mean --barrier?", with `before` and `behind` around the nearest of `words`; empty where there is none.
std::string suggestion(std::string_view word, const std::vector<std::string>& words, std::string_view before = "",
                       std::string_view behind = "");

}  // namespace actorhost
