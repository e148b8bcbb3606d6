// The word that a misspelt one was meant for.

#include "host/base/nearest.hpp"

#include <catch2/catch.hpp>

using namespace actorhost;

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

TEST_CASE("of several words as near the last in byte order is meant, whatever their order") {
  CHECK(nearest("tast", {"test", "task", "cast"}) == "test");
  CHECK(nearest("tast", {"cast", "task", "test"}) == "test");
}

TEST_CASE("a suggestion is written as the user writes the word") {
  CHECK(suggestion("barier", {"barrier"}, "--") == "; did you mean --barrier?");
  CHECK(suggestion("mapp", {"map"}, "'", "'") == "; did you mean 'map'?");
  CHECK(suggestion("mapp", {"reduce"}).empty());
}
