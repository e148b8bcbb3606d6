#include "host/net/landings.hpp"

#include <catch2/catch.hpp>

using namespace actorhost;

namespace {

constexpr size_t kBytes = Landings::kMinBytes;
constexpr auto kOther = Kind{0x7f01};

Frame head_of(Kind kind, uint32_t tag, std::string_view meta) {
  Frame frame;
  frame.kind = kind;
  frame.tag = tag;
  frame.meta = SmallBytes(meta);
  return frame;
}

}  // namespace

TEST_CASE("an expected body gets its destination once") {
  Landings landings;
  const int me = 0;
  Blob room = Blob::allocate(kBytes);
  landings.expect(&me, Kind::test, 3, "route", room);
  CHECK(landings.take(head_of(Kind::test, 4, "route"), kBytes).empty());
  CHECK(landings.take(head_of(kOther, 3, "route"), kBytes).empty());
  CHECK(landings.take(head_of(Kind::test, 3, "rout"), kBytes).empty());
  CHECK(landings.take(head_of(Kind::test, 3, "Route"), kBytes).empty());
  CHECK(landings.take(head_of(Kind::test, 3, "route"), kBytes + 1).empty());
  CHECK(landings.size() == 1);
  CHECK(landings.take(head_of(Kind::test, 3, "route and more"), kBytes).data() == room.data());
  CHECK(landings.take(head_of(Kind::test, 3, "route and more"), kBytes).empty());
  CHECK(landings.size() == 0);
  CHECK(room.unique());
}

TEST_CASE("forget withdraws only the destinations of one owner") {
  Landings landings;
  const int me = 0;
  const int other = 0;
  Blob mine = Blob::allocate(2 * kBytes);
  const Blob theirs = Blob::allocate(kBytes);
  landings.expect(&me, Kind::test, 1, "a", mine.slice(0, kBytes));
  landings.expect(&other, Kind::test, 1, "b", theirs);
  landings.expect(&me, Kind::test, 2, "a", mine.slice(kBytes, kBytes));
  landings.forget(&me);
  CHECK(mine.unique());
  CHECK(landings.size() == 1);
  CHECK(landings.take(head_of(Kind::test, 1, "b"), kBytes).data() == theirs.data());
  landings.forget(&other);
}

TEST_CASE("small bodies are not expected") {
  Landings landings;
  landings.expect(&landings, Kind::test, 1, "a", Blob::allocate(kBytes - 1));
  CHECK(landings.size() == 0);
}
