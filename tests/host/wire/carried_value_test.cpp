#include "host/wire/carried_value.hpp"

#include "tests/test.hpp"

TEST_CASE("a value of no bytes, which a stranger may send, can be packed and unpacked") {
  const PackedValue packed = pack_value(LuaValue{});
  CHECK(packed.body.empty());
  const auto value = required(unpack_value(packed));
  REQUIRE(std::holds_alternative<LuaValue>(*value));
  CHECK(std::get<LuaValue>(*value).encoded.empty());
}
