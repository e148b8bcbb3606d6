#include "host/mapreduce/rows/value_hash.hpp"

#include <initializer_list>
#include <utility>

#include "host/wire/carried_value.hpp"
#include "tests/test.hpp"

namespace {

uint64_t hash_of(std::initializer_list<int> list) {
  std::string bytes;
  for (const int byte : list) bytes += static_cast<char>(byte);
  return value_hash(bytes);
}

}  // namespace

TEST_CASE("a table has one hash, whatever the order of its keys") {
  // {a = 1, b = {x = true, y = false}}
  const uint64_t one = hash_of({0x09, 2, 0x21, 'a', 6, 1, 0, 0, 0, 0x21, 'b', 0x09, 2, 0x21, 'x', 2, 0x21, 'y', 1});
  CHECK(one == hash_of({0x09, 2, 0x21, 'b', 0x09, 2, 0x21, 'y', 1, 0x21, 'x', 2, 0x21, 'a', 6, 1, 0, 0, 0}));
  CHECK(one != hash_of({0x09, 2, 0x21, 'a', 6, 2, 0, 0, 0, 0x21, 'b', 0x09, 2, 0x21, 'x', 2, 0x21, 'y', 1}));
  CHECK(one != hash_of({0x09, 2, 0x21, 'b', 6, 1, 0, 0, 0, 0x21, 'a', 0x09, 2, 0x21, 'x', 2, 0x21, 'y', 1}));
  CHECK(one != hash_of({0x09, 2, 0x21, 'a', 6, 1, 0, 0, 0, 0x21, 'b', 0x09, 2, 0x21, 'x', 1, 0x21, 'y', 2}));
}

TEST_CASE("an array has one hash, as items or as keys, and its order counts") {
  const uint64_t items = hash_of({0x0c, 3, 0x21, 'p', 0x21, 'q'});
  CHECK(items == hash_of({0x09, 2, 6, 2, 0, 0, 0, 0x21, 'q', 6, 1, 0, 0, 0, 0x21, 'p'}));
  CHECK(items == hash_of({0x0a, 3, 0, 0x21, 'p', 0x21, 'q'}));  // a hole in slot 0
  CHECK(items != hash_of({0x0c, 3, 0x21, 'q', 0x21, 'p'}));
  CHECK(hash_of({0x08}) != items);
}

TEST_CASE("tensors of a table are hashed by their content") {
  // {[first_key] = tensor 0, [second_key] = tensor 1}, of one element each
  const auto packed = [](int first_key, int second_key, double first, double second) {
    std::string encoded("\x09\x02", 2);
    for (const auto& [key, place] : {std::pair{first_key, 0.0}, {second_key, 1.0}}) {
      const double unused = 0;
      encoded += {'\x21', static_cast<char>(key), '\x12'};
      encoded.append(reinterpret_cast<const char*>(&place), sizeof place);
      encoded.append(reinterpret_cast<const char*>(&unused), sizeof unused);
    }
    LuaValue value{Blob::copy_of(encoded), {}};
    for (const double element : {first, second}) {
      value.tensors.push_back({{Dtype::f64, {1}}, Blob::copy_of(&element, sizeof element)});
    }
    return value_hash(pack_row(pack_value(std::move(value))));
  };
  CHECK(packed('a', 'b', 7, 8) == packed('b', 'a', 8, 7));
  CHECK(packed('a', 'b', 7, 8) != packed('b', 'a', 7, 8));
  CHECK(packed('a', 'b', 7, 8) != packed('a', 'b', 7, 9));
}

TEST_CASE("malformed bytes have a hash, cut anywhere") {
  const std::string whole("\x0d\x03\x01\x06\x01\x00\x00\x00\x21k\x21v\x22no", 14);
  for (size_t size = 0; size <= whole.size(); ++size) CHECK(value_hash(whole.substr(0, size)) != 0);
  CHECK(value_hash(std::string(100000, '\x0c')) != 0);
}

TEST_CASE("a tensor index outside the list counts as no tensor, whatever its value") {
  const auto hash_at = [](double place) {
    const double unused = 0;
    std::string encoded = "\x12";
    encoded.append(reinterpret_cast<const char*>(&place), sizeof place);
    encoded.append(reinterpret_cast<const char*>(&unused), sizeof unused);
    const double element = 7;
    LuaValue value{Blob::copy_of(encoded), {}};
    value.tensors.push_back({{Dtype::f64, {1}}, Blob::copy_of(&element, sizeof element)});
    return value_hash(pack_row(pack_value(std::move(value))));
  };
  CHECK(hash_at(0) != hash_at(1));
  for (const double place : {-1.0, 0x1p64, 2.1e155, -2.1e155, std::nan(""), HUGE_VAL}) {
    CAPTURE(place);
    CHECK(hash_at(place) == hash_at(1));
  }
}
