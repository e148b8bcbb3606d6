#include "host/wire/packer.hpp"

#include "host/base/random.hpp"
#include "host/wire/message.hpp"
#include "host/wire/small_bytes.hpp"
#include "tests/test.hpp"

namespace {

int g_checked_lists = 0;

struct ShortList {
  uint8_t size = 0;
  static void fields(auto& m, auto&& field) { field(m.size); }
  bool is_valid() const { return size <= 2; }
};

struct ListOwner {
  ShortList list;
  static void fields(auto& m, auto&& field) { field(m.list); }
  bool is_valid() const {
    g_checked_lists += list.size;
    return true;
  }
};

}  // namespace

TEST_CASE("an unpacker without remaining bytes fails and stays failed") {
  Unpacker unpacker(std::string_view("\x01\x00\x00", 3));
  CHECK(unpacker.get<uint32_t>() == 0);
  CHECK_FALSE(unpacker.ok());
  CHECK(unpacker.get<uint8_t>() == 0);
  CHECK(unpacker.text().empty());
  CHECK(unpacker.count(1) == 0);
  CHECK_FALSE(unpacker.done());
}

TEST_CASE("a string longer than the remaining bytes is refused") {
  const std::string bytes = Packer().put(uint32_t{1000}).bytes() + "short";
  Unpacker unpacker(bytes);
  CHECK(unpacker.text().empty());
  CHECK_FALSE(unpacker.ok());
}

TEST_CASE("a count is refused when the remaining bytes cannot hold the items") {
  const std::string bytes = Packer().put(uint32_t{3}).put(uint64_t{1}).put(uint64_t{2}).bytes();
  Unpacker fits(bytes);
  CHECK(fits.count(5) == 3);
  Unpacker too_many(bytes);
  CHECK(too_many.count(6) == 0);
  CHECK_FALSE(too_many.ok());
}

TEST_CASE("random bytes are unpacked without reading past them") {
  const uint64_t seed = 5;
  Rng rng(seed);
  size_t whole = 0;
  for (int round = 0; round < 100000; ++round) {
    std::string bytes(rng.below(40), '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.below(4) == 0 ? rng.next() : rng.below(4));
    // On the heap with its exact size, so that the address sanitizer detects any overrun.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    Unpacker unpacker({exact.data(), exact.size()});
    size_t read = 0;
    while (unpacker.ok() && !unpacker.done()) {
      switch (rng.below(4)) {
        case 0: unpacker.get<uint8_t>(); break;
        case 1: unpacker.get<double>(); break;
        case 2: read += unpacker.text().size(); break;
        default: read += unpacker.count(4) * size_t{4};
      }
    }
    CHECK(read <= bytes.size() + 40);
    whole += unpacker.done() ? 1 : 0;
  }
  CHECK(whole > 1000);
}

TEST_CASE("small bytes keep their content when copied and moved, inline and on the heap") {
  for (size_t size : {0, 1, 63, 64, 65, 1000}) {
    const std::string text(size, 'x');
    SmallBytes a{std::string_view(text)};
    SmallBytes b = a;
    SmallBytes c = std::move(a);
    CHECK(b.view() == text);
    CHECK(c.view() == text);
    b = SmallBytes(std::string_view("other"));
    CHECK(b.view() == "other");
    b = c;
    CHECK(b.view() == text);
    c = std::move(b);
    CHECK(c.view() == text);
  }
}

TEST_CASE("a message with an invalid inner message is refused before its own check reads the inner message") {
  CHECK(unpack<ListOwner>("\x02").ok());
  CHECK(g_checked_lists == 2);
  CHECK(unpack<ListOwner>("\x03").error().code == Code::bad_data);
  CHECK(g_checked_lists == 2);
}
