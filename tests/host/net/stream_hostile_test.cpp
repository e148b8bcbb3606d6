// Strangers at the port, peers that break the protocol or vanish, and closing under traffic: one test for each known
// problem of NNG.

#include "host/base/random.hpp"
#include "tests/host/net/raw_socket.hpp"
#include "tests/host/net/stream_cluster.hpp"
#include "tests/host/net/transport_contract.hpp"
#include "tests/test.hpp"

namespace {

Frame note(uint32_t tag) {
  Frame frame = test_frame(kNoAddress, kNoAddress, tag);
  frame.kind = Kind::cluster_first;
  return frame;
}

/// Resident memory in MB; 0 where a sanitizer makes it meaningless.
double resident_mb() {
#ifdef ACTORHOST_SANITIZED
  return 0;
#else
  std::ifstream file("/proc/self/statm");
  size_t all = 0;
  size_t resident = 0;
  file >> all >> resident;
  return static_cast<double>(resident) * 4096 / 1e6;
#endif
}

std::string random_bytes(Rng& rng, size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.next());
  return bytes;
}

/// A listening host with an honest peer on a link, while strangers attack the port.
struct Besieged {
  explicit Besieged(const StreamOptions& options = {.token = "t"}) : host(options), friendly(options) {
    url = host.transport.listen("tcp://127.0.0.1:0").value();
    link = friendly_link();
    // Until then it counts as a connection without a proof.
    if (!host.events.wait([this] { return !host.events.ups.empty(); })) throw std::runtime_error("no link");
  }
  /// Opens another link of the honest peer. With a short handshake limit, a busy machine may need several attempts.
  LinkId friendly_link() {
    const SteadyClock clock;
    const double deadline = clock.now() + kPatience;
    Result<LinkId> dialled = friendly.transport.dial(url, kPatience);
    while (!dialled.ok() && clock.now() < deadline) dialled = friendly.transport.dial(url, kPatience);
    return dialled.value();
  }
  /// Checks that the link of the honest peer still works.
  void check_unharmed() {
    const size_t before = count();
    REQUIRE(friendly.transport.send_on(link, note(1)).ok());
    CHECK(host.events.wait([&] { return host.events.frames.size() == before + 1; }));
    CHECK(friendly.events.downs.empty());
  }
  size_t count() {
    size_t frames = 0;
    host.events.wait([&] {
      frames = host.events.frames.size();
      return true;
    });
    return frames;
  }

  StreamHost host;
  StreamHost friendly;
  std::string url;
  LinkId link = 0;
};

}  // namespace

TEST_CASE("sixteen bytes with a huge length allocate nothing and have no effect") {
  Besieged besieged({.token = "t", .handshake_seconds = 0.05});
  const double before = resident_mb();
  RawSocket stranger = RawSocket::connect_to(besieged.url);
  REQUIRE(stranger.write(std::string("\0SP\0\0\x10\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 16)));
  CHECK(stranger.read_to_end().empty());  // closed at the deadline of the handshake
  CHECK(resident_mb() - before < 8);
  besieged.check_unharmed();
}

TEST_CASE("a peer with a valid proof cannot cause allocations by a header either") {
  Besieged besieged;
  const double before = resident_mb();
  Frame frame = note(1);
  std::string header(kHeaderBytes, '\0');
  encode_header(frame, reinterpret_cast<std::byte*>(header.data()));
  SECTION("a length over the limit ends the link") {
    std::memset(&header[24], 0xff, 8);
    RawSocket peer = proved_socket(besieged.url, "t");
    REQUIRE(peer.write(header));
    CHECK(peer.read_to_end().empty());
    REQUIRE(besieged.host.events.wait([&] { return !besieged.host.events.downs.empty(); }));
    CHECK(besieged.host.events.downs[0].reason.find("malformed frame") == 0);
  }
  SECTION("a length at the limit takes memory only for what comes") {
    const uint64_t claimed = FrameLimits().body_bytes;
    std::memcpy(&header[24], &claimed, sizeof claimed);
    RawSocket peer = proved_socket(besieged.url, "t");
    REQUIRE(peer.write(header + std::string(1000, 'x')));
    besieged.check_unharmed();
  }
  CHECK(resident_mb() - before < 8);
  besieged.check_unharmed();
}

TEST_CASE("thousands of random strings at the port do not change memory and links", "[deep]") {
  const uint64_t seed = 12;
  constexpr int kThreads = 4;
  // Each string uses a connection. A hundred thousand take a minute or more: ACTORHOST_RANDOM_STRINGS=100000.
  const char* wanted = std::getenv("ACTORHOST_RANDOM_STRINGS");
  const int strings_each = (wanted != nullptr ? std::atoi(wanted) : 2000) / kThreads;
  Besieged besieged;
  const auto bombard = [&](uint64_t stream, int strings) {
    Rng rng(seed, stream);
    for (int i = 0; i < strings; ++i) {
      RawSocket stranger = RawSocket::connect_to(besieged.url);
      stranger.reset_when_closed();
      std::string bytes = random_bytes(rng, rng.below(200));
      // Some begin with a valid magic.
      if (rng.below(4) == 0) bytes.insert(0, "ACTORHST\x01");
      stranger.write(bytes);
    }
  };
  INFO("seed " << seed);
  bombard(0, 500);  // until allocators and stacks have their final size
  const double before = resident_mb();
  std::vector<std::thread> strangers;
  for (uint64_t stream = 1; stream <= kThreads; ++stream) {
    strangers.emplace_back(bombard, stream, strings_each);
  }
  for (std::thread& stranger : strangers) stranger.join();
  besieged.check_unharmed();
  CHECK(resident_mb() - before < 16);
  CHECK(besieged.host.events.ups.size() == 1);
  CHECK(besieged.host.quiet.lines.size() < 100);
}

TEST_CASE("random bytes after a valid handshake close that link only") {
  const uint64_t seed = 13;
  Rng rng(seed);
  Besieged besieged;
  for (size_t round = 1; round <= 200; ++round) {
    RawSocket peer = proved_socket(besieged.url, "t");
    peer.write(random_bytes(rng, 32 + rng.below(500)));
    INFO("seed " << seed << ", round " << round);
    REQUIRE(besieged.host.events.wait([&] { return besieged.host.events.downs.size() == round; }));
    CHECK(besieged.host.events.downs.back().reason.find("malformed frame") == 0);
  }
  besieged.check_unharmed();
}

TEST_CASE("connections without a proof are bounded in number") {
  Besieged besieged({.token = "t", .handshake_seconds = 1000, .max_unproved = 4});
  {
    std::vector<RawSocket> strangers;
    for (int i = 0; i < 6; ++i) strangers.push_back(RawSocket::connect_to(besieged.url));
    for (size_t i = 4; i < 6; ++i) CHECK(strangers[i].read_to_end().empty());
    CHECK(besieged.host.quiet.has("too many connections"));
    CHECK(besieged.host.transport.counters().refused == 2);
  }
  besieged.friendly_link();
  besieged.check_unharmed();
}

TEST_CASE("connections without a proof are bounded in time") {
  Besieged besieged({.token = "t", .handshake_seconds = 0.2});
  const uint64_t before = besieged.host.transport.counters().refused;
  std::vector<RawSocket> strangers;
  for (int i = 0; i < 6; ++i) strangers.push_back(RawSocket::connect_to(besieged.url));
  for (RawSocket& stranger : strangers) CHECK(stranger.read_to_end().empty());
  CHECK(besieged.host.quiet.has("does not answer as an actorhost within"));
  CHECK(besieged.host.transport.counters().refused == before + 6);
  besieged.friendly_link();
  besieged.check_unharmed();
}

TEST_CASE("a stranger that sends byte by byte does not get more time") {
  Besieged besieged({.token = "t", .handshake_seconds = 0.1});
  RawSocket stranger = RawSocket::connect_to(besieged.url);
  const SteadyClock clock;
  const double before = clock.now();
  while (stranger.write("A") && clock.now() - before < kPatience) std::this_thread::yield();
  CHECK(clock.now() - before < kPatience);
  besieged.check_unharmed();
}

TEST_CASE("a host detects a vanished peer, however its connection ends") {
  for (const bool reset : {false, true}) {
    Besieged besieged;
    {
      RawSocket peer = proved_socket(besieged.url, "t");
      REQUIRE(besieged.host.events.wait([&] { return besieged.host.events.ups.size() == 2; }));
      if (reset) peer.reset_when_closed();
    }
    REQUIRE(besieged.host.events.wait([&] { return besieged.host.events.downs.size() == 1; }));
    CHECK(besieged.host.events.downs[0].reason == "closed by the peer");
    besieged.check_unharmed();
  }
}

TEST_CASE("a host detects the reset of a link with much queued data") {
  for (int round = 0; round < 20; ++round) {
    StreamHost host({.token = "t"});
    const std::string url = host.transport.listen("tcp://127.0.0.1:0").value();
    {
      RawSocket peer = proved_socket(url, "t");
      REQUIRE(host.events.wait([&] { return host.events.ups.size() == 1; }));
      peer.reset_when_closed();
      for (uint32_t tag = 0; tag < 20; ++tag) {
        Frame frame = test_frame(kNoAddress, kNoAddress, tag, 0, 1 << 20);
        REQUIRE(host.transport.send_on(host.events.ups[0].link, std::move(frame)).ok());
      }
      if (round % 2 == 0) peer.read_some();
    }
    CHECK(host.events.wait([&] { return host.events.downs.size() == 1; }));
  }
}

TEST_CASE("closing transports under traffic ends, many times", "[deep]") {
  for (const char* scheme : {"tcp", "ipc"}) {
    for (int round = 0; round < 150; ++round) {
      StreamCluster cluster(2, scheme);
      std::atomic<bool> going{true};
      std::atomic<uint32_t> sent{0};
      std::vector<std::thread> senders;
      for (size_t from = 0; from < 2; ++from) {
        senders.emplace_back([&, from] {
          const Address to = service_address(static_cast<ProcessId>(1 - from));
          for (uint32_t tag = 0; going; ++tag) {
            Frame frame = test_frame(service_address(static_cast<ProcessId>(from)), to, tag, 50, tag % 9 * 10000);
            const Status status = cluster.at(from).send(std::move(frame), 0.01);
            if (!status.ok() && status.error().code == Code::interrupted) return;
            ++sent;
          }
        });
      }
      while (sent < 20 + static_cast<uint32_t>(round)) std::this_thread::yield();
      cluster.at(static_cast<size_t>(round) % 2).close();
      cluster.at(static_cast<size_t>(round + 1) % 2).close();
      going = false;
      for (std::thread& sender : senders) sender.join();
    }
  }
}
