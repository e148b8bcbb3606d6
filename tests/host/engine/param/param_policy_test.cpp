// Decisions of the policy and notices to it: tasks and parking, stop, tasks of failed workers, rule swaps, errors.
// Under BSP the bits do not depend on the timing, the number of shards and the values' sizes.

#include "tests/host/engine/param/param_counter.hpp"
#include "tests/test.hpp"

using kernel::OptimiserKind;

TEST_CASE("under BSP any timing and any number of shards give the same bits") {
  // The push depends on the model and the worker, and float addition on the order.
  for (const OptimiserKind kind : {OptimiserKind::add, OptimiserKind::sgd, OptimiserKind::adam}) {
    std::vector<float> expected;
    for (const uint32_t shards : {1U, 2U, 3U, 5U}) {
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        CAPTURE(static_cast<int>(kind), shards, seed);
        SimOptions options{.seed = seed, .shards = shards, .workers = 4};
        options.update.spec.kind = kind;
        options.update.spec.momentum = kind == OptimiserKind::sgd ? 0.9 : 0;
        ParamSim sim(options);
        Rng rng(9);
        const size_t n = 70001;  // large enough to be split
        sim.set(kW, tensor_of(random_floats(rng, n)));
        sim.schedule = [](const std::vector<NodeId>& ids) {
          REQUIRE(ids == std::vector<NodeId>{0, 1, 2, 3});  // from the start, so that the first schedule has all
                                                            // workers
          return fetch_for(ids, kW);
        };
        sim.work = [](ParamSim::Worker& worker, const ParamWorker::Task& task) {
          std::vector<float> w = values_of(std::get<ParamTensor>(task.entries.at(0).value));
          for (size_t i = 0; i < w.size(); ++i) {
            w[i] = std::sin(w[i] * static_cast<float>(i % 13 + 1)) + 0.1F * static_cast<float>(worker.id);
          }
          return Entries{{kW, tensor_of(w), 0}};
        };
        sim.stop = [](const StopContext& c) { return c.step >= 2; };
        run_without_error(sim);
        const std::vector<float> got = floats_in(sim, kW);
        if (expected.empty()) expected = got;
        REQUIRE(got.size() == n);
        REQUIRE(got == expected);
      }
    }
  }
}

TEST_CASE("the summary is the same for all workers and counts the merged pushes") {
  CounterSim sim({.workers = 3});
  sim.stop = [](const StopContext& c) { return c.updates >= 10; };
  run_without_error(sim);
  CHECK(sim.summary->updates == 12);
  CHECK(sim.summary->steps == 4);
  CHECK(sim.summary->reason == "stop");
  CHECK(sim.summary->seconds > 0);
  for (const auto& [id, worker] : sim.workers()) CHECK(worker.summary == sim.summary);
  CHECK(floats_in(sim, kW) == std::vector<float>{12});
}

TEST_CASE("a run that is over before its start ends at once") {
  CounterSim sim;
  sim.stop = [](const StopContext&) { return true; };
  REQUIRE(sim.run());
  CHECK(sim.summary->updates == 0);
}

TEST_CASE("a run ends when its seconds are over, and later pushes are counted but not merged") {
  const bool bsp = GENERATE(false, true);
  const auto policy = GENERATE(MergePolicy::Kind::all, MergePolicy::Kind::drop);  // the latter stages its pushes
  const uint32_t shards = GENERATE(1U, 3U);
  CAPTURE(bsp, static_cast<int>(policy), shards);
  SimOptions options{.shards = shards, .slow_server = 0, .rule = [bsp] { return bsp ? native_bsp() : native_asp(); }};
  options.run.merge.kind = policy;
  options.run.merge.later_than = 1000;
  options.run.seconds = 30;
  CounterSim sim(options);
  sim.stop = [](const StopContext&) { return false; };
  uint64_t before = 0;  // complete pushes when the time is over
  sim.at(29.999, [&] { before = sim.server().controller()->updates(); });
  run_without_error(sim);
  REQUIRE(sim.settle());
  CHECK(sim.summary->reason == "seconds");
  CHECK(sim.summary->seconds == Approx(30).margin(0.1));
  CHECK(sim.summary->in_flight > 0);
  CHECK(sim.summary->updates <= before + options.workers);  // under BSP the pushes that waited for the barrier
  CHECK(floats_in(sim, kW)[0] == float(sim.summary->updates));
  for (const auto& [id, worker] : sim.workers()) CHECK(worker.summary == sim.summary);
}

TEST_CASE("a run may end while a worker fetches the values of a task") {
  const uint64_t seed = GENERATE(range(1, 21));
  CAPTURE(seed);
  SimOptions options{.seed = seed, .shards = 3, .mean_compute = 1e-4, .slow_server = 0};
  options.run.seconds = 1;
  CounterSim sim(options);
  sim.stop = [](const StopContext&) { return false; };
  run_without_error(sim);
  for (const auto& [id, worker] : sim.workers()) CHECK(worker.summary == sim.summary);
}

TEST_CASE("a wait of over 10 s is logged once, with the waiting workers and the awaited workers") {
  SimOptions options{.mean_compute = 0.1, .slow_server = 0};
  options.run.push_place = "push (job.lua:8)";
  const bool at_the_end = GENERATE(false, true);
  if (at_the_end) options.rule = [] { return native_asp(); };
  CounterSim sim(options);
  sim.schedule = [](const std::vector<NodeId>& ids) { return fetch_for(ids, kW); };
  sim.extra_compute = [](NodeId id, uint64_t step) { return id == 1 && step == 2 ? 35.0 : 0; };
  sim.stop = [](const StopContext& c) { return c.step >= 4 || c.updates >= 40; };
  run_without_error(sim);
  std::vector<std::string> logged;
  for (const std::string& line : sim.log_lines) {
    if (line.find(" for over 10 s") != std::string::npos) logged.push_back(line);
  }
  REQUIRE(logged.size() == 1);
  const std::string waiting_text =
      at_the_end ? "the end of the run has waited for" : "workers 0, 2 have waited at the barrier for";
  CHECK_THAT(logged[0], Catch::Contains(waiting_text) && Catch::Contains(" over 10 s: worker 1 in step 3 for ") &&
                            Catch::Contains(" s, in push (job.lua:8)"));
}

TEST_CASE("the log names a worker that has not reached the run while others wait for it") {
  CounterSim sim({.mean_compute = 0.1, .absent_worker = 2});
  sim.at(30, [&] { sim.kill(2); });
  run_without_error(sim);
  const auto logged = std::find_if(sim.log_lines.begin(), sim.log_lines.end(), [](const std::string& line) {
    return line.find(" for over 10 s: worker 2 has not reached param.run") != std::string::npos;
  });
  CHECK(logged != sim.log_lines.end());
}

TEST_CASE("a worker without an entry is parked, delays no worker and is offered again") {
  for (const bool bsp : {true, false}) {
    CAPTURE(bsp);
    SimOptions options{.workers = 3};
    if (!bsp) options.rule = [] { return native_ssp(1); };
    CounterSim sim(options);
    uint64_t offers = 0;
    sim.schedule = [&](const std::vector<NodeId>& ids) {
      Tasks tasks = fetch_for(ids, kW);
      if (std::find(ids.begin(), ids.end(), 1) != ids.end() && ++offers <= 4) tasks.erase(1);
      return tasks;
    };
    sim.stop = [](const StopContext& c) { return c.step >= 8; };
    run_without_error(sim);
    CHECK(sim.workers().at(1).pushes >= 1);
    CHECK(sim.workers().at(1).pushes < sim.workers().at(0).pushes);
    CHECK(*sim.workers().at(1).first_clock > 0);  // it began at the others' clock
  }
}

TEST_CASE("a run fails with advice when no worker has work and nothing can change that") {
  CounterSim sim;
  sim.schedule = [](const std::vector<NodeId>&) { return Tasks(); };
  REQUIRE(sim.run());
  REQUIRE(sim.error);
  CHECK_THAT(sim.error->message, Catch::Contains("workers (0, 1, 2)") && Catch::Contains("stop does not return true"));
}

TEST_CASE("entries for a worker outside of the request are an error that names the worker") {
  CounterSim sim;
  sim.schedule = [](const std::vector<NodeId>&) { return fetch_for({7}, kW); };
  REQUIRE(sim.run());
  REQUIRE(sim.error);
  CHECK_THAT(sim.error->message, Catch::Contains("worker 7"));
}

TEST_CASE("a rule that can never let a worker pass is an error and not a hang") {
  class Never final : public BarrierRule {
    Status decide(const Progress&, std::span<const Slot>, double, std::span<Decision>) override { return {}; }
  };
  CounterSim sim({.rule = [] { return std::make_unique<Never>(); }});
  REQUIRE(sim.run());
  REQUIRE(sim.error);
  CHECK_THAT(sim.error->message, Catch::Contains("would never let a worker pass"));
}

TEST_CASE("a failed worker's task is returned and can be given to another worker") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    SimOptions options{.seed = seed, .workers = 4, .deaths = 2, .busy_seconds = 6};
    if (seed % 2 == 0) options.rule = [] { return native_asp(); };
    ParamSim sim(options);
    // Twenty pieces of work, each to be done once: slot p counts how often piece p was merged.
    std::vector<double> todo(20);
    for (size_t i = 0; i < todo.size(); ++i) todo[i] = double(i);
    sim.set(kW, tensor_of(std::vector<double>(todo.size())));
    sim.schedule = [&](const std::vector<NodeId>& ids) {
      Tasks tasks;
      for (const NodeId id : ids) {
        if (todo.empty()) continue;
        tasks[id].push_back({key_of("piece"), tensor_of<double>({todo.back()}), 0});
        todo.pop_back();
      }
      return tasks;
    };
    size_t handed_back = 0;
    sim.on_lost = [&](const LostNotice& notice) {
      for (const ParamEntry& entry : notice.entries) {
        todo.push_back(values_of<double>(std::get<ParamTensor>(entry.value)).at(0));
        ++handed_back;
      }
    };
    sim.work = [](ParamSim::Worker&, const ParamWorker::Task& task) {
      std::vector<double> done(20);
      const auto piece = values_of<double>(std::get<ParamTensor>(task.entries.at(0).value)).at(0);
      done.at(static_cast<size_t>(piece)) = 1;
      return Entries{{kW, tensor_of(done), 0}};
    };
    sim.stop = [&](const StopContext& c) { return todo.empty() && c.updates >= 20; };
    run_without_error(sim);
    CHECK(values_of<double>(std::get<ParamTensor>(sim.value(kW))) == std::vector<double>(20, 1.0));
    CHECK(handed_back <= 2);
  }
}

TEST_CASE("a run fails when all workers have failed") {
  CounterSim sim({.workers = 1});
  sim.at(5, [&] {
    sim.server().lost(0, sim.now());
    auto request = sim.server().next(sim.now());
    REQUIRE(std::holds_alternative<LostNotice>(*request));
    request = sim.server().next(sim.now());
    REQUIRE(std::holds_alternative<Error>(*request));
    sim.error = std::get<Error>(*request);
  });
  REQUIRE(sim.run());
  CHECK(sim.error->code == Code::peer_lost);
}

TEST_CASE("the rule can be swapped during a run, and no push is lost or merged twice") {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    CounterSim sim({.seed = seed, .shards = static_cast<uint32_t>(1 + seed % 3), .workers = 4});
    const auto asp = native_asp();
    const auto bsp = native_bsp();
    const auto ssp = native_ssp(2);
    sim.at(8, [&] { sim.server().set_rule(*asp); });
    sim.at(16, [&] { sim.server().set_rule(*ssp); });
    sim.at(24, [&] { sim.server().set_rule(*bsp); });
    sim.at(32, [&] { sim.server().set_rule(*ssp); });
    int spread = 0;
    sim.after_event = [&](ParamSim& s) {
      const Progress& progress = s.server().controller()->progress();
      if (s.now() > 8 && s.now() < 16) spread = std::max(spread, progress.max() - progress.min());
    };
    sim.stop = [&](const StopContext& c) { return c.seconds > 40; };
    run_without_error(sim);
    uint64_t pushes = 0;
    for (const auto& [id, worker] : sim.workers()) pushes += worker.pushes;
    CHECK(sim.summary->updates == pushes);
    CHECK(floats_in(sim, kW)[0] == float(pushes));
  }
}

TEST_CASE("a Lua pull gets whole values in (step, worker) order under BSP, and its results are stored") {
  for (const uint32_t shards : {1U, 3U}) {
    CAPTURE(shards);
    SimOptions options{.shards = shards, .workers = 3, .whole = true};
    options.update.kind = UpdateRule::Kind::lua;
    ParamSim sim(options);
    const size_t n = 70000;  // the stored value is split, the pulled value is not
    sim.set(kW, tensor_of(std::vector<float>(n)));
    sim.set(key_of(1), lua_of("0"));
    sim.schedule = [](const std::vector<NodeId>& ids) {
      Tasks tasks = fetch_for(ids, kW);
      for (auto& [id, entries] : tasks) entries.push_back({key_of(1), ParamFetch{}, 0});
      return tasks;
    };
    sim.work = [&](ParamSim::Worker& worker, const ParamWorker::Task& task) {
      // All workers' pushes of all earlier steps are visible, and none of this step.
      const auto w = values_of(std::get<ParamTensor>(task.entries.at(0).value));
      REQUIRE(w.size() == n);
      REQUIRE(std::all_of(w.begin(), w.end(), [&](float x) { return x == float(3 * task.step); }));
      REQUIRE(std::get<LuaValue>(task.entries.at(1).value).encoded.view() == std::to_string(task.step));
      return Entries{{kW, tensor_of(std::vector<float>(n, 1)), 0},
                     {key_of(1), lua_of(std::to_string(worker.id).c_str()), 0}};
    };
    std::map<std::string, std::vector<float>> model = {{kW.canonical(), std::vector<float>(n)}};
    sim.pull = [&](ParamSim&, const std::vector<PullEntry>& entries) {
      Entries out;
      std::vector<NodeId> order;
      for (const PullEntry& entry : entries) {
        REQUIRE(entry.step == entries[0].step);
        if (entry.key == kW) {
          order.push_back(entry.worker);
          const auto u = values_of(std::get<ParamTensor>(entry.value));
          REQUIRE(u.size() == n);
          auto& w = model[kW.canonical()];
          for (size_t i = 0; i < n; ++i) w[i] += u[i];
        } else {
          CHECK(std::get<LuaValue>(entry.value).encoded.view() == std::to_string(entry.worker));
        }
      }
      if (!order.empty()) {
        CHECK(order == std::vector<NodeId>{0, 1, 2});
        out.push_back({kW, tensor_of(model[kW.canonical()]), 0});
      }
      if (order.size() != entries.size())
        out.push_back({key_of(1), lua_of(std::to_string(entries[0].step).c_str()), 0});
      return out;
    };
    sim.stop = [](const StopContext& c) { return c.step >= 4; };
    run_without_error(sim);
    CHECK(sim.summary->updates == 12);
    CHECK(floats_in(sim, kW) == std::vector<float>(n, 12));
  }
}

TEST_CASE("a push that does not fit is refused, and its worker gets the reason") {
  CounterSim sim({.shards = 2});
  sim.work = [](ParamSim::Worker& worker, const ParamWorker::Task&) {
    return Entries{{kW, worker.id == 1 ? tensor_of<float>({1, 2}) : tensor_of<float>({1}), 0}};
  };
  sim.run(50);
  REQUIRE(sim.workers().at(1).failed);
  CHECK_THAT(sim.workers().at(1).failed->message, Catch::Contains("\"w\"") && Catch::Contains("worker 1"));
  CHECK_FALSE(sim.workers().at(0).failed);
}

TEST_CASE("pushes with infinite values are counted, or refused before they are sent") {
  ParamSim sim({.shards = 3});
  const size_t n = 100000;  // split over several shards, but counted once
  sim.set(kW, tensor_of(std::vector<float>(n)));
  sim.schedule = [](const std::vector<NodeId>& ids) { return fetch_for(ids, kW); };
  sim.work = [&](ParamSim::Worker& worker, const ParamWorker::Task& task) {
    std::vector<float> update(n, 0);
    if (worker.id == 2 && task.step == 1) std::fill(update.begin(), update.end(), INFINITY);
    return Entries{{kW, tensor_of(update), 0}};
  };
  run_without_error(sim);
  CHECK(sim.summary->non_finite == 1);
  CHECK(std::any_of(sim.log_lines.begin(), sim.log_lines.end(), [](const std::string& line) {
    return line.find("step 2 of worker 2") != std::string::npos && line.find("\"w\"") != std::string::npos;
  }));

  ParamClient client(1);
  ParamWorker strict({4, 2, 1, false, true}, client);
  std::vector<Frame> out;
  CHECK_THAT(failure_of(strict.push({{kW, tensor_of<float>({1, NAN}), 0}}, out)).message,
             Catch::Contains("\"w\"") && Catch::Contains("worker 2"));
  CHECK(out.empty());
}

TEST_CASE("workers may choose their keys themselves") {
  SimOptions options{.rule = [] { return native_ssp(1); }};
  options.run.local_schedule = true;
  CounterSim sim(options);
  sim.schedule = nullptr;  // must not be called
  sim.work = [](ParamSim::Worker&, const ParamWorker::Task& task) {
    CHECK(task.local);
    CHECK(task.entries.empty());
    return Entries{{kW, tensor_of<float>({1}), 0}};
  };
  run_without_error(sim);
  CHECK(floats_in(sim, kW)[0] == float(sim.summary->updates));
}
