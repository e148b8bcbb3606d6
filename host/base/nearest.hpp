#pragma once
// The known word (a flag, a command, a name in Lua) that a misspelt word may stand for. Any thread.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace actorhost {

/// The word of `words` that differs by at most two letters (changed, added or removed; one letter for words of up to
/// four), or that has the same letters in another order; of several equally near ones the last in byte order. Capitals
/// do not count.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words);

/// "; did you mean --barrier?", with `before` and `behind` around the nearest of `words`; empty where there is none.
std::string suggestion(std::string_view word, const std::vector<std::string>& words, std::string_view before = "",
                       std::string_view behind = "");

}  // namespace actorhost
