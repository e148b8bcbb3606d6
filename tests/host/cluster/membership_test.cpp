#include "host/cluster/membership.hpp"

#include "tests/host/cluster/hostile_bytes.hpp"
#include "tests/test.hpp"

namespace {

Membership sample() {
  return Membership(7, {{9, 2}, {1, 0}, {4, 1}, {3, 0}},
                    {{2, "gamma:3", ""}, {0, "alpha:1", "tcp://10.0.0.1:5"}, {1, "beta:2", "tcp://10.0.0.2:6"}}, 4);
}

/// The bytes of a table with exactly these rows, in this order, valid or not.
std::string table_bytes(const std::vector<Member>& workers, const std::vector<ProcessInfo>& processes) {
  const auto part = [](uint32_t value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
  std::string bytes = part(1) + part(0) + part(2) + part(static_cast<uint32_t>(workers.size()));
  for (const Member& member : workers) bytes += part(member.id) + part(member.process) + std::string(1, member.votes);
  bytes += part(static_cast<uint32_t>(processes.size()));
  for (const ProcessInfo& info : processes) bytes += part(info.process) + part(0) + part(0);
  return bytes;
}

}  // namespace

TEST_CASE("ranks are dense in the order of ids, whatever the order of the workers") {
  const Membership table = sample();
  CHECK(table.size() == 4);
  CHECK(table.rank_of(1) == 0U);
  CHECK(table.rank_of(3) == 1U);
  CHECK(table.rank_of(4) == 2U);
  CHECK(table.rank_of(9) == 3U);
  for (NodeId unknown : {0U, 2U, 5U, 10U, kServerBit, kNoAddress}) CHECK_FALSE(table.rank_of(unknown));
  CHECK(table.alive(9));
  CHECK_FALSE(table.alive(2));
}

TEST_CASE("the home of an address is the process that hosts it") {
  const Membership table = sample();
  CHECK(table.home_of(worker_address(9)) == 2);
  CHECK(table.home_of(worker_address(2)) == kNoProcess);
  CHECK(table.home_of(server_address(5)) == 0);
  CHECK(table.home_of(service_address(1)) == 1);
  CHECK(table.home_of(service_address(8)) == kNoProcess);
  CHECK(table.home_of(data_address(2)) == 2);
  CHECK(table.home_of(data_address(8)) == kNoProcess);
  CHECK(table.home_of(courier_address(2)) == 2);
  CHECK(table.home_of(courier_address(8)) == kNoProcess);
  CHECK(table.home_of(kNoAddress) == kNoProcess);
  CHECK(Membership().home_of(server_address(0)) == kNoProcess);
}

TEST_CASE("the machine of a worker is named if the run has several") {
  CHECK(sample().machine_of(4) == "beta");
  CHECK(sample().machine_of(server_address(0)) == "alpha");
  CHECK(sample().machine_of(5).empty());
  CHECK(Membership(1, {{0, 0}, {1, 1}}, {{0, "alpha:1", ""}, {1, "alpha:2", ""}}).machine_of(1).empty());
}

TEST_CASE("a worker is described by rank, id and machine, or by its id after it has left") {
  CHECK(sample().describe(4) == "rank 2 (worker 4 on beta:2)");
  CHECK(sample().describe(5) == "worker 5");
  CHECK(sample().describe(data_address(1)) == "data 1 (beta:2)");
  CHECK(sample().describe(data_address(5)) == "data 5");
  CHECK(sample().describe(courier_address(1)) == "courier 1 (beta:2)");
  CHECK(sample().describe(courier_address(5)) == "courier 5");
  CHECK(sample().describe(server_address(0)) == "server 0");
}

TEST_CASE("a table survives encoding") {
  const auto copy = required(unpack<Membership>(pack(sample())));
  CHECK(copy->epoch() == 7);
  CHECK(copy->founders() == 4);
  REQUIRE(copy->size() == 4);
  CHECK(copy->workers()[3].id == 9);
  CHECK(copy->workers()[3].process == 2);
  REQUIRE(copy->processes().size() == 3);
  CHECK(copy->process(0)->url == "tcp://10.0.0.1:5");
  CHECK(copy->process(1)->host == "beta:2");
  CHECK(copy->process(2)->url.empty());
  CHECK(copy->process(3) == nullptr);
  CHECK(pack(*copy) == pack(sample()));
  CHECK(unpack<Membership>(pack(Membership())).ok());
}

TEST_CASE("a table that contradicts itself is refused") {
  CHECK(unpack<Membership>(table_bytes({{1, 0}, {2, 0}}, {{0, "", ""}})).ok());
  const auto refused = [](const std::vector<Member>& workers, const std::vector<ProcessInfo>& processes) {
    const auto table = unpack<Membership>(table_bytes(workers, processes));
    return !table && table.error().code == Code::bad_data;
  };
  CHECK(refused({{1, 0}, {1, 0}}, {{0, "", ""}}));
  CHECK(refused({{1, 3}}, {{0, "", ""}}));
  CHECK(refused({{server_address(0), 0}}, {{0, "", ""}}));
  CHECK(refused({{1, 0}}, {{0, "", ""}, {0, "", ""}}));
  CHECK(refused({}, {{kNoProcess, "", ""}}));
  CHECK(refused({}, {{kAddressMask, "", ""}}));
}

TEST_CASE("hostile bytes never make a table that contradicts itself") {
  const uint64_t seed = 0x5eed01;
  INFO("seed " << seed);
  const size_t refused = test::feed_hostile(pack(sample()), seed, 20000, [](std::string_view bytes) {
    const auto table = unpack<Membership>(bytes);
    if (!table) {
      REQUIRE(table.error().code == Code::bad_data);
      return false;
    }
    for (const Member& member : table->workers()) REQUIRE(table->home_of(member.id) == member.process);
    REQUIRE(unpack<Membership>(pack(*table)).ok());
    return true;
  });
  CHECK(refused > 30000);
}

TEST_CASE("a count that the bytes cannot hold is refused before anything is reserved") {
  std::string bytes = table_bytes({}, {});
  bytes[12] = bytes[13] = bytes[14] = bytes[15] = static_cast<char>(0xff);
  CHECK_FALSE(unpack<Membership>(bytes).ok());
}
