#include "host/data/content/unicode_text.hpp"

#include "tests/test.hpp"

namespace {

std::vector<std::string> unicode_words(std::string_view text) {
  std::vector<std::string> out;
  std::string_view word;
  UnicodeWords words(text);
  while (words.next(word)) out.emplace_back(word);
  return out;
}

using UnicodeTexts = std::vector<std::string>;

}  // namespace

TEST_CASE("words are runs of letters, marks and digits, with any bytes between them") {
  CHECK(unicode_words("Привет, мир") == UnicodeTexts{"Привет", "мир"});
  CHECK(unicode_words("don't 'x' l’été") == UnicodeTexts{"don't", "x", "l’été"});
  CHECK(unicode_words("e\xcc\x81 \xcc\x81 x") == UnicodeTexts{"e\xcc\x81", "x"});
  CHECK(unicode_words("a\xff"
                      "b\xed\xa0\x80"
                      "c\xe2\x80") == UnicodeTexts{"a", "b", "c"});
  CHECK(unicode_words("日本、🙂中") == UnicodeTexts{"日本", "中"});
  CHECK(unicode_words("").empty());
}

TEST_CASE("iteration can resume at the end of the previous word") {
  const std::string text = "one два 三 four";
  UnicodeTexts found;
  for (size_t at = 0;;) {
    UnicodeWords words(text, at);
    std::string_view word;
    if (!words.next(word)) break;
    found.emplace_back(word);
    at = words.at();
  }
  CHECK(found == unicode_words(text));
}

TEST_CASE("case and composition do not change bytes that are not characters") {
  CHECK(lower_text("ΟΔΟΣ\xff ΣΑΣ Σ") == "οδος\xff σας σ");
  CHECK(folded_text("Straße\xc3") == "strasse\xc3");
  CHECK(composed_text("e\xcc\x81\xff"
                      "e\xcc\x81") ==
        "\xc3\xa9\xff"
        "\xc3\xa9");
  CHECK(composed_text("").empty());
  CHECK(count_characters("\xff\xfeж") == 3);
  CHECK(count_graphemes("e\xcc\x81\xff") == 2);
}

TEST_CASE("any bytes are accepted as a text") {
  const unsigned seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 30, ' ');
    for (char& c : text) c = static_cast<char>(random() % 3 == 0 ? 0xc0 + random() % 64 : random());
    size_t bytes = 0;
    for (const std::string& word : unicode_words(text)) bytes += word.size();
    REQUIRE(bytes <= text.size());
    REQUIRE(count_graphemes(text) <= count_characters(text));
    REQUIRE(count_characters(text) <= text.size());
    const std::string lower = lower_text(text);
    REQUIRE(composed_text(composed_text(text)) == composed_text(text));
    REQUIRE(folded_text(folded_text(text)) == folded_text(text));
    REQUIRE(lower_text(lower).size() == lower.size());
  }
}
