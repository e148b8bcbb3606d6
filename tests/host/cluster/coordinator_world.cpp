#include "tests/host/cluster/coordinator_world.hpp"

#include "tests/test.hpp"

namespace actorhost::test {

const Frame* SentFrames::last(Kind kind) const {
  const auto at = std::find_if(frames.rbegin(), frames.rend(), [kind](const Frame& f) { return f.kind == kind; });
  return at != frames.rend() ? &*at : nullptr;
}

size_t SentFrames::count(Kind kind) const {
  return static_cast<size_t>(
      std::count_if(frames.begin(), frames.end(), [kind](const Frame& f) { return f.kind == kind; }));
}

CoordinatorWorld::CoordinatorWorld(RendezvousConfig rendezvous, const std::string& script)
    : log(LogLevel::debug, [this](const LogLine& line) { lines.push_back(line.words()); }), job("job.lua", script) {
  CoordinatorConfig config;
  config.run_id = "run";
  config.settings = {{"barrier", "bsp"}, {"seed", "7"}};
  config.args = {"one", "two"};
  config.rendezvous = rendezvous;
  coordinator = std::make_unique<Coordinator>(std::move(config), job, log, static_cast<CoordinatorOutput&>(*this), now);
}

JoinMessage CoordinatorWorld::message(uint32_t nodes, const std::string& name) {
  JoinMessage join;
  join.run_id = "run";
  join.job_name = "job.lua";
  join.job_hash = job.hash();
  join.group = ++last_group_;
  join.host = name.empty() ? "host" + std::to_string(last_group_) : name;
  join.url = "tcp://0.0.0.0:" + std::to_string(last_group_);
  join.nodes = nodes;
  return join;
}

LinkId CoordinatorWorld::join(uint32_t nodes, const std::string& name) { return join(message(nodes, name)); }

LinkId CoordinatorWorld::join(const JoinMessage& message) {
  const LinkId link = ++last_link_;
  links[link];
  coordinator->on_frame(link, make_frame(cluster_kind::join, kNoAddress, kNoAddress, 0, pack(message)), now);
  return link;
}

std::string CoordinatorWorld::refusal(const JoinMessage& message, Code code) {
  const SentFrames& sent = links.at(join(message));
  const Frame* refused = sent.last(cluster_kind::refuse);
  if (refused == nullptr) return "welcomed";
  CHECK(sent.finished);
  CHECK(sent.count(cluster_kind::welcome) == 0);
  const auto end = required(unpack<EndMessage>(refused->meta.view()));
  CHECK(end->code == code);
  CHECK_FALSE(end->ok);
  return end->message;
}

void CoordinatorWorld::deliver(LinkId link, Kind kind, Address src, uint32_t tag, std::string_view meta, Blob body) {
  coordinator->on_frame(link, make_frame(kind, src, kNoAddress, tag, meta, std::move(body)), now);
}

void CoordinatorWorld::enter(LinkId link, NodeId worker, uint32_t index, const ActionEnter& action) {
  deliver(link, cluster_kind::action_enter, worker_address(worker), index, pack(action));
}

ActionReply CoordinatorWorld::last_reply_to(Address node) const {
  const auto frames = to_nodes.find(node);
  REQUIRE(frames != to_nodes.end());
  REQUIRE(frames->second.back().kind == cluster_kind::action_reply);
  auto reply = required(unpack<ActionReply>(frames->second.back().meta.view()));
  return *reply;
}

void CoordinatorWorld::ended(LinkId link, NodeId worker, uint32_t actions) {
  deliver(link, cluster_kind::node_ended, worker_address(worker), actions);
}

void CoordinatorWorld::pass(double seconds) {
  now += seconds;
  coordinator->tick(now, 0);
  reply_to_renewals();
}

void CoordinatorWorld::reply_to_renewals() {
  for (bool again = true; again;) {
    again = false;
    for (const auto& [process, link] : std::map<ProcessId, LinkId>(processes)) {
      Peer& other = peers_[link];
      if (mute.contains(process) || !processes.contains(process) || !std::exchange(other.owes_reply, false)) continue;
      again = true;
      const LeaseRenewal renewal{++other.number, other.acknowledged, 0, other.epoch};
      deliver(link, cluster_kind::lease_renewal, service_address(process), 0, pack(renewal));
    }
  }
}

void CoordinatorWorld::record_heartbeats(const std::set<ProcessId>& silent) {
  for (const auto& [process, link] : processes) {
    if (!silent.contains(process)) coordinator->record_heartbeat(process, now);
  }
}

void CoordinatorWorld::beat(double seconds, int times, const std::set<ProcessId>& silent) {
  for (int i = 0; i < times; ++i) {
    record_heartbeats(silent);
    pass(seconds);
  }
}

ProcessId CoordinatorWorld::process(LinkId link) const {
  for (const auto& [process, its_link] : processes) {
    if (its_link == link) return process;
  }
  return kNoProcess;
}

bool CoordinatorWorld::logged(const std::string& text) const {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

void CoordinatorWorld::send(Frame&& frame) {
  if (!is_service(frame.dst)) {
    const ProcessId home = coordinator->membership().home_of(frame.dst);
    REQUIRE((home == kNoProcess || !dropped.contains(home)));
    to_nodes[frame.dst].push_back(std::move(frame));
    return;
  }
  const ProcessId process = address_index(frame.dst);
  INFO("to host " << process);
  REQUIRE_FALSE(dropped.contains(process));
  REQUIRE(processes.contains(process));
  send_on(processes[process], std::move(frame));
}

void CoordinatorWorld::send_on(LinkId link, Frame&& frame) {
  REQUIRE_FALSE(links.at(link).finished);
  Peer& to = peers_[link];
  if (frame.kind == cluster_kind::lease_renewal) to.acknowledged = unpack<LeaseRenewal>(frame.meta.view())->number;
  if (frame.kind == cluster_kind::proposal) to.epoch = unpack<Membership>(frame.body.view())->epoch();
  to.owes_reply = to.owes_reply || frame.kind == cluster_kind::lease_renewal || frame.kind == cluster_kind::proposal;
  if (frame.kind == cluster_kind::membership) REQUIRE(prepared == tables.size() + 1);
  links.at(link).frames.push_back(std::move(frame));
}

void CoordinatorWorld::assign(LinkId link, ProcessId process) {
  REQUIRE_FALSE(processes.contains(process));
  REQUIRE_FALSE(dropped.contains(process));
  processes[process] = link;
}

void CoordinatorWorld::finish_link(LinkId link) { links.at(link).finished = true; }

std::string CoordinatorWorld::peer_of(LinkId) const { return peer; }

void CoordinatorWorld::drop(ProcessId process) {
  REQUIRE(dropped.insert(process).second);
  links.at(processes.at(process)).finished = true;
  processes.erase(process);
}

void CoordinatorWorld::prepare(const Membership& membership) { prepared = membership.epoch(); }

void CoordinatorWorld::publish(MembershipPtr membership) {
  REQUIRE(prepared == membership->epoch());
  tables.push_back(std::move(membership));
}

Result<bool> CoordinatorWorld::start_servers(uint32_t action) {
  servers_started.push_back(action);
  return servers_result;
}

void CoordinatorWorld::ended(const EndMessage& end) { ends.push_back(end); }

}  // namespace actorhost::test
