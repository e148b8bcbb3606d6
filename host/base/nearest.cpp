#include "host/base/nearest.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace actorhost {

namespace {

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& letter : out) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return out;
}

/// The Levenshtein distance.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, changed}));
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view given, const std::vector<std::string>& words) {
  const std::string word = lower(given);
  if (word.empty()) return {};
  std::optional<std::string> best;
  size_t least = word.size() <= 4 ? 6 : 10;  // in quarters of a letter; farther words are not suggested
  for (const std::string& candidate : words) {
    const std::string other = lower(candidate);
    // The first letter is seldom wrong; transposed letters are a common typing error.
    const bool first = word.substr(0, 1) == other.substr(0, 1);
    const bool reordered = std::is_permutation(word.begin(), word.end(), other.begin(), other.end());
    const size_t far = (reordered && word != other ? 3 : 4 * distance(word, other)) + (first ? 0 : 2);
    if (far > least || (far == least && best && candidate <= *best)) continue;
    least = far;
    best = candidate;
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& words, std::string_view before,
                       std::string_view behind) {
  const auto near = nearest(word, words);
  if (!near) return "";
  return std::string("; did you mean ").append(before).append(*near).append(behind).append("?");
}

}  // namespace actorhost
