#include "tests/host/engine/param/param_sim.hpp"

namespace actorhost {

namespace {

constexpr int kMaxEvents = 3000000;  // a run with more events counts as endless

}  // namespace

ParamSim::ParamSim(SimOptions options)
    : options_(std::move(options)),
      log_(LogLevel::info, [this](const LogLine& line) { log_lines.push_back(line.words()); }),
      net_(clock_, options_.seed),
      rng_(options_.seed, 7) {
  net_.set_links({.latency = exponential_latency(0.05 + rng_.uniform())});
  net_.on_delivered([this](Address address) {
    if (ready_.insert(address).second) net_.at(clock_.now(), [this, address] { drain(address); });
  });
  rule_ = options_.rule();
  ParamServer::Config config{options_.update, options_.run};
  config.run.run = 4;
  config.run.shards = options_.shards;
  config.run.filtered = options_.filters.any();
  config.pull = options_.filters.pull;
  for (NodeId id = 0; id < options_.workers; ++id) config.run.members.push_back(id);
  for (uint32_t k = 0; k < options_.shards; ++k) {
    Shard& shard = shards_.emplace_back();
    shard.store = std::make_unique<ParamStore>(k, options_.shards);
    shard.inbox = std::make_unique<Mailbox>();
    shard.server = std::make_unique<ParamServer>(config, *shard.store, rule_.get(), log_, options_.checkpoints);
    net_.place(server_address(k), 0);
    REQUIRE(net_.attach(server_address(k), *shard.inbox).ok());
  }
  for (NodeId id = 0; id < options_.workers; ++id) add_worker(id);
  for (uint32_t i = 0; i < options_.deaths; ++i) {
    net_.at(rng_.uniform() * options_.busy_seconds, [this] { kill(static_cast<NodeId>(rng_.below(workers_.size()))); });
  }
  for (uint32_t i = 0; i < options_.joins; ++i) {
    net_.at(rng_.uniform() * options_.busy_seconds, [this] {
      const auto id = static_cast<NodeId>(workers_.size());
      server().joined(id);
      add_worker(id);
    });
  }
}

void ParamSim::add_worker(NodeId id) {
  Worker& worker = workers_[id];
  worker.id = id;
  worker.inbox = std::make_unique<Mailbox>();
  worker.client = std::make_unique<ParamClient>(options_.shards);
  worker.client->set_whole(options_.whole);
  worker.loop = std::make_unique<ParamWorker>(
      ParamWorker::Config{4, id, options_.shards, options_.whole, false, options_.filters.push}, *worker.client);
  net_.place(worker_address(id), id + 1);
  REQUIRE(net_.attach(worker_address(id), *worker.inbox).ok());
  if (options_.absent_worker == id) return;
  net_.at(clock_.now() + rng_.exponential(0.5), [this, id] {
    Worker& w = workers_.at(id);
    if (!w.alive) return;
    std::vector<Frame> out;
    w.loop->start(out);
    send(worker_address(id), std::move(out));
  });
}

// The worker's sent frames stay in flight; the server is notified of the failure later.
void ParamSim::kill(NodeId id) {
  Worker& worker = workers_.at(id);
  const auto alive = std::count_if(workers_.begin(), workers_.end(), [](const auto& w) { return w.second.alive; });
  if (!worker.alive || alive == 1) return;
  worker.alive = false;
  net_.detach(worker_address(id));
  net_.at(clock_.now() + rng_.exponential(1), [this, id] {
    server().lost(id, clock_.now());
    drive_shard(0);
  });
}

void ParamSim::set(const ParamKey& key, const ParamValue& value) {
  for_each_home(key, value, options_.shards, true, [&](uint32_t shard, const ParamValue& part) {
    Entries entries;
    if (const auto* tensor = std::get_if<ParamTensor>(&part)) {
      for_each_chunk(*tensor, [&](ParamTensor piece) { entries.push_back({key, std::move(piece), 0}); });
    } else {
      entries.push_back({key, part, 0});
    }
    REQUIRE(shards_[shard].store->set(std::move(entries)).ok());
  });
}

void ParamSim::restore(const ParamCheckpoint& checkpoint) {
  for (Shard& shard : shards_) REQUIRE(checkpoint.restore(*shard.store).ok());
}

ParamValue ParamSim::value(const ParamKey& key) const {
  ParamAssembler::Partial all;
  for (const Shard& shard : shards_) {
    const Stored* stored = shard.store->find(key);
    if (stored == nullptr) continue;
    if (const auto* lua = std::get_if<LuaValue>(&stored->value)) return *lua;
    const auto& tensor = std::get<StoredTensor>(stored->value);
    for (size_t i = 0; i < tensor.chunks.size(); ++i) ParamAssembler::add(all, {key, tensor.chunk(i), stored->step});
  }
  return all.entry.value;
}

void ParamSim::send(Address from, std::vector<Frame> frames) {
  for (Frame& frame : frames) {
    frame.src = from;
    const Status sent = net_.try_send(std::move(frame));
    if (!sent.ok()) REQUIRE(sent.error().code == Code::peer_lost);
  }
}

void ParamSim::drain(Address address) {
  ready_.erase(address);
  std::vector<Frame> frames;
  if (is_server(address)) {
    const uint32_t index = address_index(address);
    shards_[index].inbox->pop_all(frames, 0);
    for (Frame& frame : frames) shards_[index].server->handle(std::move(frame), clock_.now());
    return drive_shard(index);
  }
  Worker& worker = workers_.at(address_index(address));
  if (!worker.alive) return;
  worker.inbox->pop_all(frames, 0);
  std::vector<Frame> out;
  for (Frame& frame : frames) {
    if (ParamWorker::handles(frame)) {
      worker.loop->handle(std::move(frame), out);
    } else {
      worker.client->handle(std::move(frame), out);
    }
  }
  send(address, std::move(out));
  drive_worker(worker);
}

void ParamSim::drive_shard(uint32_t index) {
  Shard& shard = shards_[index];
  while (!shard.thinking) {
    std::optional<ServerRequest> request = shard.server->next(clock_.now());
    if (!request) break;
    if (rng_.uniform() < options_.slow_server) {
      shard.thinking = true;
      auto later = std::make_shared<ServerRequest>(*std::move(request));
      net_.at(clock_.now() + rng_.exponential(0.3), [this, index, later] {
        shards_[index].thinking = false;
        reply(index, std::move(*later));
        drive_shard(index);
      });
    } else {
      reply(index, *std::move(request));
    }
  }
  send(server_address(index), shard.server->take_frames());
  after_event(*this);
  const double time = shard.thinking ? kForever : shard.server->next_time();
  if (time < shard.timer && time != kForever) {
    shard.timer = time;
    net_.at(time, [this, index] {
      shards_[index].timer = kForever;
      drive_shard(index);
    });
  }
}

void ParamSim::reply(uint32_t index, ServerRequest request) {
  ParamServer& server = *shards_[index].server;
  if (const auto* pulls = std::get_if<PullRequest>(&request)) {
    const Status set = server.answer_pull(pull(*this, *pulls->entries));
    if (!set.ok()) error = set.error();
  } else if (const auto* stops = std::get_if<StopRequest>(&request)) {
    server.answer_stop(stop(stops->context));
  } else if (const auto* scheduling = std::get_if<ScheduleRequest>(&request)) {
    const Status scheduled = server.answer_schedule(schedule(scheduling->workers), clock_.now());
    if (!scheduled.ok()) error = scheduled.error();
  } else if (const auto* notice = std::get_if<LostNotice>(&request)) {
    on_lost(*notice);
  } else if (auto* finished = std::get_if<FinishedNotice>(&request)) {
    summary = std::move(finished->summary);
  } else if (auto* failed = std::get_if<Error>(&request)) {
    error = std::move(*failed);
  }
}

void ParamSim::drive_worker(Worker& worker) {
  const auto event = worker.loop->next();
  if (!event) return;
  if (const auto* end = std::get_if<ParamSummary>(&*event)) {
    worker.stopped = true;
    worker.summary = *end;
  } else if (const auto* failed = std::get_if<Error>(&*event)) {
    worker.failed = *failed;
  } else {
    auto task = std::make_shared<ParamWorker::Task>(std::get<ParamWorker::Task>(*event));
    if (!worker.first_clock) worker.first_clock = task->step;
    auto results = std::make_shared<Entries>(work(worker, *task));
    const NodeId id = worker.id;
    const double seconds = rng_.exponential(options_.mean_compute) + extra_compute(id, task->step);
    net_.at(clock_.now() + seconds, [this, id, results, seconds] {
      Worker& w = workers_.at(id);
      if (!w.alive) return;
      std::vector<Frame> out;
      REQUIRE(w.loop->push(*results, out, seconds).ok());
      ++w.pushes;
      send(worker_address(id), std::move(out));
    });
  }
}

bool ParamSim::over() const {
  if (error) return true;
  if (!summary) return false;
  for (const auto& [id, worker] : workers_) {
    if (worker.alive && !worker.stopped) return false;
  }
  return true;
}

bool ParamSim::run(double seconds) {
  for (int i = 0; i < kMaxEvents && net_.next_event_time() <= seconds; ++i) {
    if (over()) return true;
    if (!net_.step()) break;
  }
  return over();
}

bool ParamSim::settle() {
  for (int i = 0; i < kMaxEvents; ++i) {
    if (!net_.step()) return true;
  }
  return false;
}

}  // namespace actorhost
