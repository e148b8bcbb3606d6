#include "host/net/handshake.hpp"

#include "host/base/random.hpp"
#include "tests/test.hpp"

using HandshakeSide = Handshake::Side;

namespace {

Handshake::Nonce nonce_of(unsigned char first) {
  Handshake::Nonce nonce{};
  nonce[0] = first;
  return nonce;
}

Status give(Handshake& to, std::string bytes) {
  return to.input({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
}

struct Pair {
  Pair(const char* dialler_token, const char* listener_token)
      : dialler(HandshakeSide::dialler, dialler_token, nonce_of(1), "10.0.0.1:4000"),
        listener(HandshakeSide::listener, listener_token, nonce_of(2), "10.0.0.2:999") {}

  /// Runs both ends to the end; stores the outcome of each.
  void run() {
    REQUIRE(give(listener, dialler.output()).ok());
    REQUIRE(give(dialler, listener.output()).ok());
    at_listener = give(listener, dialler.output());
    at_dialler = give(dialler, listener.output());
  }

  Handshake dialler;
  Handshake listener;
  Status at_dialler;
  Status at_listener;
};

}  // namespace

TEST_CASE("two ends with one token prove it to each other") {
  for (const char* token :
       {"", "secret", "a token with \xc3\xbc and more than sixty-four bytes of text to be hashed first"}) {
    Pair pair(token, token);
    pair.run();
    CHECK(pair.at_dialler.ok());
    CHECK(pair.at_listener.ok());
    CHECK(pair.dialler.proved());
    CHECK(pair.listener.proved());
    CHECK(pair.dialler.wanted() == 0);
    CHECK(pair.listener.wanted() == 0);
  }
}

TEST_CASE("both ends refuse different tokens with an error") {
  Pair pair("secret", "Secret");
  pair.run();
  REQUIRE_FALSE(pair.at_dialler.ok());
  REQUIRE_FALSE(pair.at_listener.ok());
  CHECK(pair.at_dialler.error().code == Code::refused);
  CHECK(pair.at_dialler.error().message == "the token of 10.0.0.1:4000 differs from ours");
  CHECK(pair.at_listener.error().message == "the token of 10.0.0.2:999 differs from ours");
  CHECK_FALSE(pair.dialler.proved());
  CHECK_FALSE(pair.listener.proved());
}

TEST_CASE("a dialler can prove the reading token, which the listener recognises; a listener cannot") {
  const std::string reading = reading_token("secret");
  CHECK(reading == "read-1deca629b3052e954e79fa80524dd623c477e6c12e9a4de2893a6c61558a7bc9");
  CHECK(is_reading_token(reading));
  CHECK_FALSE(is_reading_token("secret"));
  CHECK_FALSE(is_reading_token("read-" + std::string(64, 'g')));
  CHECK(reading_token(reading) == reading);
  CHECK(reading_token("Secret") != reading);
  Pair reader(reading.c_str(), "secret");
  reader.run();
  CHECK(reader.at_dialler.ok());
  CHECK(reader.at_listener.ok());
  CHECK(reader.listener.reads_only());
  Pair full("secret", "secret");
  full.run();
  CHECK(full.at_listener.ok());
  CHECK_FALSE(full.listener.reads_only());
  Pair other(reading_token("Secret").c_str(), "secret");
  other.run();
  CHECK_FALSE(other.at_listener.ok());
  CHECK_FALSE(other.listener.reads_only());
  Pair swapped("secret", reading.c_str());  // a reader that claims to be a host
  swapped.run();
  CHECK_FALSE(swapped.at_listener.ok());
  CHECK_FALSE(swapped.at_dialler.ok());
}

TEST_CASE("another program is refused at its first message") {
  Handshake dialler(HandshakeSide::dialler, "t", nonce_of(1), "10.0.0.1:80");
  std::string reply = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html; charset=utf-8\r\n";
  reply.resize(dialler.wanted());
  const Status status = give(dialler, reply);
  CHECK(failure_of(status).code == Code::refused);
  CHECK(failure_of(status).message == "10.0.0.1:80 does not answer as an actorhost");
}

TEST_CASE("both ends refuse another version and name both numbers") {
  Pair pair("t", "t");
  std::string hello = pair.dialler.output();
  hello[8] = 77;
  CHECK(failure_of(give(pair.listener, hello)).message.find("version 77") != std::string::npos);
  std::string reply = pair.listener.output();
  REQUIRE(reply.size() == Handshake::kHelloBytes);
  reply[8] = 78;
  CHECK(give(pair.dialler, reply).error().message.find("version 78") != std::string::npos);
}

TEST_CASE("a listener that echoes the dialler proves nothing") {
  Handshake dialler(HandshakeSide::dialler, "t", nonce_of(1), "mirror");
  REQUIRE(give(dialler, dialler.output()).ok());
  CHECK_FALSE(give(dialler, dialler.output()).ok());
}

TEST_CASE("a recorded proof is refused after a fresh nonce") {
  Pair first("t", "t");
  REQUIRE(give(first.listener, first.dialler.output()).ok());
  REQUIRE(give(first.dialler, first.listener.output()).ok());
  const std::string proof = first.dialler.output();
  Handshake second(HandshakeSide::listener, "t", nonce_of(3), "replayer");
  Handshake same(HandshakeSide::dialler, "t", nonce_of(1), "x");
  REQUIRE(give(second, same.output()).ok());
  CHECK_FALSE(give(second, proof).ok());
}

TEST_CASE("any changed bit of any message ends the handshake unproved") {
  Rng rng(4);
  for (int round = 0; round < 2000; ++round) {
    Pair pair("t", "t");
    const uint64_t which = rng.below(4);
    bool refused = false;
    for (uint64_t message = 0; message < 4 && !refused; ++message) {
      Handshake& from = message % 2 == 0 ? pair.dialler : pair.listener;
      Handshake& to = message % 2 == 0 ? pair.listener : pair.dialler;
      std::string bytes = from.output();
      if (message == which) bytes.at(rng.below(bytes.size())) ^= static_cast<char>(1U << rng.below(8));
      refused = !give(to, bytes).ok();
    }
    INFO("round " << round << ", message " << which);
    CHECK(refused);
    CHECK_FALSE((pair.dialler.proved() && pair.listener.proved()));
  }
}

TEST_CASE("fresh nonces differ") { CHECK(Handshake::fresh_nonce() != Handshake::fresh_nonce()); }
