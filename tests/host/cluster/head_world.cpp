#include "tests/host/cluster/head_world.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

namespace actorhost::test {

const Frame* Heard::last(Kind kind) const {
  const auto at = std::find_if(frames.rbegin(), frames.rend(), [kind](const Frame& f) { return f.kind == kind; });
  return at != frames.rend() ? &*at : nullptr;
}

size_t Heard::count(Kind kind) const {
  return static_cast<size_t>(
      std::count_if(frames.begin(), frames.end(), [kind](const Frame& f) { return f.kind == kind; }));
}

HeadWorld::HeadWorld(RendezvousConfig rendezvous, const std::string& script)
    : log(LogLevel::debug, [this](const LogLine& line) { lines.push_back(line.words()); }), job("job.lua", script) {
  HeadConfig config;
  config.run_id = "run";
  config.settings = {{"barrier", "bsp"}, {"seed", "7"}};
  config.args = {"one", "two"};
  config.rendezvous = rendezvous;
  head = std::make_unique<Head>(std::move(config), job, log, static_cast<HeadOutput&>(*this), now);
}

JoinMessage HeadWorld::message(uint32_t nodes, const std::string& name) {
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

LinkId HeadWorld::join(uint32_t nodes, const std::string& name) { return join(message(nodes, name)); }

LinkId HeadWorld::join(const JoinMessage& message) {
  const LinkId link = ++last_link_;
  links[link];
  head->on_frame(link, make_frame(cluster_kind::join, kNoAddress, kNoAddress, 0, pack(message)), now);
  return link;
}

std::string HeadWorld::refusal(const JoinMessage& message, Code code) {
  const Heard& heard = links.at(join(message));
  const Frame* refused = heard.last(cluster_kind::refuse);
  if (refused == nullptr) return "welcomed";
  CHECK(heard.finished);
  CHECK(heard.count(cluster_kind::welcome) == 0);
  const auto end = unpack<EndMessage>(refused->meta.view());
  REQUIRE(end.ok());
  CHECK(end->code == code);
  CHECK_FALSE(end->ok);
  return end->message;
}

void HeadWorld::say(LinkId link, Kind kind, Address src, uint32_t tag, std::string_view meta, Blob body) {
  head->on_frame(link, make_frame(kind, src, kNoAddress, tag, meta, std::move(body)), now);
}

void HeadWorld::enter(LinkId link, NodeId worker, uint32_t index, const ActionEnter& action) {
  say(link, cluster_kind::action_enter, worker_address(worker), index, pack(action));
}

ActionReply HeadWorld::answer_to(Address node) const {
  const auto frames = to_nodes.find(node);
  REQUIRE(frames != to_nodes.end());
  REQUIRE(frames->second.back().kind == cluster_kind::action_reply);
  auto reply = unpack<ActionReply>(frames->second.back().meta.view());
  REQUIRE(reply.ok());
  return *reply;
}

void HeadWorld::ended(LinkId link, NodeId worker, uint32_t actions) {
  say(link, cluster_kind::node_ended, worker_address(worker), actions);
}

void HeadWorld::pass(double seconds) {
  now += seconds;
  head->tick(now, 0);
  answer_beats();
}

void HeadWorld::answer_beats() {
  for (bool again = true; again;) {
    again = false;
    for (const auto& [process, link] : std::map<ProcessId, LinkId>(processes)) {
      Peer& other = peers_[link];
      if (mute.contains(process) || !processes.contains(process) || !std::exchange(other.answers, false)) continue;
      again = true;
      const BeatMessage beat{++other.number, other.heard, 0, other.epoch};
      say(link, cluster_kind::beat, service_address(process), 0, pack(beat));
    }
  }
}

void HeadWorld::all_heard(const std::set<ProcessId>& silent) {
  for (const auto& [process, link] : processes) {
    if (!silent.contains(process)) head->heard(process, now);
  }
}

ProcessId HeadWorld::process(LinkId link) const {
  for (const auto& [process, its_link] : processes) {
    if (its_link == link) return process;
  }
  return kNoProcess;
}

bool HeadWorld::logged(const std::string& text) const {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

void HeadWorld::send(Frame&& frame) {
  if (!is_service(frame.dst)) {
    const ProcessId home = head->membership().home_of(frame.dst);
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

void HeadWorld::send_on(LinkId link, Frame&& frame) {
  REQUIRE_FALSE(links.at(link).finished);
  Peer& to = peers_[link];
  if (frame.kind == cluster_kind::beat) to.heard = unpack<BeatMessage>(frame.meta.view())->number;
  if (frame.kind == cluster_kind::proposal) to.epoch = unpack<Membership>(frame.body.view())->epoch();
  to.answers = to.answers || frame.kind == cluster_kind::beat || frame.kind == cluster_kind::proposal;
  if (frame.kind == cluster_kind::membership) REQUIRE(prepared == tables.size() + 1);
  links.at(link).frames.push_back(std::move(frame));
}

void HeadWorld::assign(LinkId link, ProcessId process) {
  REQUIRE_FALSE(processes.contains(process));
  REQUIRE_FALSE(dropped.contains(process));
  processes[process] = link;
}

void HeadWorld::finish_link(LinkId link) { links.at(link).finished = true; }

std::string HeadWorld::peer_of(LinkId) const { return peer; }

void HeadWorld::drop(ProcessId process) {
  REQUIRE(dropped.insert(process).second);
  links.at(processes.at(process)).finished = true;
  processes.erase(process);
}

void HeadWorld::prepare(const Membership& membership) { prepared = membership.epoch(); }

void HeadWorld::publish(MembershipPtr membership) {
  REQUIRE(prepared == membership->epoch());
  tables.push_back(std::move(membership));
}

Result<bool> HeadWorld::start_servers(uint32_t action) {
  servers_started.push_back(action);
  return servers_answer;
}

void HeadWorld::ended(const EndMessage& end) { ends.push_back(end); }

}  // namespace actorhost::test
