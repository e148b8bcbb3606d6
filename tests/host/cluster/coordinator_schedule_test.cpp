// Random schedules of joins, deaths, silence, broken links and ends. In each schedule epochs rise by one, no id is used
// twice, the coordinator never sends to a dropped process (CoordinatorWorld checks), every table names only known
// processes, and the run ends exactly once.

#include "host/base/random.hpp"
#include "tests/host/cluster/coordinator_world.hpp"
#include "tests/test.hpp"

namespace {

class CoordinatorSchedule {
 public:
  explicit CoordinatorSchedule(uint64_t seed)
      : rng_(seed), low_(static_cast<uint32_t>(1 + rng_.below(4))), world_({low_, low_ + pick(4), 20, 0.5}) {
    REQUIRE(world_.coordinator->join_self(world_.message(1 + pick(3), "coordinator"), 0).ok());
    world_.coordinator->tick(0, 0);
  }

  void run() {
    for (int i = 0; i < 200 && world_.ends.empty(); ++i) step();
    for (int i = 0; i < 400 && world_.ends.empty(); ++i) wind_down();
    check_tables();
    REQUIRE(world_.ends.size() == 1);
    for (int i = 0; i < 20; ++i) step();
    CHECK(world_.ends.size() == 1);
  }

 private:
  uint32_t pick(uint64_t bound) { return static_cast<uint32_t>(rng_.below(bound)); }

  LinkId some_link() {
    if (world_.processes.empty()) return 0;
    auto at = world_.processes.begin();
    std::advance(at, pick(world_.processes.size()));
    return at->second;
  }

  void step() {
    switch (pick(10)) {
      case 0:
      case 1: world_.join(1 + pick(3)); break;
      case 2: join_part(); break;
      case 3: die(); break;
      case 4: break_link(); break;
      case 5: end_one(); break;
      case 6: enter_action(); break;
      default: {
        std::set<ProcessId> silent;
        for (const auto& [process, link] : world_.processes) {
          if (pick(8) == 0) silent.insert(process);
        }
        world_.beat(0.25 * (1 + pick(3)), 1, silent);
      }
    }
    check_tables();
  }

  void join_part() {
    JoinMessage join = world_.message(1);
    join.group = 1 + pick(3);
    join.group_size = 2 + static_cast<uint32_t>(join.group % 2);
    join.group_index = pick(join.group_size);
    world_.join(join);
  }

  void die() {
    if (const LinkId link = some_link(); link != 0)
      world_.coordinator->on_link_down(link, "closed by the peer", world_.now);
  }

  void break_link() {
    const LinkId from = some_link();
    if (from == 0) return;
    world_.deliver(from, cluster_kind::link_broken, service_address(world_.process(from)), pick(12));
  }

  const Member* some_worker() {
    const auto& workers = world_.coordinator->membership().workers();
    return workers.empty() ? nullptr : &workers[pick(workers.size())];
  }

  /// The link of a member; for a departed process (the table stays the same after the end) an unknown link.
  LinkId link_of(const Member& member) const {
    if (member.process == 0) return 0;
    const auto at = world_.processes.find(member.process);
    return at != world_.processes.end() ? at->second : 1'000'000;
  }

  void enter_action() {
    const Member* member = some_worker();
    if (member == nullptr || ended_.contains(member->id) || pick(3) != 0) return;
    world_.enter(link_of(*member), member->id, entered_[member->id]++, {"collect", "job.lua:1"});
  }

  void end_one() {
    const Member* member = some_worker();
    if (member == nullptr) return;
    ended_.insert(member->id);
    world_.ended(link_of(*member), member->id, entered_[member->id]);
  }

  /// All workers end their scripts; processes without admission leave.
  void wind_down() {
    world_.beat(0.25);
    if (!world_.ends.empty()) return;
    const std::vector<Member> workers = world_.coordinator->membership().workers();
    for (const Member& member : workers) {
      if (!world_.ends.empty() || !world_.coordinator->membership().alive(member.id)) return;
      world_.ended(link_of(member), member.id, most_entered());
    }
  }

  uint32_t most_entered() const {
    uint32_t most = 0;
    for (const auto& [id, count] : entered_) most = std::max(most, count);
    return most;
  }

  void check_tables() {
    for (; checked_ < world_.tables.size(); ++checked_) {
      const Membership& table = *world_.tables[checked_];
      REQUIRE(table.epoch() == checked_ + 1);
      REQUIRE(table.size() > 0);
      NodeId newest = newest_id_;
      for (const Member& member : table.workers()) {
        REQUIRE(table.process(member.process) != nullptr);
        const bool was_there = checked_ > 0 && world_.tables[checked_ - 1]->alive(member.id);
        REQUIRE((was_there || member.id >= newest_id_));
        newest = std::max(newest, member.id + 1);
      }
      newest_id_ = newest;
    }
  }

  Rng rng_;
  uint32_t low_;
  CoordinatorWorld world_;
  std::set<NodeId> ended_;
  std::map<NodeId, uint32_t> entered_;
  size_t checked_ = 0;
  NodeId newest_id_ = 0;
};

}  // namespace

TEST_CASE("random schedules of joins, deaths and ends preserve the coordinator's guarantees") {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    INFO("seed " << seed);
    CoordinatorSchedule(seed).run();
  }
}
