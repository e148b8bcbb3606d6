#pragma once
// A test process with locks, events, asynchronous collectives and averaging: its courier with these services, and the
// lock client and the event box of each of its nodes.

#include "host/engine/average/averages.hpp"
#include "host/engine/collective/async_calls.hpp"
#include "host/engine/share/event_box.hpp"
#include "host/engine/share/lock_client.hpp"
#include "tests/host/cluster/test_process.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

class CourierPlace {
 public:
  explicit CourierPlace(TestProcess& process)
      : courier(*process.cluster, process.clock, process.log, courier_address(process.cluster->process())),
        locks(courier),
        arbiter(courier),
        calls(courier, arbiter),
        averages(courier),
        process_(process) {
    for (const auto& node : process.nodes) {
      clients[node.get()] = std::make_unique<LockClient>(*node, courier, locks);
      boxes[node.get()] = std::make_unique<EventBox>(*node, courier);
    }
    courier.start();
    process.when_changed([this] { courier.wake(); });
  }
  ~CourierPlace() {
    process_.when_changed(nullptr);
    clients.clear();
    courier.stop();
  }

  ServiceThread courier;
  LockService locks;
  Arbiter arbiter;
  AsyncCalls calls;
  Averages averages;
  std::map<Node*, std::unique_ptr<LockClient>> clients;
  std::map<Node*, std::unique_ptr<EventBox>> boxes;

 private:
  TestProcess& process_;
};

/// A run of processes with couriers: `nodes[0]` workers at the coordinator, `nodes[1]`, ... at members.
class CourierRun {
 public:
  CourierRun(const std::string& scheme, const std::vector<uint32_t>& nodes) : run(scheme, nodes) {
    for (TestProcess* process : run.all) places.push_back(std::make_unique<CourierPlace>(*process));
  }
  ~CourierRun() {
    for (TestProcess* process : run.all) {
      for (const auto& node : process->nodes) node->request_stop();
    }
    run.join();
  }

  CourierPlace& place_of(Node& node) {
    for (const auto& place : places) {
      if (place->boxes.contains(&node)) return *place;
    }
    FAIL("a node of another run");
    return *places[0];
  }
  LockClient& locks(Node& node) { return *place_of(node).clients.at(&node); }
  EventBox& events(Node& node) { return *place_of(node).boxes.at(&node); }
  Node& node(size_t process, size_t index = 0) { return *run.all.at(process)->nodes.at(index); }
  /// Makes a process fail, as if it had ended: it does not release the locks that it holds.
  void lose(size_t process) {
    TestProcess& failed = *run.all.at(process);
    for (const auto& node : failed.nodes) node->request_stop();
    failed.join();
    failed.cluster->close();
    places.at(process)->clients.clear();  // before their nodes
    places.at(process)->boxes.clear();
    failed.vanish();
  }

  TestRun run;
  std::vector<std::unique_ptr<CourierPlace>> places;
};

}  // namespace actorhost::test
