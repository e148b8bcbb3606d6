#pragma once
// A host of a run in a test: its Cluster, its nodes with a thread each, and its log. Several of them share one test
// process and connect over real sockets; `alone` needs none. Waits have a deadline, never a sleep.

#include <condition_variable>
#include <mutex>

#include <unistd.h>

#include "host/cluster/cluster.hpp"
#include "host/cluster/node.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

/// For a node that waits for a frame that never arrives.
inline bool never(const Frame&) { return false; }

inline constexpr double kPatience = 30;

/// "ipc" -> an unused address, otherwise any port of the loopback interface.
inline std::string any_url(const std::string& scheme) {
  static std::atomic<int> count{0};
  if (scheme != "ipc") return scheme + "://127.0.0.1:0";
  const auto name = "actorhost-cluster-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".ipc";
  return "ipc://" + (std::filesystem::temp_directory_path() / name).string();
}

/// Ignores the events of a bare connection.
struct Bystander : LinkEvents {
  void on_link_up(LinkId, std::optional<ProcessId>, const std::string&) override {}
  void on_link_down(LinkId, ProcessId, const std::string&) override {}
  void on_service_frame(LinkId, Frame&&) override {}
  void on_link_wanted(ProcessId) override {}
};

class TestProcess final : public ClusterEvents {
 public:
  explicit TestProcess(ClusterConfig config, const std::string& script = "return 1")
      : log(LogLevel::debug, [this](const LogLine& line) { add_line(line.words()); }) {
    if (!script.empty()) {
      job.receive("job.lua", script);
      config.self.job_name = job.name();
    }
    config.self.job_hash = job.hash();
    cluster = std::make_unique<Cluster>(std::move(config), job, clock, log, static_cast<ClusterEvents&>(*this));
  }
  /// The only process of its run, started, with `workers` workers.
  explicit TestProcess(uint32_t workers) : TestProcess(alone(workers)) { REQUIRE(start().ok()); }
  ~TestProcess() override { vanish(); }

  /// Never fails a process for silence: a process is lost only with its connections.
  static ClusterConfig patient() {
    ClusterConfig config;
    config.coordinator.times = {.suspect = 1000, .dead = 1000};
    return config;
  }
  static ClusterConfig alone(uint32_t nodes) {
    ClusterConfig config;
    config.self.nodes = nodes;
    config.self.host = "alone";
    return config;
  }
  static ClusterConfig coordinator(const std::string& url, uint32_t nodes, uint32_t low, uint32_t high) {
    ClusterConfig config = patient();
    config.place = ClusterConfig::Place::coordinator;
    config.url = url;
    config.self.nodes = nodes;
    config.self.host = "coordinator";
    config.self.group = 1;
    config.coordinator.run_id = "run";
    config.coordinator.settings = {{"barrier", "bsp"}};
    config.coordinator.args = {"x", "y"};
    config.coordinator.rendezvous = {low, high, kPatience, 0.05};
    config.start_timeout = kPatience;
    return config;
  }
  static ClusterConfig member(const std::string& url, uint32_t nodes, uint64_t group) {
    ClusterConfig config = patient();
    config.place = ClusterConfig::Place::member;
    config.url = url;
    config.listen_url = any_url(url.substr(0, url.find("://")));
    config.self.run_id = "run";
    config.self.nodes = nodes;
    config.self.host = "member" + std::to_string(group);
    config.self.group = group;
    config.start_timeout = kPatience;
    return config;
  }

  /// Opens, waits for the start and makes the nodes of this process's workers.
  Status start() {
    AH_TRY(cluster->open());
    return start_nodes();
  }
  Status start_nodes() {
    AH_TRY(cluster->wait_for_start());
    for (const NodeId id : cluster->local_workers()) {
      auto node = make_node(worker_address(id));
      std::lock_guard lock(mutex_);
      nodes.push_back(std::move(node));
    }
    return {};
  }
  std::unique_ptr<Node> make_node(Address address) {
    return std::make_unique<Node>(*cluster, job, clock, log, address);
  }

  /// Disappears without a report of its nodes, like a process that ends.
  void vanish() {
    for (const auto& node : nodes) node->request_stop();
    join();
    if (cluster) cluster->close();
    std::lock_guard lock(mutex_);
    nodes.clear();
    servers.clear();
  }

  /// Runs `work` for each node of this process, each on its own thread, until `join`.
  void launch(const std::function<void(Node&)>& work) {
    for (const auto& node : nodes) threads_.emplace_back([&node = *node, work] { work(node); });
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  /// Does the same, and returns when all have ended.
  void everywhere(const std::function<void(Node&)>& work) {
    launch(work);
    join();
  }

  /// Waits until `done` holds; checks it whenever the cluster has changed or a line was logged.
  bool wait(const std::function<bool()>& done) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(kPatience), done);
  }
  bool wait_for_size(uint32_t workers) {
    return wait([&] { return cluster->membership()->size() == workers; });
  }
  EndMessage wait_for_end() {
    REQUIRE(wait([&] { return cluster->end().has_value(); }));
    return *cluster->end();
  }
  bool logged(const std::string& text) {
    std::lock_guard lock(mutex_);
    for (const std::string& line : lines_) {
      if (line.find(text) != std::string::npos) return true;
    }
    return false;
  }
  bool wait_for_log(const std::string& text) {
    return wait([&] {
      for (const std::string& line : lines_) {
        if (line.find(text) != std::string::npos) return true;
      }
      return false;
    });
  }

  /// Sets a function that is called, on the service thread, whenever the cluster has changed.
  void when_changed(std::function<void()> callback) {
    std::lock_guard lock(mutex_);
    on_changed_ = std::move(callback);
  }
  void cluster_changed() override {
    std::lock_guard lock(mutex_);
    if (on_changed_) on_changed_();
    for (const auto& node : nodes) node->wake();
    for (const auto& node : servers) node->wake();
    changed_.notify_all();
  }
  Result<bool> start_servers(uint32_t action) override {
    auto server = make_node(server_address(0));
    std::lock_guard lock(mutex_);
    servers_for.push_back(action);
    servers.push_back(std::move(server));
    return true;
  }

  SteadyClock clock;
  Log log;
  JobSource job;
  std::unique_ptr<Cluster> cluster;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::unique_ptr<Node>> servers;
  std::vector<uint32_t> servers_for;

 private:
  void add_line(std::string_view line) {
    std::lock_guard lock(mutex_);
    lines_.emplace_back(line);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
  std::function<void()> on_changed_;
  std::vector<std::thread> threads_;
};

/// A coordinator with `nodes[0]` workers and members with `nodes[1]`, `nodes[2]`, ..., all started.
class TestRun {
 public:
  TestRun(const std::string& scheme, const std::vector<uint32_t>& nodes,
          const DetectorTimes& times = TestProcess::patient().coordinator.times, const std::string& token = "") {
    const auto hosts = static_cast<uint32_t>(nodes.size());
    const auto set = [&](ClusterConfig config) {
      config.coordinator.times = times;
      config.stream.token = token;
      return config;
    };
    coordinator = std::make_unique<TestProcess>(set(TestProcess::coordinator(any_url(scheme), nodes[0], hosts, hosts)));
    REQUIRE(coordinator->cluster->open().ok());
    all.push_back(coordinator.get());
    for (uint32_t i = 1; i < hosts; ++i) {
      members.push_back(std::make_unique<TestProcess>(
          set(TestProcess::member(coordinator->cluster->bound_url(), nodes[i], 100 + i))));
      REQUIRE(members.back()->cluster->open().ok());
      all.push_back(members.back().get());
    }
    for (TestProcess* process : all) REQUIRE(process->start_nodes().ok());
  }

  /// Runs `work` on every node of every process, each on its own thread, until `join`.
  void launch(const std::function<void(Node&)>& work) {
    for (TestProcess* process : all) process->launch(work);
  }
  void join() {
    for (TestProcess* process : all) process->join();
  }
  /// Does the same, and returns when all have ended.
  void everywhere(const std::function<void(Node&)>& work) {
    launch(work);
    join();
  }

  std::unique_ptr<TestProcess> coordinator;
  std::vector<std::unique_ptr<TestProcess>> members;
  std::vector<TestProcess*> all;
};

}  // namespace actorhost::test
