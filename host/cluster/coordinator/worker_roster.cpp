#include "host/cluster/coordinator/worker_roster.hpp"

#include <algorithm>

namespace actorhost {

namespace {

/// Parameter servers serve actions of this kind: their scripts have to reach them.
constexpr const char* kServed = "param.run";

std::string name_of(const Membership& table, Address node) {
  return is_worker(node) ? table.describe(node) : address_name(node);
}

constexpr const char* kWorkerRemedy = "; every worker must take the same actions";
constexpr const char* kServerRemedy =
    "; a server runs the whole script, too, and must come to that call: there actor.rank and actor.id are nil, so a "
    "return for each node but rank 0 ends the servers' scripts; guard with actor.role == 'worker'";

/// `node` has not entered the action that `other` is in.
Error ended_too_early(const std::string& node, const std::string& other, const ActionEnter& action,
                      const char* remedy) {
  return {Code::mismatch, node + " has come to the end of its script, but " + other + " is in " + action.kind + " at " +
                              action.where + remedy};
}

Frame reply_to(const Frame& request, Kind kind, std::string_view meta, Blob body = {}) {
  return make_frame(kind, kNoAddress, request.src, request.tag, meta, std::move(body));
}

std::string packed_failure(const Error& error) { return pack(ActionReply{false, false, error.code, error.message}); }

}  // namespace

// ---- the workers ----

Result<bool> WorkerRoster::attach(const AttachMessage& attach) {
  bool fresh = false;
  for (const AttachedWorker& worker : attach.workers) {
    const Worker* known = find(worker.id);
    fresh = known == nullptr || fresh;
    if (is_worker(worker.id) && (known == nullptr || known->process == attach.process)) continue;
    return Error{Code::bad_data, address_name(worker.id) + " does not belong to it"};
  }
  for (const AttachedWorker& worker : attach.workers) {
    workers_[worker.id] = Worker{attach.process, worker.actions, worker.ended, worker.left};
    actions_.resume(worker.actions);
  }
  return fresh;
}

std::map<NodeId, WorkerRoster::Worker> WorkerRoster::remove(ProcessId process) {
  std::map<NodeId, Worker> removed;
  std::erase_if(workers_, [&](auto& entry) {
    if (entry.second.process == process) removed.insert(entry);
    return entry.second.process == process;
  });
  return removed;
}

const WorkerRoster::Worker* WorkerRoster::find(NodeId id) const {
  const auto at = workers_.find(id);
  return at == workers_.end() ? nullptr : &at->second;
}

bool WorkerRoster::all_ended() const {
  return !workers_.empty() &&
         std::all_of(workers_.begin(), workers_.end(), [](const auto& entry) { return entry.second.ended; });
}

std::vector<Member> WorkerRoster::members() const {
  std::vector<Member> members;
  for (const auto& [id, worker] : workers_) members.push_back({id, worker.process, !worker.ended && !worker.left});
  return members;
}

// ---- messages of nodes ----

Result<std::optional<Frame>> WorkerRoster::take(const Frame& frame, const Membership& table) {
  const auto at = workers_.find(frame.src);
  Worker* const worker = at == workers_.end() ? nullptr : &at->second;
  if (frame.kind == cluster_kind::action_enter) return enter(frame, worker, table);
  if (frame.kind == cluster_kind::whereabouts) return locate(frame, worker);
  if (frame.kind == cluster_kind::node_ended) {
    AH_TRY(end(frame, worker, table));
  } else if (frame.kind == cluster_kind::action_done) {
    finish(frame);
  } else if (frame.kind == cluster_kind::action_agree) {
    agreements_.push_back(frame);
  } else if (frame.kind == cluster_kind::servers_start) {
    want_servers_.push_back(frame);
  } else if (frame.kind != cluster_kind::participation) {
    return Error{Code::bad_data, "its kind is unexpected"};
  } else if (worker != nullptr) {
    worker->left = frame.tag == 0;  // the next table records it
  }
  return std::optional<Frame>();
}

Result<std::optional<Frame>> WorkerRoster::enter(const Frame& frame, Worker* worker, const Membership& table) {
  const auto action = unpack<ActionEnter>(frame.meta.view());
  if (!action) return action.error();
  // The lost coordinator's reply that a worker may enter an action may reach the worker after its process has attached.
  const bool ahead = succeeds_ && worker != nullptr && frame.tag > actions_.size() && frame.tag == worker->actions + 1;
  if (ahead) actions_.resume(frame.tag);
  ended_servers_.erase(frame.src);  // a new server, for the next run
  const std::string node = name_of(table, frame.src);
  auto entered = actions_.enter(frame.tag, *action, node);
  if (!entered) return std::optional(reply_to(frame, cluster_kind::action_reply, packed_failure(entered.error())));
  if (worker != nullptr) {
    worker->actions = frame.tag + 1;
    AH_TRY(check_not_ended(frame.tag, *action, node, table));
  }
  ActionReply response;
  response.replayed = entered->replayed;
  trim();
  return std::optional(reply_to(frame, cluster_kind::action_reply, pack(response), std::move(entered->value)));
}

/// `node` has entered an action. Fails if the script of a worker or a server has already ended without this action,
/// since that node cannot take part any more.
Status WorkerRoster::check_not_ended(uint32_t index, const ActionEnter& action, const std::string& node,
                                     const Membership& table) {
  for (const auto& [id, worker] : workers_) {
    if (worker.ended && worker.actions <= index)
      return ended_too_early(name_of(table, id), node, action, kWorkerRemedy);
  }
  if (action.kind != kServed || actions_.finished(index)) return {};
  for (const auto& [server, actions] : ended_servers_) {
    if (actions <= index) return ended_too_early(address_name(server), node, action, kServerRemedy);
  }
  return {};
}

/// A server whose script has ended continues to reply to requests for values, but takes part in no further run.
Status WorkerRoster::end(const Frame& frame, Worker* worker, const Membership& table) {
  if (worker != nullptr) {
    worker->ended = true;
    worker->actions = frame.tag;
    const ActionEnter* action = actions_.at(frame.tag);
    if (action == nullptr) return {};
    return ended_too_early(name_of(table, frame.src), actions_.opened_by(frame.tag), *action, kWorkerRemedy);
  }
  if (!is_server(frame.src)) return {};
  ended_servers_[frame.src] = frame.tag;
  for (uint32_t index = frame.tag; index < actions_.size(); ++index) {
    const ActionEnter* action = actions_.at(index);
    if (action == nullptr || action->kind != kServed || actions_.finished(index)) continue;
    return ended_too_early(address_name(frame.src), actions_.opened_by(index), *action, kServerRemedy);
  }
  return {};
}

void WorkerRoster::finish(const Frame& frame) {
  actions_.finish(frame.tag, frame.body.view());
  trim();
}

std::vector<Frame> WorkerRoster::agree() {
  std::vector<Frame> replies;
  for (const Frame& request : std::exchange(agreements_, {})) {
    finish(request);
    const std::string* agreed = actions_.value(request.tag);
    const Blob value = agreed != nullptr ? Blob::copy_of(*agreed) : request.body;
    replies.push_back(reply_to(request, cluster_kind::action_agreed, {}, value));
  }
  return replies;
}

/// Drops actions that every live worker has entered, if the log is too large.
void WorkerRoster::trim() {
  if (!actions_.over_bound()) return;
  uint32_t needed = actions_.size();
  for (const auto& [id, worker] : workers_) {
    if (!worker.ended) needed = std::min(needed, worker.actions);
  }
  actions_.trim(needed);
}

Result<std::optional<Frame>> WorkerRoster::locate(const Frame& frame, Worker* worker) {
  if (worker != nullptr && !frame.meta.empty()) {
    auto waiting = unpack<LongWait>(frame.meta.view());
    if (!waiting) return waiting.error();
    waiting->reports = worker->waiting.reports + 1;
    worker->waiting = std::move(*waiting);
  }
  std::vector<Whereabouts> list;
  for (const auto& [id, other] : workers_) {
    Whereabouts w{id, other.actions, other.ended, false, {}, {}, other.waiting};
    if (const ActionEnter* newest = other.actions > 0 ? actions_.at(other.actions - 1) : nullptr) {
      w.in_action = !actions_.finished(other.actions - 1);
      w.kind = newest->kind;
      w.where = newest->where;
    }
    list.push_back(std::move(w));
  }
  return std::optional(reply_to(frame, cluster_kind::whereabouts_reply, {}, Blob::copy_of(pack(list))));
}

// ---- parameter servers ----

/// Each run replaces the servers of the previous run, and no worker may use the old servers then. So the change waits
/// until every live worker has entered the action (or waits to join the others' collectives), until the result of the
/// old run is recorded, and then until the old servers have ended.
std::vector<Frame> WorkerRoster::start_servers(const std::function<Result<bool>(uint32_t action)>& start) {
  std::vector<Frame> replies;
  std::erase_if(want_servers_, [&](const Frame& request) {
    if (request.tag != kAnyAction && !ready_for_servers(request.tag)) return false;
    const auto started = start(request.tag);
    if (started && !*started) return false;
    const std::string response = started ? pack(ActionReply{}) : packed_failure(started.error());
    replies.push_back(reply_to(request, cluster_kind::servers_ready, response));
    return true;
  });
  return replies;
}

/// Whether the log has the end of every earlier action: new servers would enter an action without an end.
bool WorkerRoster::ready_for_servers(uint32_t action) const {
  for (uint32_t earlier = 0; earlier < action; ++earlier) {
    if (!actions_.finished(earlier)) return false;
  }
  return std::all_of(workers_.begin(), workers_.end(), [action](const auto& entry) {
    const Worker& worker = entry.second;
    return worker.ended || worker.actions > action || worker.waiting.outside;
  });
}

// ---- for the console ----

bool WorkerRoster::in_run_of(const char* kind) const noexcept {
  const ActionEnter* newest = actions_.size() > 0 ? actions_.at(actions_.size() - 1) : nullptr;
  return newest != nullptr && newest->kind == kind && !actions_.finished(actions_.size() - 1);
}

uint32_t WorkerRoster::count_actions(bool settle) {
  const uint32_t count = actions_.size();
  if (!settle) return count;
  for (uint32_t index = 0; index < count; ++index) actions_.finish(index, {});
  for (auto& [id, worker] : workers_) worker.actions = count;
  want_servers_.clear();
  return count;
}

}  // namespace actorhost
