#include "host/cluster/coordinator/coordinator.hpp"

#include <algorithm>

#include "host/base/printable.hpp"

namespace actorhost {

namespace {

constexpr const char* kLogSource = "rendezvous";

EndMessage failed(Code code, std::string message) { return {code, false, std::move(message)}; }

std::string ended_too_early(const std::string& node, const std::string& other, const ActionEnter& action) {
  return node + " has come to the end of its script, but " + other + " is in " + action.kind + " at " + action.where +
         "; every worker must take the same actions";
}

/// "barrier=bsp (here ssp:4)" for each flag with another value on a joining host; the coordinator's value applies.
std::string differing(const std::map<std::string, std::string>& here, const std::map<std::string, std::string>& there) {
  std::string list;
  for (const auto& [name, value] : there) {
    const auto ours = here.find(name);
    const std::string& our_value = ours == here.end() ? std::string() : ours->second;
    if (our_value != value)
      list += (list.empty() ? "--" : ", --") + name + " " + value +
              " (here: " + (our_value.empty() ? "not given" : our_value) + ")";
  }
  return list;
}

/// The url at which others reach a host. A host that listens on every address is reached at the address of its
/// connection.
std::string reachable(std::string url, const std::string& peer) {
  for (const std::string wildcard : {"://0.0.0.0:", "://[::]:"}) {
    const size_t at = url.find(wildcard);
    const size_t port = peer.rfind(':');
    if (at == std::string::npos || port == std::string::npos) continue;
    return url.substr(0, at + 3) + peer.substr(0, port) + url.substr(at + wildcard.size() - 1);
  }
  return url;
}

}  // namespace

Coordinator::Coordinator(CoordinatorConfig config, JobSource& job, Log& log, CoordinatorOutput& output, double now)
    : config_(std::move(config)),
      here_(service_address(config_.self)),
      job_(job),
      log_(log),
      output_(output),
      rendezvous_(config_.rendezvous, now),
      detector_(config_.times) {}

Status Coordinator::join_self(const JoinMessage& join, double now) {
  AH_TRY(rendezvous_.add(0, join, now));
  processes_[0] = Process{{0, join.host, join.url}, 0, false, {}};
  return {};
}

void Coordinator::refuse(LinkId link, const std::string& host, const Error& why) {
  log_.warn(kLogSource, "refused " + host + ": " + why.message);
  output_.send_on(link, make_frame(cluster_kind::refuse, here_, kNoAddress, 0, pack(failed(why.code, why.message))));
  output_.finish_link(link);
}

/// Why a process may not join; nullopt if only the rendezvous can still refuse it. Code::mismatch: it belongs to
/// another run, which may be at another address.
std::optional<Error> Coordinator::join_refusal(const JoinMessage& join) const {
  if (join.run_id != config_.run_id) {
    const auto named = [](const std::string& id) { return id.empty() ? "a run without a name" : "run '" + id + "'"; };
    return Error{Code::mismatch,
                 "it belongs to " + named(join.run_id) + " (--rdzv-id), this one is " + named(config_.run_id)};
  }
  if (over_) return Error{Code::refused, "the run is over"};
  if (join.job_hash != 0 && join.job_hash != job_.hash()) {
    return Error{Code::refused,
                 "its copy of the job differs: " + join.job_name + " there, " + job_.name() +
                     " on the coordinator (compared by hash); copy the file, or start that host as an agent"};
  }
  if (rendezvous_.started() && !actions_.can_catch_up()) {
    return Error{Code::refused, succeeds_ ? "the values of earlier actions were lost with an earlier coordinator, so a "
                                            "late host cannot catch up"
                                          : "the values of earlier actions are no longer stored, so a late host cannot "
                                            "catch up"};
  }
  return std::nullopt;
}

void Coordinator::on_join(LinkId link, const Frame& frame, double now) {
  auto decoded = unpack<JoinMessage>(frame.meta.view());
  if (!decoded) return refuse(link, output_.peer_of(link), {Code::refused, decoded.error().message});
  JoinMessage& join = *decoded;
  join.url = reachable(std::move(join.url), output_.peer_of(link));
  if (const auto why = join_refusal(join)) return refuse(link, join.host, *why);
  const ProcessId process = next_process_;
  if (auto added = rendezvous_.add(process, join, now); !added) return refuse(link, join.host, added.error());
  ++next_process_;
  if (const std::string flags = differing(config_.settings, join.settings); !flags.empty()) {
    log_.warn(kLogSource, join.host + " was started with other flags, which it ignores: " + flags);
  }
  processes_[process] = Process{{process, join.host, join.url}, link, false, {}};
  detector_.watch(process, now);
  output_.assign(link, process);
  const WelcomeMessage welcome{process,
                               config_.run_id,
                               job_.name(),
                               job_.hash(),
                               config_.settings,
                               config_.args,
                               config_.self,
                               rendezvous_.config().min_hosts,
                               rendezvous_.config().max_hosts,
                               outlives_};
  output_.send_on(link,
                  make_frame(cluster_kind::welcome, here_, kNoAddress, 0, pack(welcome), Blob::copy_of(job_.text())));
  log_.info(kLogSource, join.host + " is here (" + std::to_string(join.nodes) + " nodes), " +
                            std::to_string(rendezvous_.hosts()) + " of " +
                            std::to_string(rendezvous_.config().max_hosts) + " hosts");
  admit(now);
}

bool Coordinator::owns_address(ProcessId process, Address src) const {
  if (is_of_process(src)) return address_index(src) == process;
  if (is_server(src)) return process == 0 && config_.self == 0;
  const auto worker = workers_.find(src);
  return worker != workers_.end() && worker->second.process == process;
}

void Coordinator::on_frame(LinkId link, Frame&& frame, double now) {
  now_ = now;
  const auto sender = std::find_if(processes_.begin(), processes_.end(),
                                   [link](const auto& entry) { return entry.second.link == link; });
  const bool known = sender != processes_.end();
  if (frame.kind == cluster_kind::join && !known) return on_join(link, frame, now);
  if (over_) return;
  if (!known || !owns_address(sender->first, frame.src)) {
    log_.debug(kLogSource, "ignored a message of kind " + std::to_string(static_cast<unsigned>(frame.kind)) + " from " +
                               address_name(frame.src) + ", which is not of this run or not behind that link");
    return;
  }
  on_process_frame(sender->first, std::move(frame), now);
}

void Coordinator::on_process_frame(ProcessId process, Frame&& frame, double now) {
  if (frame.kind == cluster_kind::node_error) return on_node_error(process, frame);
  if (frame.kind == cluster_kind::node_ended) return on_node_ended(frame);
  if (frame.kind == cluster_kind::action_enter) return on_action_enter(process, frame);
  if (frame.kind == cluster_kind::action_done) return on_action_done(frame);
  if (frame.kind == cluster_kind::action_agree) return on_action_agree(std::move(frame));
  if (frame.kind == cluster_kind::module_find) return on_module_find(process, frame);
  if (frame.kind == cluster_kind::servers_start) {
    want_servers_.push_back(std::move(frame));
    return start_waiting_servers();
  }
  if (frame.kind == cluster_kind::whereabouts) return on_whereabouts(process, frame);
  if (console_kind::is_one(frame.kind)) return on_console(process, frame);
  if (frame.kind == cluster_kind::link_broken) return on_link_broken(process, frame, now);
  if (frame.kind == cluster_kind::want_link) return on_want_link(process, frame);
  if (frame.kind == cluster_kind::outlive) return on_outlive();
  if (frame.kind == cluster_kind::lease_renewal) return on_renewal(process, frame);
  if (frame.kind == cluster_kind::participation) return on_participation(frame);
  malformed(process, frame, "its kind is unexpected");
}

void Coordinator::malformed(ProcessId process, const Frame& frame, const std::string& why) {
  const std::string what = "a message of kind " + std::to_string(static_cast<unsigned>(frame.kind)) + " from " +
                           address_name(frame.src) + " is wrong: " + why;
  if (process == config_.self) return stop(failed(Code::internal, what));
  distrust(process, what);
}

void Coordinator::distrust(ProcessId process, const std::string& what) {
  const auto sender = processes_.find(process);
  if (sender == processes_.end()) return;
  log_.error(kLogSource, "closed the connection to " + sender->second.info.host + ": " + what);
  lose(process, what, true);
}

void Coordinator::admit(double now) {
  auto admission = rendezvous_.admit(now);
  if (!admission) return;
  const bool first = membership_->epoch() == 0;
  for (const ProcessId process : admission->processes) processes_.at(process).admitted = true;
  for (const Member& member : admission->workers) {
    workers_[member.id] = Worker{member.process};
    workers_[member.id].left = !first;
    if (first) founders_ = std::max(founders_, member.id + 1);
  }
  publish();
  if (first) return;
  log_.info(kLogSource,
            std::to_string(admission->workers.size()) + " workers joined, now " + std::to_string(workers_.size()));
}

/// The current table. Incomplete hosts are not in it and do not receive it.
MembershipPtr Coordinator::next_table() const {
  std::vector<ProcessInfo> infos;
  for (const auto& [id, process] : processes_) {
    if (process.admitted) infos.push_back(process.info);
  }
  std::vector<Member> workers;
  for (const auto& [id, worker] : workers_) workers.push_back({id, worker.process, !worker.ended && !worker.left});
  const uint64_t epoch = std::max(membership_->epoch() + 1, least_epoch_);
  return std::make_shared<const Membership>(epoch, std::move(workers), std::move(infos), founders_);
}

/// Makes the current table the newest; in a run of peers once a majority has accepted it.
void Coordinator::publish() {
  if (hold_tables_) return;
  if (outlives_) return propose();
  announce(next_table());
}

void Coordinator::announce(MembershipPtr table) {
  membership_ = std::move(table);
  least_epoch_ = std::max(least_epoch_, membership_->epoch() + 1);
  announced_ = true;
  output_.prepare(*membership_);
  const Blob packed = Blob::copy_of(pack(*membership_));
  for (const auto& [id, process] : processes_) {
    // A process that joined after the proposal starts with the next table.
    if (id == config_.self || process.awaited || membership_->process(id) == nullptr) continue;
    output_.send(make_frame(cluster_kind::membership, here_, service_address(id), 0, {}, packed));
  }
  output_.publish(membership_);
  console_.membership_changed();
  if (!outlives_) return;
  renew_lease();
  send_renewals();  // processes of this table have to confirm it
}

/// `notify`: the process may still be alive, so it receives the reason.
void Coordinator::lose(ProcessId process, const std::string& reason, bool notify) {
  const auto at = processes_.find(process);
  if (at == processes_.end()) return;
  const Process departed = std::move(at->second);
  processes_.erase(at);
  detector_.forget(process);
  suspected_.erase(process);
  lease_.forget(process);
  closed_.erase(process);
  std::erase_if(broken_,
                [process](const auto& entry) { return entry.first.first == process || entry.first.second == process; });
  const std::vector<ProcessId> others = rendezvous_.remove(process);
  if (notify && !over_ && !departed.awaited) {
    const EndMessage end{Code::peer_lost, false, "the coordinator has dropped " + departed.info.host + ": " + reason,
                         service_address(process)};
    output_.send(make_frame(cluster_kind::stop, here_, service_address(process), 0, pack(end)));
  }
  output_.drop(process);
  if (over_) return;
  if (departed.admitted) {
    lose_workers(process, departed.info.host, reason);
  } else {
    lose_host(departed.info.host, others, reason);
  }
}

/// A process left before its host was complete. The `others` of the same host would wait for ever, so they are dropped
/// too.
void Coordinator::lose_host(const std::string& host, const std::vector<ProcessId>& others, const std::string& reason) {
  log_.warn(kLogSource, host + " left before it was admitted: " + reason);
  for (const ProcessId other : others) {
    if (other == config_.self)
      return stop(failed(Code::peer_lost, host + ", a process of this host, is lost: " + reason));
    lose(other, "another process of its host, " + host + ", is lost", true);
  }
}

void Coordinator::lose_workers(ProcessId process, const std::string& host, const std::string& reason) {
  std::string lost;
  std::vector<NodeId> ids;
  bool all_ended = true;
  std::erase_if(workers_, [&](const auto& entry) {
    if (entry.second.process != process) return false;
    lost += (lost.empty() ? "" : ", ") + std::to_string(entry.first);
    ids.push_back(entry.first);
    all_ended = all_ended && entry.second.ended;
    return true;
  });
  if (!all_ended) log_.warn("cluster", "lost " + host + " (workers " + lost + "): " + reason);
  if (!all_ended) output_.lost(host, ids, reason);
  if (given_up_ && alone()) {
    return stop(failed(Code::peer_lost,
                       "all other hosts are lost: this one, the coordinator, did not run for so long that they "
                       "have dropped it (a run with checkpoints continues with --resume)"));
  }
  if (workers_.empty()) {
    return stop(failed(Code::peer_lost, "all workers are lost, " + host + " was the last: " + reason));
  }
  publish();
  start_waiting_servers();
  check_finished();
}

bool Coordinator::alone() const {
  return std::none_of(processes_.begin(), processes_.end(),
                      [this](const auto& entry) { return entry.first != config_.self && entry.second.admitted; });
}

void Coordinator::tick(double now, double late) {
  if (over_) return;
  now_ = now;
  if (outlives_) tick_quorum(late);
  if (over_) return;
  for (Frame& frame : std::exchange(agree_later_, {})) on_action_agree(std::move(frame));
  const FailureDetector::Verdict verdict = detector_.check(now, late);
  for (const ProcessId process : verdict.suspected) {
    if (in_charge()) log_.warn("cluster", processes_.at(process).info.host + " has been silent for over a second");
    suspected_.insert(process);
    processes_.at(process).suspected_at = now;
  }
  for (const ProcessId process : verdict.cleared) {
    log_.info("cluster", processes_.at(process).info.host + " sends again");
    suspected_.erase(process);
  }
  if (!verdict.suspected.empty() || !verdict.cleared.empty()) output_.suspects(suspected_);
  for (const ProcessId process : verdict.dead) {
    if (in_charge()) {
      lose(process, "no heartbeat for " + seconds_text(config_.times.dead), true);
    } else {
      detector_.watch(process, now);  // the other side may be the one that continues
    }
  }
  if (in_charge()) {
    lose_absent(now);
    drop_unreachable(now);
  }
  if (over_) return;
  admit(now);
  if (const auto overdue = rendezvous_.overdue(now)) stop(failed(overdue->code, overdue->message));
}

void Coordinator::stop(const EndMessage& end) {
  if (over_) return;
  over_ = true;
  end_ = end;
  for (const auto& [id, process] : processes_) {
    if (id == config_.self || process.awaited) continue;
    output_.send(make_frame(cluster_kind::stop, here_, service_address(id), 0, pack(end)));
  }
  output_.ended(end);
}

void Coordinator::on_node_error(ProcessId process, const Frame& frame) {
  auto end = unpack<EndMessage>(frame.meta.view());
  if (!end) return malformed(process, frame, end.error().message);
  end->ok = false;
  stop(*end);
}

void Coordinator::on_node_ended(const Frame& frame) {
  if (is_server(frame.src)) return on_server_ended(frame);
  const auto worker = workers_.find(frame.src);
  if (worker == workers_.end()) return;
  worker->second.ended = true;
  worker->second.actions = frame.tag;
  if (const ActionEnter* action = actions_.at(frame.tag)) {
    const std::string opener = actions_.opened_by(frame.tag);
    return stop(failed(Code::mismatch, ended_too_early(name_of(frame.src), opener, *action)));
  }
  check_finished();
}

void Coordinator::check_finished() {
  const bool done = std::all_of(workers_.begin(), workers_.end(), [](const auto& entry) { return entry.second.ended; });
  if (done && !workers_.empty()) stop(EndMessage{});
}

void Coordinator::reply(const Frame& to, Kind kind, std::string_view meta, Blob body) {
  output_.send(make_frame(kind, here_, to.src, to.tag, meta, std::move(body)));
}

std::string Coordinator::name_of(Address address) const {
  if (!is_worker(address)) return address_name(address);
  return membership_->describe(address);
}

void Coordinator::on_action_enter(ProcessId process, const Frame& frame) {
  auto action = unpack<ActionEnter>(frame.meta.view());
  if (!action) return malformed(process, frame, action.error().message);
  take_late_count(frame);
  ended_servers_.erase(frame.src);  // a new server, for the next run
  auto entered = actions_.enter(frame.tag, *action, name_of(frame.src));
  if (!entered) {
    return reply(frame, cluster_kind::action_reply,
                 pack(ActionReply{false, false, entered.error().code, entered.error().message}));
  }
  if (const auto worker = workers_.find(frame.src); worker != workers_.end()) {
    worker->second.actions = frame.tag + 1;
    check_not_ended(frame.src, frame.tag, *action);
    if (over_) return;
  }
  ActionReply response;
  response.replayed = entered->replayed;
  reply(frame, cluster_kind::action_reply, pack(response), std::move(entered->value));
  console_.action_entered();
  trim_actions();
  start_waiting_servers();
}

/// Ends the run if a worker or a server has already ended without this action, since it cannot take part any more.
void Coordinator::check_not_ended(Address src, uint32_t index, const ActionEnter& action) {
  for (const auto& [id, worker] : workers_) {
    if (!worker.ended || worker.actions > index) continue;
    return stop(failed(Code::mismatch, ended_too_early(name_of(id), name_of(src), action)));
  }
  check_servers(src, index, action);
}

void Coordinator::on_action_done(const Frame& frame) {
  actions_.finish(frame.tag, frame.body.view());
  trim_actions();
  start_waiting_servers();
}

/// Replies with the first value of the action. The previous coordinator may have replied to another process. That
/// process resends the value before it replies to the first renewal.
void Coordinator::on_action_agree(Frame&& frame) {
  const bool all_sent = std::all_of(processes_.begin(), processes_.end(), [this](const auto& entry) {
    return entry.first == config_.self || !entry.second.admitted || lease_.since(entry.first, 0);
  });
  if (succeeds_ && !all_sent) return agree_later_.push_back(std::move(frame));
  on_action_done(frame);
  const std::string* agreed = actions_.value(frame.tag);
  Blob value = agreed != nullptr ? Blob::copy_of(*agreed) : frame.body;
  reply(frame, cluster_kind::action_agreed, {}, std::move(value));
}

void Coordinator::trim_actions() {
  if (!actions_.over_bound()) return;
  uint32_t needed = actions_.size();
  for (const auto& [id, worker] : workers_) {
    if (!worker.ended) needed = std::min(needed, worker.actions);
  }
  actions_.trim(needed);
}

void Coordinator::on_module_find(ProcessId process, const Frame& frame) {
  const auto find = unpack<ModuleFind>(frame.meta.view());
  if (!find) return malformed(process, frame, find.error().message);
  struct Search {
    Frame request;
    ModuleFind find;
    std::optional<Result<SourceText>> found;
  };
  const auto search = std::make_shared<Search>();  // shared by the two calls
  search->request = make_frame(frame.kind, frame.src, frame.dst, frame.tag);
  search->find = *find;
  output_.aside(
      [search, &job = job_] {
        const ModuleFind& wanted = search->find;
        search->found = wanted.hash == 0 ? job.find_to_send(wanted.name) : job.find_here(wanted.name);
      },
      [this, search] { reply_to_find(search->request, search->find, *search->found); });
}

void Coordinator::reply_to_find(const Frame& frame, const ModuleFind& find, const Result<SourceText>& found) {
  ModuleReply response;
  Blob text;
  if (!found) {
    response = {false, found.error().code, {}, "on the coordinator: " + found.error().message};
  } else if (find.hash != 0 && find.hash != source_hash(found->text)) {
    const ProcessInfo* home = membership_->process(membership_->home_of(frame.src));
    response = {false, Code::refused, found->chunk,
                "module '" + find.name + "' on " + (home != nullptr ? home->host : address_name(frame.src)) +
                    " differs from the coordinator's (compared by hash); copy the file, or remove it there and it "
                    "will be sent"};
  } else {
    response.chunk = found->chunk;
    if (find.hash == 0) text = Blob::copy_of(found->text);
  }
  reply(frame, cluster_kind::module_reply, pack(response), std::move(text));
}

void Coordinator::on_whereabouts(ProcessId process, const Frame& frame) {
  const auto requester = workers_.find(frame.src);
  if (requester != workers_.end() && !frame.meta.empty()) {
    auto waiting = unpack<LongWait>(frame.meta.view());
    if (!waiting) return malformed(process, frame, waiting.error().message);
    LongWait& known = requester->second.waiting;
    waiting->reports = known.reports + 1;
    known = std::move(*waiting);
    if (known.outside) start_waiting_servers();
  }
  std::vector<Whereabouts> list;
  for (const auto& [id, worker] : workers_) {
    Whereabouts w{id, worker.actions, worker.ended, false, {}, {}, worker.waiting};
    if (const ActionEnter* newest = worker.actions > 0 ? actions_.at(worker.actions - 1) : nullptr) {
      w.in_action = !actions_.finished(worker.actions - 1);
      w.kind = newest->kind;
      w.where = newest->where;
    }
    list.push_back(std::move(w));
  }
  reply(frame, cluster_kind::whereabouts_reply, {}, Blob::copy_of(pack(list)));
}

}  // namespace actorhost
