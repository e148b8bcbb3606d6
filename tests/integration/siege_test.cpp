// Strangers at the port of a run: it neither stops nor grows, and its result is right.

#include <condition_variable>
#include <deque>
#include <mutex>

#include "host/base/random.hpp"
#include "host/wire/frame.hpp"
#include "tests/host/net/raw_socket.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

/// Resident memory of a process in MB; 0 if a sanitizer makes it meaningless.
double resident_mb([[maybe_unused]] pid_t process) {
#ifdef ACTORHOST_SANITIZED
  return 0;
#else
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * 4096 / 1e6;
#endif
}

std::string random_bytes(Rng& rng, size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.next());
  return bytes;
}

/// The first message of a valid handshake (host/net/handshake.cpp).
std::string hello(Rng& rng) {
  std::string bytes = "ACTORHST";
  bytes += static_cast<char>(kWireVersion & 0xff);
  bytes += static_cast<char>(kWireVersion >> 8);
  return bytes + std::string(6, '\0') + random_bytes(rng, 32);
}

/// Random bytes, with or without a valid beginning.
std::string stranger_string(Rng& rng) {
  switch (rng.below(6)) {
    case 0: return "ACTORHST" + random_bytes(rng, rng.below(100));
    case 1: return hello(rng) + random_bytes(rng, rng.below(200));
    case 2: return hello(rng).substr(0, rng.below(48));
    case 3: return "GET /" + random_bytes(rng, 8) + " HTTP/1.1\r\n\r\n";
    case 4: return "\x16\x03\x01" + random_bytes(rng, rng.below(600));
    default: return random_bytes(rng, rng.below(5000));
  }
}

/// Makes a connection for each string. Some are left open, some are closed, and most are reset, because closed
/// connections use up ports. Every eighth connection waits until the host has handled it: the kernel delays connections
/// over the backlog by a second.
void besiege(const std::string& endpoint, uint64_t seed, uint64_t stream, int strings) {
  constexpr size_t kOpen = 40;
  Rng rng(seed, stream);
  std::deque<RawSocket> open;
  for (int i = 0; i < strings; ++i) {
    RawSocket stranger = RawSocket::connect_to(endpoint);
    if (i % 8 == 0) {
      stranger.write(random_bytes(rng, 100));
      stranger.read_to_end();
      continue;
    }
    const bool half_open = rng.below(8) == 0;
    if (rng.below(8) != 0) stranger.reset_when_closed();
    stranger.write(stranger_string(rng));
    if (half_open) open.push_back(std::move(stranger));
    if (open.size() > kOpen) open.pop_front();
  }
}

/// A stranger that sends a byte a second, and reconnects when it is disconnected.
class SlowStranger : private NonCopyable {
 public:
  explicit SlowStranger(const std::string& endpoint) : thread_([this, endpoint] { run(endpoint); }) {}
  ~SlowStranger() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void run(const std::string& endpoint) {
    RawSocket socket = RawSocket::connect_to(endpoint);
    std::unique_lock lock(mutex_);
    for (size_t i = 0; !over_; ++i) {
      if (!socket.write(std::string(1, "ACTORHST"[i % 8]))) socket = RawSocket::connect_to(endpoint);
      changed_.wait_for(lock, std::chrono::seconds(1), [this] { return over_; });
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace

TEST_CASE("thousands of random strings at a job's port change neither its result nor its memory", "[deep]") {
  constexpr uint64_t kSeed = 21;
  constexpr int kThreads = 4;
  // For a hundred thousand: ACTORHOST_RANDOM_STRINGS=100000.
  const int each = static_cast<int>(number_of("ACTORHOST_RANDOM_STRINGS", 2000)) / kThreads;
  const JobFolder folder;
  Hosts hosts(folder, 2, {"-n", "1", "--print", "all", "--inject", "delay=const(0.001)", "jobs/siege.lua"});
  REQUIRE(hosts[0].wait_for_output("well under way", 20));
  INFO("seed " << kSeed);

  besiege(hosts.endpoint(), kSeed, 0, 500);  // until allocators and stacks have their size
  const double before = resident_mb(hosts[0].pid());
  {
    const SlowStranger slow(hosts.endpoint());
    std::vector<std::thread> strangers;
    for (uint64_t stream = 1; stream <= kThreads; ++stream) {
      strangers.emplace_back(besiege, hosts.endpoint(), kSeed, stream, each);
    }
    for (std::thread& stranger : strangers) stranger.join();
  }
  const double after = resident_mb(hosts[0].pid());
  REQUIRE(hosts[0].running());
  folder.write("enough", "");
  const auto codes = hosts.wait(20);
  INFO(hosts.describe());
  if (std::getenv("ACTORHOST_RANDOM_STRINGS") != nullptr)
    WARN(each * kThreads << " strings, " << before << " MB before, " << after << " MB after");
  CHECK(codes == std::vector<int>{0, 0});
  CHECK(count_of(hosts.out(), "not counted: 0, lost: 0\n") == 2);
  CHECK(after - before < 16);
  CHECK(count_of(hosts[0].err(), "\n") < 100);
}
