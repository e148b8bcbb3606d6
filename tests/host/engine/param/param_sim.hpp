#pragma once
// A parameter server run on the simulated transport: all shards in process 0, workers in processes of their own, random
// delays, compute times, failures and joins, one seed for everything. The policy and the work on a task are functions
// of the test.

#include "host/base/clock.hpp"
#include "host/base/log.hpp"
#include "host/engine/param/checkpoint.hpp"
#include "host/engine/param/client.hpp"
#include "host/engine/param/server.hpp"
#include "host/engine/param/worker.hpp"
#include "tests/host/barrier/progress_rules.hpp"
#include "tests/host/engine/engine_values.hpp"
#include "tests/host/net/sim_transport.hpp"
#include "tests/test.hpp"

namespace actorhost {

using Entries = std::vector<ParamEntry>;
using Tasks = std::map<NodeId, Entries>;

struct SimOptions {
  uint64_t seed = 1;
  uint32_t shards = 1;
  uint32_t workers = 3;
  uint32_t deaths = 0;                       // at random times in the first `busy_seconds`
  uint32_t joins = 0;                        // likewise
  double busy_seconds = 20;                  // simulated
  double mean_compute = 1;                   // seconds of a step, exponential
  double slow_server = 0.2;                  // probability that a reply of the policy takes a while
  bool whole = false;                        // Lua pull
  std::optional<NodeId> absent_worker = {};  // never reaches the run
  UpdateRule update = UpdateRule::native({kernel::OptimiserKind::add});
  std::function<std::unique_ptr<BarrierRule>()> rule = [] { return test::native_bsp(); };
  ControllerConfig run = {};  // run, shards and members are filled in
  CheckpointSink* checkpoints = nullptr;
  ParamFilterSpecs filters = {};
};

class ParamSim : private NonCopyable {
 public:
  struct Worker {
    NodeId id = 0;
    bool alive = true;
    bool stopped = false;
    uint64_t pushes = 0;                  // completed
    std::optional<uint64_t> first_clock;  // of its first task
    std::optional<ParamSummary> summary;
    std::optional<Error> failed;
    std::unique_ptr<Mailbox> inbox;
    std::unique_ptr<ParamClient> client;
    std::unique_ptr<ParamWorker> loop;
  };

  explicit ParamSim(SimOptions options);
  /// The transport must release the mailboxes before they are destroyed.
  ~ParamSim() { net_.close(); }

  // Functions of the test.
  std::function<bool(const StopContext&)> stop = [](const StopContext& c) { return c.step >= 5; };
  std::function<Tasks(const std::vector<NodeId>&)> schedule;
  std::function<Entries(Worker&, const ParamWorker::Task&)> work;
  std::function<Entries(ParamSim&, const std::vector<PullEntry>&)> pull;
  std::function<void(ParamSim&)> after_event = [](ParamSim&) {};
  std::function<double(NodeId, uint64_t step)> extra_compute = [](NodeId, uint64_t) { return 0; };  // seconds
  std::function<void(const LostNotice&)> on_lost = [](const LostNotice&) {};

  /// Sets a value on the shards before the run.
  void set(const ParamKey& key, const ParamValue& value);
  void restore(const ParamCheckpoint& checkpoint);
  /// The whole value from the shards' stores.
  ParamValue value(const ParamKey& key) const;
  /// Runs to the end; false if the run has not ended by `seconds` of simulated time (a deadlock).
  bool run(double seconds = 1e5);
  /// Delivers everything in flight; false if this never ends.
  bool settle();
  uint32_t shards() const { return options_.shards; }
  void kill(NodeId id);
  void at(double time, std::function<void()> fn) { net_.at(time, std::move(fn)); }
  double now() const { return clock_.now(); }

  ParamServer& server(uint32_t shard = 0) { return *shards_[shard].server; }
  std::map<NodeId, Worker>& workers() { return workers_; }
  std::optional<ParamSummary> summary;
  std::optional<Error> error;
  std::vector<std::string> log_lines;

 private:
  struct Shard {
    std::unique_ptr<ParamStore> store;
    std::unique_ptr<Mailbox> inbox;
    std::unique_ptr<ParamServer> server;
    bool thinking = false;
    double timer = kForever;
  };

  void add_worker(NodeId id);
  void drain(Address address);
  void drive_shard(uint32_t shard);
  void reply(uint32_t shard, ServerRequest request);
  void drive_worker(Worker& worker);
  void send(Address from, std::vector<Frame> frames);
  bool over() const;

  SimOptions options_;
  ManualClock clock_;
  Log log_;
  SimTransport net_;
  Rng rng_;
  std::unique_ptr<BarrierRule> rule_;
  std::vector<Shard> shards_;
  std::map<NodeId, Worker> workers_;
  std::set<Address> ready_;
};

}  // namespace actorhost
