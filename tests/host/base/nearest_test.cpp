// Suggestions for misspelt words.

#include "host/base/nearest.hpp"

#include "tests/test.hpp"

TEST_CASE("the nearest word is at most two letters away") {
  CHECK(nearest("bps", {"asp", "bsp", "ssp"}) == "bsp");
  CHECK(nearest("PBSP", {"asp", "bsp", "pbsp"}) == "pbsp");
  CHECK(nearest("pspb", {"pbsp", "pssp", "ssp"}) == "pbsp");
  CHECK(nearest("sdg", {"add", "adam", "sgd"}) == "sgd");
  CHECK(nearest("barier", {"barrier", "broadcast"}) == "barrier");
  CHECK_FALSE(nearest("repl", {"help", "run"}));
  CHECK_FALSE(nearest("median", {"asp", "bsp"}));
  CHECK_FALSE(nearest("ab", {"xy", "abcd"}));
  CHECK_FALSE(nearest("word", {}));
  CHECK(nearest("", {"a"}) == std::nullopt);
}

TEST_CASE("among equally near words the last in byte order is suggested, in any order of the list") {
  CHECK(nearest("tast", {"test", "task", "cast"}) == "test");
  CHECK(nearest("tast", {"cast", "task", "test"}) == "test");
}

TEST_CASE("a suggestion has the form in which users write the word") {
  CHECK(suggestion("barier", {"barrier"}, "--") == "; did you mean --barrier?");
  CHECK(suggestion("mapp", {"map"}, "'", "'") == "; did you mean 'map'?");
  CHECK(suggestion("mapp", {"reduce"}).empty());
}
