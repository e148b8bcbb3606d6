// Locks from C++, each figure beside a bare round trip in the same run, in turns: lock + read + update + unlock of a
// shared, uncontended partition of 100 floats, by a node of the owner's process and by a node over loopback TCP.
// Usage: lock_bench [rounds]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "host/cluster/node.hpp"
#include "host/engine/share/lock_client.hpp"
#include "tests/bench/net_figures.hpp"
#include "tests/bench/net_yardsticks.hpp"

using namespace actorhost;

namespace {

constexpr int kCalls = 2000;  // a round
constexpr size_t kValueBytes = 400;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "lock_bench: %s\n", what.c_str());
  std::_Exit(1);
}
void must(const Status& status) {
  if (!status.ok()) die(status.error().message);
}
template <typename T>
T must(Result<T> result) {
  if (!result) die(result.error().message);
  return *std::move(result);
}

/// Microseconds of one call, the mean of kCalls calls.
double time_of(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) call();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return took.count() * 1e6 / kCalls;
}

// --- a run

/// One process of a run, with one node.
class Place final : public ClusterEvents {
 public:
  explicit Place(ClusterConfig config) : log_(LogLevel::error, [](const LogLine&) {}) {
    job_.receive("job.lua", "return 1");
    config.self.nodes = 1;
    config.self.job_name = job_.name();
    config.self.job_hash = job_.hash();
    cluster_ = std::make_unique<Cluster>(std::move(config), job_, clock_, log_, static_cast<ClusterEvents&>(*this));
    must(cluster_->open());
  }
  ~Place() override {
    client.reset();
    if (courier_) courier_->stop();
    locks.reset();
    node_.reset();
    courier_.reset();
    cluster_->close();
  }
  void begin() {
    must(cluster_->wait_for_start());
    node_ = std::make_unique<Node>(*cluster_, job_, clock_, log_, worker_address(cluster_->local_workers().at(0)));
    courier_ = std::make_unique<ServiceThread>(*cluster_, clock_, log_, courier_address(cluster_->process()));
    locks = std::make_unique<LockService>(*courier_);
    client = std::make_unique<LockClient>(*node_, *courier_, *locks);
    courier_->start();
  }
  std::string url() const { return cluster_->bound_url(); }
  NodeId id() const { return node_->index(); }
  /// The worker of the other process.
  NodeId other() const {
    for (const Member& member : cluster_->membership()->workers()) {
      if (member.id != id()) return member.id;
    }
    die("no worker of another process");
  }
  void wait_until_alone() const {
    while (cluster_->membership()->size() > 1) usleep(1000);
  }

  void cluster_changed() override {}
  Result<bool> start_servers(uint32_t /*action*/) override { return true; }

 private:
  SteadyClock clock_;
  Log log_;
  JobSource job_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Node> node_;
  std::unique_ptr<ServiceThread> courier_;

 public:
  std::unique_ptr<LockService> locks;
  std::unique_ptr<LockClient> client;
};

ClusterConfig coordinator_config() {
  ClusterConfig config;
  config.place = ClusterConfig::Place::coordinator;
  config.url = "tcp://127.0.0.1:0";
  config.self.host = "coordinator";
  config.self.group = 1;
  config.coordinator.run_id = "bench";
  config.coordinator.rendezvous = {2, 2, 30, 0.05};
  return config;
}

ClusterConfig member_config(const std::string& url) {
  ClusterConfig config;
  config.place = ClusterConfig::Place::member;
  config.url = url;
  config.self.host = "member";
  config.self.group = 2;
  config.self.run_id = "bench";
  return config;
}

/// Updates the partition. False until its owner has published it.
bool try_update(LockClient& client, NodeId owner) {
  LockClient::Wanted wanted{.parts = {{{1, 0}, owner}}, .name = "id 0", .where = "bench"};
  auto values = client.lock(std::move(wanted));
  if (!values && values.error().code == Code::bad_argument) return false;
  Blob updated = Blob::copy_of(must(std::move(values))[0].body.view());
  reinterpret_cast<float*>(updated.data())[0] += 1;
  must(client.release({{0, {"", std::move(updated)}}}));
  return true;
}

void update(LockClient& client, NodeId owner) {
  if (!try_update(client, owner)) die("not published");
}

void name_only(LockClient& client) {
  LockClient::Wanted wanted{.keys = {"w"}, .name = "w", .where = "bench"};
  must(client.lock(std::move(wanted)));
  must(client.release({}));
}

void publish(Place& place) {
  const std::vector<float> zeros(kValueBytes / sizeof(float));
  place.locks->publish({1, 0}, place.id(), {"", Blob::copy_of(zeros.data(), kValueBytes)});
}

/// Measures one process: its node calls the service of its own courier.
double near(bool named) {
  ClusterConfig alone;
  alone.self.host = "alone";
  Place place(alone);
  place.begin();
  publish(place);
  const double took = time_of([&] { named ? name_only(*place.client) : update(*place.client, place.id()); });
  if (named) return took;
  // No update may be lost.
  const float got = *reinterpret_cast<const float*>(place.locks->read({1, 0})->body.data());
  if (got != static_cast<float>(kCalls)) die("updates were lost: " + std::to_string(got));
  return took;
}

/// Measures a node of another process, over loopback TCP.
double far(bool named) {
  const auto serve = [](const auto& announce) {
    Place coordinator(coordinator_config());
    announce(coordinator.url());
    coordinator.begin();
    publish(coordinator);
    coordinator.wait_until_alone();
  };
  return bench::in_two_processes(serve, [named](const std::string& url) {
    Place member(member_config(url));
    member.begin();
    const NodeId owner = member.other();
    while (!try_update(*member.client, owner)) usleep(1000);  // until it is published
    return time_of([&] { named ? name_only(*member.client) : update(*member.client, owner); });
  });
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 11;
  const auto queue = [] { return bench::queue_round_trip(kCalls); };
  const auto stream = [] { return bench::nng_round_trip(kCalls); };
  std::printf("%-46s %9s  %9s\n", "figure", "ours", "yardstick");
  const auto row = [&](const char* figure, const std::function<double()>& ours, const std::function<double()>& bare) {
    bench::print_row({figure, "us", ours, bare, "<= 2"}, rounds);
  };
  row(
      "update under lock, threads / mutex queue", [] { return bench::in_a_process([] { return near(false); }); },
      queue);
  row(
      "a name's lock, threads / mutex queue", [] { return bench::in_a_process([] { return near(true); }); }, queue);
  row(
      "update under lock, TCP / bare nng_stream", [] { return far(false); }, stream);
  row(
      "a name's lock, TCP / bare nng_stream", [] { return far(true); }, stream);
  return 0;
}
