// Decides when parameter servers start, and checks that their scripts reach the calls that need them.

#include <algorithm>

#include "host/cluster/coordinator/coordinator.hpp"

namespace actorhost {

namespace {

/// Parameter servers serve actions of this kind: their scripts have to reach them.
constexpr const char* kServed = "param.run";

std::string server_ended_too_early(const std::string& server, const std::string& worker, const ActionEnter& action) {
  return server + " has come to the end of its script, but " + worker + " is in " + action.kind + " at " +
         action.where +
         "; a server runs the whole script, too, and must come to that call: there actor.rank and actor.id are nil, so "
         "a "
         "return for each node but rank 0 ends the servers' scripts; guard with actor.role == 'worker'";
}

}  // namespace

/// Each run replaces the servers of the previous run, and no worker may use the old servers then. So the change waits
/// until every live worker has entered the action (or waits to join the others' collectives), until the result of the
/// old run is recorded, and then until the old servers have ended.
void Coordinator::start_waiting_servers() {
  if (over_) return;
  std::vector<Frame> waiting = std::move(want_servers_);
  want_servers_.clear();
  for (Frame& frame : waiting) {
    if (frame.tag != kAnyAction && !ready_for_servers(frame.tag)) {
      want_servers_.push_back(std::move(frame));
      continue;
    }
    ActionReply response;
    auto started = output_.start_servers(frame.tag);
    if (started && !*started) {
      want_servers_.push_back(std::move(frame));
      continue;
    }
    if (!started) {
      response = {false, false, started.error().code, started.error().message};
    }
    reply(frame, cluster_kind::servers_ready, pack(response));
  }
}

/// Whether the log has the end of every earlier action: new servers would enter an action without an end.
bool Coordinator::ready_for_servers(uint32_t action) const {
  for (uint32_t earlier = 0; earlier < action; ++earlier) {
    if (!actions_.finished(earlier)) return false;
  }
  return std::all_of(workers_.begin(), workers_.end(), [action](const auto& entry) {
    const Worker& worker = entry.second;
    return worker.ended || worker.actions > action || worker.waiting.outside;
  });
}

// The server continues to reply to requests for values, but takes part in no further run. In a console's run its script
// ends with a failed chunk, and the next param.run gets a new server.
void Coordinator::on_server_ended(const Frame& frame) {
  if (console_.ready()) return;
  ended_servers_[frame.src] = frame.tag;
  for (uint32_t index = frame.tag; index < actions_.size(); ++index) {
    const ActionEnter* action = actions_.at(index);
    if (action == nullptr || action->kind != kServed || actions_.finished(index)) continue;
    return stop(
        {Code::mismatch, false, server_ended_too_early(name_of(frame.src), actions_.opened_by(index), *action)});
  }
}

/// A worker has entered an action that some server's script can no longer reach.
void Coordinator::check_servers(Address src, uint32_t index, const ActionEnter& action) {
  if (action.kind != kServed || actions_.finished(index)) return;
  for (const auto& [server, actions] : ended_servers_) {
    if (actions > index) continue;
    return stop({Code::mismatch, false, server_ended_too_early(name_of(server), name_of(src), action)});
  }
}

}  // namespace actorhost
