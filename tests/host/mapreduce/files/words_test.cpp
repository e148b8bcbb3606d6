#include "host/mapreduce/files/words.hpp"

#include <utility>

#include "host/base/random.hpp"
#include "tests/test.hpp"

TEST_CASE("the words of a text are the words that a loop over its bytes finds, wherever they begin and end") {
  Rng rng(5);
  for (int round = 0; round < 300; ++round) {
    std::string text(rng.below(round % 3 == 0 ? 1000 : 140), 'x');
    const uint64_t spaces = 1 + rng.below(10);
    for (auto& c : text) c = rng.below(10) < spaces ? " \t\n\v\f\r"[rng.below(6)] : static_cast<char>(rng.below(256));
    // The text has its own allocation, so that a sanitizer sees a read beyond it.
    const std::vector<char> exact(text.begin(), text.end());
    std::vector<std::string> in_order;
    std::string word;
    for (const char c : text + " ") {
      if (std::string_view(" \t\n\v\f\r").find(c) == std::string_view::npos) {
        word += c;
      } else if (!word.empty()) {
        in_order.push_back(std::exchange(word, ""));
      }
    }
    std::vector<std::string> found;
    const std::string_view view(exact.data(), exact.size());
    WordCutter cutter;
    cutter.begin(view);
    for (std::string_view w; cutter.next(w);) found.emplace_back(w);
    CHECK(found == in_order);
  }
}
