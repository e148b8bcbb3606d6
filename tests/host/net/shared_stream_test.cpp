// Links between processes of one machine: they share memory where both can, go on over their connection otherwise, and
// end when the other process dies or damages the memory.

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "host/base/random.hpp"
#include "host/net/port.hpp"
#include "host/net/shared_memory.hpp"
#include "tests/host/net/raw_socket.hpp"
#include "tests/host/net/stream_cluster.hpp"
#include "tests/host/net/transport_contract.hpp"
#include "tests/test.hpp"

namespace {

size_t mappings() {
  std::ifstream file("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(file, line);) count += line.find("memfd:actorhost") != std::string::npos ? 1 : 0;
  return count;
}

Frame service_note(uint32_t tag, size_t body_bytes = 0) {
  Frame frame = test_frame(kNoAddress, kNoAddress, tag, 0, body_bytes);
  frame.kind = Kind::cluster_first;
  return frame;
}

struct LinkedHosts {
  explicit LinkedHosts(const StreamOptions& listening = {}, const StreamOptions& dialling = {},
                       const char* scheme = "tcp", std::function<bool(LinkId, const Frame&)> on_frame = {})
      : a(listening), b(dialling) {
    a.events.on_frame = std::move(on_frame);
    const std::string url = std::string(scheme) == "ipc" ? fresh_ipc_url() : std::string(scheme) + "://127.0.0.1:0";
    link = b.transport.dial(a.transport.listen(url).value(), kPatience).value();
    REQUIRE(a.events.wait([this] { return !a.events.ups.empty(); }));
  }
  void check_frames() {
    for (uint32_t tag = 0; tag < 100; ++tag) REQUIRE(b.transport.send_on(link, service_note(tag, tag * 1000)).ok());
    REQUIRE(a.events.wait([this] { return a.events.frames.size() == 100; }));
    for (uint32_t tag = 0; tag < 100; ++tag) CHECK(is_intact(a.events.frames[tag].second, 0, tag * 1000));
  }

  StreamHost a;
  StreamHost b;
  LinkId link = 0;
};

/// A stranger with the token that offers `offer` to a listening host.
struct Stranger {
  explicit Stranger(std::string_view offer) {
    socket.emplace(proved_socket(host.transport.listen("tcp://127.0.0.1:0").value(), "t", true));
    REQUIRE(socket->write(offer));
    verdict = socket->read_some();
  }

  StreamHost host{StreamOptions{.token = "t"}};
  std::optional<RawSocket> socket;
  std::string verdict;
};

std::string offer_of(uint32_t pid, int fd) {
  std::string offer(SharedMemory::kOfferBytes, '\0');
  const auto number = static_cast<uint32_t>(fd);
  std::memcpy(offer.data(), &pid, sizeof pid);
  std::memcpy(offer.data() + sizeof pid, &number, sizeof number);
  return offer;
}

const auto kOwnPid = static_cast<uint32_t>(::getpid());

/// False after kPatience seconds.
bool holds_soon(const std::function<bool()>& condition) {
  const SteadyClock clock;
  const double deadline = clock.now() + kPatience;
  while (!condition() && clock.now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

constexpr const char* kPortVariable = "ACTORHOST_TEST_PORT";

/// Starts this program as a process that sends frames to the host at `port` until it is killed.
pid_t start_sender(const std::string& port) {
  std::string test = "sends frames to a host until it is killed";
  std::array<char*, 3> arguments{test.data(), test.data(), nullptr};
  ::setenv(kPortVariable, port.c_str(), 1);
  pid_t child = -1;
  REQUIRE(::posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ) == 0);
  return child;
}

}  // namespace

TEST_CASE("a link within a machine uses shared memory, which no file outlives") {
  const char* scheme = GENERATE("tcp", "ipc");
  {
    LinkedHosts hosts({}, {}, scheme);
    CHECK(mappings() == 2);  // one for each end, both in this process
    hosts.check_frames();
  }
  CHECK(mappings() == 0);
}

TEST_CASE("a link shares no memory if one end does not want to") {
  const bool listening = GENERATE(false, true);
  LinkedHosts hosts({.share_memory = listening}, {.share_memory = !listening});
  CHECK(mappings() == 0);
  hosts.check_frames();
}

TEST_CASE("an offer of other memory is declined once, and the link goes on over its connection") {
  const Fd null(::open("/dev/null", O_RDWR));
  const Fd unsealed(::memfd_create("other", 0));
  auto made = SharedMemory::make();
  REQUIRE(made.ok());
  uint32_t own_fd = 0;
  std::memcpy(&own_fd, made->offer().data() + 4, sizeof own_fd);
  struct stat info {};
  REQUIRE(::fstat(static_cast<int>(own_fd), &info) == 0);
  REQUIRE(::ftruncate(unsealed.get(), info.st_size) == 0);
  const std::string offers[] = {
      offer_of(0, 0),
      offer_of(kOwnPid, null.get()),
      offer_of(kOwnPid, unsealed.get()),
      offer_of(kOwnPid, 1'000'000),
      offer_of(kOwnPid, static_cast<int>(own_fd)),  // with another nonce
      offer_of(UINT32_MAX, 3),
  };
  for (const std::string& offer : offers) {
    Stranger stranger(offer);
    CHECK(stranger.verdict == std::string(8, '\0'));
    REQUIRE(stranger.host.events.wait([&] { return stranger.host.events.ups.size() == 1; }));
    CHECK(stranger.host.quiet.has("no shared memory with"));
    REQUIRE(stranger.host.transport.send_on(stranger.host.events.ups[0].link, service_note(1)).ok());
    CHECK(stranger.socket->read_some().size() == kHeaderBytes);
  }
}

TEST_CASE("a process that writes nonsense into the shared memory loses its link only") {
  Rng rng(Catch::rngSeed());
  for (int round = 0; round < 30; ++round) {
    auto memory = SharedMemory::make();
    REQUIRE(memory.ok());
    const auto offer = memory->offer();
    Stranger stranger({reinterpret_cast<const char*>(offer.data()), offer.size()});
    CHECK(stranger.verdict == std::string("\1\0\0\0\0\0\0\0", 8));
    REQUIRE(stranger.host.events.wait([&] { return stranger.host.events.ups.size() == 1; }));
    RingState& state = memory->state(0);
    std::vector<std::byte> noise(1 + rng.below(5000));
    for (std::byte& byte : noise) byte = static_cast<std::byte>(rng.next());
    if (round % 2 == 0) {
      std::copy(noise.begin(), noise.end(), memory->bytes(0));  // no frame
      state.size.store(kFirstRingBytes);
      state.written.store(std::max(noise.size(), kHeaderBytes));
    } else {
      state.size.store(round % 4 == 1 ? rng.next() : kFirstRingBytes);
      state.written.store(round % 4 == 1 ? noise.size() : kFirstRingBytes + 1 + rng.below(1'000'000'000));
    }
    state.has_bytes.ring();
    REQUIRE(stranger.host.events.wait([&] { return stranger.host.events.downs.size() == 1; }));
    const std::string reason = stranger.host.events.downs[0].reason;
    INFO(reason);
    CHECK((reason.find("malformed frame") == 0 || reason.find("has damaged the shared memory") != std::string::npos));
  }
}

TEST_CASE("frames arrive while the node that has polled for them computes, and while it sleeps") {
  const bool share = GENERATE(true, false);
  const StreamOptions options{.share_memory = share};
  LinkedHosts hosts(options, options);
  hosts.a.transport.assign(hosts.a.events.ups[0].link, 1);
  const SteadyClock clock;
  Port port(hosts.a.transport, 0, clock);
  const auto any = [](const Frame&) { return true; };
  // The node polls often: the link's thread leaves the frames to it.
  for (uint32_t tag = 0; tag < 200; ++tag) {
    REQUIRE(hosts.b.transport.send_on(hosts.link, test_frame(5, 0, tag)).ok());
    CHECK(port.receive(any, clock.now() + kPatience).value().tag == tag);
  }
  const auto arrived = [&](size_t frames) {
    return hosts.a.events.wait([&] { return hosts.a.events.frames.size() == frames; });
  };
  REQUIRE(hosts.b.transport.send_on(hosts.link, service_note(1)).ok());
  CHECK(arrived(1));  // although this thread, the node's, does not poll
  std::thread sender([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    (void)hosts.b.transport.send_on(hosts.link, service_note(2));
  });
  CHECK_FALSE(port.receive(any, clock.now() + 0.3).ok());
  sender.join();
  CHECK(arrived(2));
}

TEST_CASE("a sleeping node reads its links itself") {
  if (Bell::most_at_once() == 0) {
    WARN("test-skipped: the system cannot wait for several bells");
    return;
  }
  std::vector<std::thread::id> readers;
  LinkedHosts hosts({}, {}, "tcp", [&](LinkId, const Frame&) {
    readers.push_back(std::this_thread::get_id());
    return false;
  });
  hosts.a.transport.assign(hosts.a.events.ups[0].link, 1);
  constexpr uint32_t kFrames = 20;
  std::thread sender([&] {
    for (uint32_t tag = 0; tag <= kFrames; ++tag) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      (void)hosts.b.transport.send_on(hosts.link, tag < kFrames ? service_note(tag) : test_frame(5, 0, tag));
    }
  });
  const SteadyClock clock;
  Port port(hosts.a.transport, 0, clock);
  const auto got = port.receive([](const Frame&) { return true; }, clock.now() + kPatience);
  sender.join();
  REQUIRE(got.ok());
  CHECK(got->tag == kFrames);
  CHECK(std::ranges::count(readers, std::this_thread::get_id()) > kFrames / 2);  // the link's thread may read the first
}

TEST_CASE("a node that begins to sleep while the link's thread reads is woken by the next frame") {
  std::atomic<int> entered{0};
  std::atomic<bool> leave{false};
  LinkedHosts hosts({}, {}, "tcp", [&](LinkId, const Frame&) {
    if (++entered == 1) holds_soon([&] { return leave.load(); });  // the link's thread is in the middle of a read
    return true;
  });
  hosts.a.transport.assign(hosts.a.events.ups[0].link, 1);
  REQUIRE(hosts.b.transport.send_on(hosts.link, service_note(1)).ok());
  REQUIRE(holds_soon([&] { return entered == 1; }));
  REQUIRE(hosts.b.transport.send_on(hosts.link, service_note(2)).ok());  // unread bytes
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the node sleeps
    leave = true;
    holds_soon([&] { return entered == 2; });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the link's thread has ended its read
    (void)hosts.b.transport.send_on(hosts.link, test_frame(5, 0, 7));
  });
  const SteadyClock clock;
  Port port(hosts.a.transport, 0, clock);
  const double begun = clock.now();
  CHECK(port.receive([](const Frame&) { return true; }, begun + 10).ok());
  CHECK(clock.now() - begun < 5);  // the last look at the deadline finds the frame too
  other.join();
}

TEST_CASE("nodes that sleep, poll and compute at random moments lose no wake-up") {
  LinkedHosts hosts;
  hosts.a.transport.assign(hosts.a.events.ups[0].link, 1);
  hosts.b.transport.assign(hosts.link, 0);
  const SteadyClock clock;
  constexpr Address kNodes = 3;  // of each process: 0 to 2, 3 to 5
  constexpr uint32_t kRounds = 1500;
  std::vector<std::unique_ptr<Port>> ports;
  for (Address node = 0; node < 2 * kNodes; ++node) {
    StreamHost& own = node < kNodes ? hosts.a : hosts.b;
    StreamHost& other = node < kNodes ? hosts.b : hosts.a;
    other.transport.set_route(node, node < kNodes ? 0 : 1);
    ports.push_back(std::make_unique<Port>(own.transport, node, clock));
  }
  std::array<std::atomic<uint32_t>, 2 * kNodes> rounds{};
  const auto run = [&](Address node) {
    Rng rng(Catch::rngSeed() + node);
    for (uint32_t tag = 0; tag < kRounds; ++tag) {
      const size_t bytes = rng.below(100) == 0 ? 200'000 : 0;
      if (!ports[node]->send(test_frame(node, (node + kNodes) % (2 * kNodes), tag, 0, bytes)).ok()) return;
      const auto got =
          ports[node]->receive([&](const Frame& frame) { return frame.tag == tag; }, clock.now() + kPatience);
      if (!got.ok()) return;
      ++rounds[node];
      if (rng.below(4) == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(rng.below(rng.below(20) == 0 ? 6000 : 300)));
    }
  };
  std::vector<std::thread> nodes;
  for (Address node = 0; node < 2 * kNodes; ++node) nodes.emplace_back(run, node);
  for (std::thread& node : nodes) node.join();
  for (const auto& count : rounds) CHECK(count == kRounds);
}

TEST_CASE("an offer that never arrives ends the connection at the deadline of the handshake") {
  StreamHost host({.token = "t", .handshake_seconds = 0.2});
  RawSocket socket = proved_socket(host.transport.listen("tcp://127.0.0.1:0").value(), "t", true);
  CHECK(socket.read_to_end().empty());
  CHECK(host.events.ups.empty());
}

TEST_CASE("sends frames to a host until it is killed", "[.]") {
  const char* const port = std::getenv(kPortVariable);
  REQUIRE(port != nullptr);
  StreamHost host;
  const auto link = host.transport.dial(std::string("tcp://127.0.0.1:") + port, kPatience);
  for (uint32_t tag = 0; link.ok(); ++tag) {
    while (!host.transport.send_on(*link, service_note(tag, tag % 7 * 50'000)).ok()) std::this_thread::yield();
  }
}

TEST_CASE("a host notices at once that a process dies in the middle of its frames", "[deep]") {
  StreamHost host;
  const std::string url = host.transport.listen("tcp://127.0.0.1:0").value();
  const std::string port = url.substr(url.rfind(':') + 1);
  Rng rng(Catch::rngSeed());
  const SteadyClock clock;
  double longest = 0;
  for (size_t round = 1; round <= 500; ++round) {
    const pid_t child = start_sender(port);
    REQUIRE(host.events.wait([&] { return host.events.ups.size() == round && !host.events.frames.empty(); }));
    std::this_thread::sleep_for(std::chrono::microseconds(rng.below(3000)));
    const double killed = clock.now();
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    REQUIRE(host.events.wait([&] { return host.events.downs.size() == round; }));
    longest = std::max(longest, clock.now() - killed);
    host.events.wait([&] {
      for (size_t i = 0; i < host.events.frames.size(); ++i) {
        const Frame& frame = host.events.frames[i].second;
        CHECK(frame.tag == i);
        CHECK(is_intact(frame, 0, i % 7 * 50'000));
      }
      host.events.frames.clear();
      return true;
    });
  }
  host.transport.close();  // destroys the last link
  CHECK(mappings() == 0);
  CHECK(longest < 5);
}
