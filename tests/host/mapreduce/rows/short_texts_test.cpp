// Short texts with places: a found text is the stored text.

#include "host/mapreduce/rows/short_texts.hpp"

#include "tests/test.hpp"

TEST_CASE("a found short text is the text stored in its place") {
  const auto texts = std::make_unique<ShortTexts>();
  std::vector<std::string> stored(ShortTexts::kPlaces, "none");
  std::mt19937 random(1);
  int found = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string text;
    for (size_t k = random() % (ShortTexts::kMost + 1); k > 0; --k) text += "\0a\xff"[random() % 3];
    const int32_t place = texts->find(text.data(), text.size());
    if (place >= 0) {
      ++found;
      REQUIRE(stored[static_cast<size_t>(place)] == text);
    } else if (random() % 8 != 0) {  // otherwise storing the text was interrupted
      stored[static_cast<size_t>(-1 - place)] = text;
      texts->keep(static_cast<uint32_t>(-1 - place), text.data(), text.size());
      REQUIRE(texts->find(text.data(), text.size()) == -1 - place);
    } else {
      stored[static_cast<size_t>(-1 - place)] = text;
      REQUIRE(texts->find(text.data(), text.size()) == place);
    }
  }
  CHECK(found > 1000);
}
