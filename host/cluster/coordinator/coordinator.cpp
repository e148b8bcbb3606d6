#include "host/cluster/coordinator/coordinator.hpp"

#include <algorithm>

#include "host/cluster/coordinator/later_ids.hpp"

namespace actorhost {

namespace {

constexpr const char* kLogSource = "rendezvous";

}  // namespace

Coordinator::Coordinator(CoordinatorConfig config, JobSource& job, Log& log, CoordinatorOutput& output, double now)
    : config_(std::move(config)),
      job_(job),
      log_(log),
      output_(output),
      rendezvous_(config_.rendezvous, now),
      processes_(config_.self, config_.times, log),
      workers_(succeeds()),
      majority_(config_.self, processes_, log),
      console_({[this] { return membership_; },
                [this](ProcessId process, Frame&& frame) {
                  frame.dst = service_address(process);
                  output_.send(std::move(frame));
                },
                [this](bool settle) { return workers_.count_actions(settle); },
                [this] { return workers_.in_run_of("param.run"); }, [this] { return workers_.in_run_of("peer.run"); }},
               log) {}

void Coordinator::send(ProcessId process, Kind kind, std::string_view meta, Blob body, uint32_t tag) {
  output_.send(make_frame(kind, here(), service_address(process), tag, meta, std::move(body)));
}

void Coordinator::send(std::vector<Frame> frames) {
  for (Frame& frame : frames) {
    frame.src = here();
    output_.send(std::move(frame));
  }
}

void Coordinator::send_table(Kind kind, const Membership& table, const std::vector<ProcessId>& processes) {
  const Blob packed = Blob::copy_of(pack(table));
  for (const ProcessId process : processes) send(process, kind, {}, packed);
}

// ---- joining and attaching ----

Status Coordinator::join_self(const JoinMessage& join, double now) {
  AH_TRY(rendezvous_.add(0, join, now));
  processes_.add({{0, join.host, join.url}, 0}, now);
  return {};
}

void Coordinator::refuse(LinkId link, const std::string& host, const Error& why) {
  log_.warn(kLogSource, "refused " + host + ": " + why.message);
  const EndMessage end{why.code, false, why.message};
  output_.send_on(link, make_frame(cluster_kind::refuse, here(), kNoAddress, 0, pack(end)));
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
  if (end_) return Error{Code::refused, "the run is over"};
  if (join.job_hash != 0 && join.job_hash != job_.hash()) {
    return Error{Code::refused,
                 "its copy of the job differs: " + join.job_name + " there, " + job_.name() +
                     " on the coordinator (compared by hash); copy the file, or start that host as an agent"};
  }
  if (rendezvous_.started() && !workers_.can_catch_up()) {
    return Error{Code::refused, succeeds()
                                    ? "the values of earlier actions were lost with an earlier coordinator, so a "
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
  join.url = with_host_of(std::move(join.url), output_.peer_of(link));
  if (const auto why = join_refusal(join)) return refuse(link, join.host, *why);
  const ProcessId process = next_process_;
  if (auto added = rendezvous_.add(process, join, now); !added) return refuse(link, join.host, added.error());
  ++next_process_;
  if (const std::string flags = differing(config_.settings, join.settings); !flags.empty()) {
    log_.warn(kLogSource, join.host + " was started with other flags, which it ignores: " + flags);
  }
  processes_.add({{process, join.host, join.url}, link}, now);
  output_.assign(link, process);
  const RendezvousConfig& hosts = rendezvous_.config();
  const WelcomeMessage welcome{process,      config_.run_id, job_.name(),     job_.hash(),     config_.settings,
                               config_.args, config_.self,   hosts.min_hosts, hosts.max_hosts, majority_.begun()};
  output_.send_on(link,
                  make_frame(cluster_kind::welcome, here(), kNoAddress, 0, pack(welcome), Blob::copy_of(job_.text())));
  log_.info(kLogSource, join.host + " is here (" + std::to_string(join.nodes) + " nodes), " +
                            std::to_string(rendezvous_.hosts()) + " of " + std::to_string(hosts.max_hosts) + " hosts");
  admit(now);
}

void Coordinator::admit(double now) {
  auto admission = rendezvous_.admit(now);
  if (!admission) return;
  const bool first = membership_->epoch() == 0;
  for (const ProcessId process : admission->processes) processes_.admit(process);
  for (const Member& member : admission->workers) workers_.add({member.id, member.process, first});
  publish();
  if (first) return;
  log_.info(kLogSource, std::to_string(admission->workers.size()) + " workers joined, now " +
                            std::to_string(workers_.all().size()));
}

void Coordinator::on_attach(LinkId link, const AttachMessage& attach, double now) {
  now_ = now;
  const ProcessId process = attach.process;
  const auto* known = processes_.find(process);
  if (known != nullptr && !known->awaited) return;
  if (attach.self.run_id != config_.run_id || process >= kAddressMask) {
    return refuse(link, attach.self.host, {Code::mismatch, "it belongs to another run, or its number is invalid"});
  }
  const auto fresh = workers_.attach(attach);
  if (!fresh) return refuse(link, attach.self.host, fresh.error());
  const ProcessInfo* own = membership_->process(process);
  const ProcessInfo info = own != nullptr ? *own : ProcessInfo{process, attach.self.host, attach.self.url};
  processes_.add({info, link, true}, now);
  output_.assign(link, process);
  send(process, cluster_kind::attached, {}, {}, attach.loss);
  if (end_) return send(process, cluster_kind::stop, pack(*end_));
  rendezvous_.readmit(process, attach.self);
  log_.info(kLogSource, info.host + " follows this coordinator");
  majority_.merge(attach.tables);
  const MembershipPtr& proposed = majority_.proposed();
  const uint64_t seen = attach.tables.back().epoch();
  const bool outdated = seen >= (proposed ? proposed : membership_)->epoch();
  epoch_ = std::max(epoch_, seen);
  if (announced_) send_table(cluster_kind::membership, *membership_, {process});
  if (proposed) send_table(cluster_kind::proposal, *proposed, {process});
  if (*fresh || own == nullptr || outdated) publish();
  send(majority_.renewals({process}, now));
  settle();
}

void Coordinator::succeed(const Takeover& takeover, double now) {
  const Quorum& quorum = takeover.quorum;
  now_ = now;
  majority_.begin(quorum, now);
  membership_ = quorum.newest();
  epoch_ = membership_->epoch();
  for (const ProcessInfo& info : membership_->processes()) {
    const bool own = info.process == config_.self;
    processes_.add({info, own ? 0 : ProcessRoster::kNoLink, true, own ? std::nullopt : std::optional(now)}, now);
  }
  for (const Member& member : membership_->workers()) workers_.add(member);
  const uint32_t first = first_later_id(config_.self);
  next_process_ = first_free_id(first, processes_.all());
  console_.number_from(first);
  rendezvous_.resume(first_free_id(first, workers_.all()), first + kLaterRange);
  rendezvous_.readmit(config_.self, takeover.self.self);
  (void)workers_.attach(takeover.self);
  readmit_attached(takeover);
  std::set<ProcessId> departed = quorum.dropped();
  departed.insert(takeover.lost.begin(), takeover.lost.end());
  for (const ProcessId process : departed) (void)remove(process, takeover.reason, false);
  for (const ProcessInfo& info : takeover.dropped) {
    if (!processes_.find(info.process)) majority_.drop(info);
  }
  if (!end_) publish();
  renew_lease();
  settle();
}

/// Adds the attached processes that the newest table lacks: no majority may have accepted it. They are in the first
/// table of this coordinator, so no process takes them for failed in between.
void Coordinator::readmit_attached(const Takeover& takeover) {
  for (const auto& [link, attach] : takeover.attached) {
    const bool refused = attach.self.run_id != config_.run_id || attach.process >= kAddressMask;  // by on_attach
    if (refused || processes_.find(attach.process) != nullptr) continue;
    if (!workers_.attach(attach)) continue;
    const ProcessInfo info{attach.process, attach.self.host, attach.self.url};
    processes_.add({info, ProcessRoster::kNoLink, true, now_}, now_);
  }
}

// ---- messages of processes ----

bool Coordinator::owns_address(ProcessId process, Address src) const {
  if (is_of_process(src)) return address_index(src) == process;
  if (is_server(src)) return process == 0 && config_.self == 0;
  const auto* worker = workers_.find(src);
  return worker != nullptr && worker->process == process;
}

void Coordinator::on_frame(LinkId link, Frame&& frame, double now) {
  now_ = now;
  const auto* sender = processes_.find_link(link);
  if (frame.kind == cluster_kind::join && sender == nullptr) return on_join(link, frame, now);
  if (end_) return;
  if (sender == nullptr || !owns_address(sender->info.process, frame.src)) {
    log_.debug(kLogSource, "ignored a message of kind " + std::to_string(static_cast<unsigned>(frame.kind)) + " from " +
                               address_name(frame.src) + ", which is not of this run or not behind that link");
    return;
  }
  on_process_frame(sender->info.process, frame);
}

void Coordinator::on_process_frame(ProcessId process, const Frame& frame) {
  if (frame.kind == cluster_kind::node_error) return on_node_error(process, frame);
  if (frame.kind == cluster_kind::module_find) return on_module_find(process, frame);
  if (frame.kind == cluster_kind::link_broken) return processes_.report_broken(process, frame.tag, now_);
  if (frame.kind == cluster_kind::want_link) return on_want_link(process, frame);
  if (frame.kind == cluster_kind::outlive) return on_outlive();
  if (frame.kind == cluster_kind::lease_renewal) return on_renewal(process, frame);
  if (!console_kind::is_one(frame.kind)) return on_worker_frame(process, frame);
  if (const Status taken = console_.take(frame); !taken) malformed(process, frame, taken.error().message);
}

void Coordinator::malformed(ProcessId process, const Frame& frame, const std::string& why) {
  const std::string what = "a message of kind " + std::to_string(static_cast<unsigned>(frame.kind)) + " from " +
                           address_name(frame.src) + " is wrong: " + why;
  if (process == config_.self) return fail({Code::internal, what});
  distrust(process, what);
}

void Coordinator::distrust(ProcessId process, const std::string& what) {
  const auto* sender = processes_.find(process);
  if (sender == nullptr) return;
  log_.error(kLogSource, "closed the connection to " + sender->info.host + ": " + what);
  lose(process, what, true);
}

void Coordinator::on_worker_frame(ProcessId process, const Frame& frame) {
  // In a console's run the script of a server ends with a failed chunk, and the next param.run gets a new server.
  if (frame.kind == cluster_kind::node_ended && is_server(frame.src) && console_.ready()) return;
  auto reply = workers_.take(frame, *membership_);
  if (!reply && reply.error().code == Code::mismatch) return fail(reply.error());
  if (!reply) return malformed(process, frame, reply.error().message);
  if (*reply) send({**reply});
  if (frame.kind == cluster_kind::action_enter) console_.action_entered();
  settle();
}

void Coordinator::on_node_error(ProcessId process, const Frame& frame) {
  auto end = unpack<EndMessage>(frame.meta.view());
  if (!end) return malformed(process, frame, end.error().message);
  end->ok = false;
  stop(*end);
}

void Coordinator::on_module_find(ProcessId process, const Frame& frame) {
  const auto find = unpack<ModuleFind>(frame.meta.view());
  if (!find) return malformed(process, frame, find.error().message);
  const auto found = std::make_shared<std::optional<Result<SourceText>>>();  // shared by the two calls
  output_.aside([found, find = *find,
                 &job = job_] { *found = find.hash == 0 ? job.find_to_send(find.name) : job.find_here(find.name); },
                [this, found, find = *find, request = frame] { reply_to_find(request, find, **found); });
}

void Coordinator::reply_to_find(const Frame& request, const ModuleFind& find, const Result<SourceText>& found) {
  Blob text;
  const ProcessInfo* home = membership_->process(membership_->home_of(request.src));
  const ModuleReply response =
      module_reply(find, found, home != nullptr ? home->host : address_name(request.src), text);
  output_.send(make_frame(cluster_kind::module_reply, here(), request.src, request.tag, pack(response), text));
}

/// A process needs a link to process `tag`, which has to dial.
void Coordinator::on_want_link(ProcessId process, const Frame& frame) {
  const auto* dialler = processes_.find(frame.tag);
  if (dialler == nullptr || !dialler->admitted || dialler->awaited) return;
  if (frame.tag == config_.self || frame.tag == process) return;
  output_.send(make_frame(cluster_kind::want_link, service_address(process), service_address(frame.tag), 0));
}

/// A worker has become a peer: notifies all processes, which must know it before this coordinator can fail.
void Coordinator::on_outlive() {
  if (majority_.begun()) return;
  Quorum quorum;
  quorum.commit(membership_);
  majority_.begin(std::move(quorum), now_);
  for (const ProcessId process : processes_.followers(false)) send(process, cluster_kind::outlive);
  renew_lease();
  send_renewals();
}

void Coordinator::on_renewal(ProcessId process, const Frame& frame) {
  const auto renewal = read_message<LeaseRenewal>(frame);
  if (!renewal) return malformed(process, frame, renewal.error().message);
  const bool before = majority_.in_charge(now_);
  majority_.confirm(process, *renewal, now_);
  commit();
  renew_lease();
  if (before || !majority_.in_charge(now_)) return;
  send_renewals();
  processes_.watch_all(now_);
  lose_due();
}

// ---- tables ----

/// The current table. Incomplete hosts are not in it and do not receive it.
MembershipPtr Coordinator::next_table() {
  std::vector<Member> members = workers_.members();
  const bool first = membership_->epoch() == 0;
  const NodeId founders = !first ? membership_->founders() : members.empty() ? 0 : members.back().id + 1;
  return std::make_shared<const Membership>(++epoch_, std::move(members), processes_.infos(), founders);
}

/// Makes the current table the newest; in a run of peers once a majority has accepted it.
void Coordinator::publish() {
  if (!majority_.begun()) return announce(next_table());
  publish_again_ = majority_.proposed() != nullptr;
  if (publish_again_) return;
  majority_.propose(next_table());
  send_table(cluster_kind::proposal, *majority_.proposed(), processes_.followers(true));
  commit();
}

void Coordinator::commit() {
  MembershipPtr table = majority_.commit();
  if (!table) return;
  announce(std::move(table));
  if (std::exchange(publish_again_, false)) publish();
}

void Coordinator::announce(MembershipPtr table) {
  membership_ = std::move(table);
  announced_ = true;
  output_.prepare(*membership_);
  std::vector<ProcessId> members = processes_.followers(true);
  // A process that joined after the proposal starts with the next table.
  std::erase_if(members, [this](ProcessId process) { return membership_->process(process) == nullptr; });
  send_table(cluster_kind::membership, *membership_, members);
  output_.publish(membership_);
  console_.membership_changed();
  if (!majority_.begun()) return;
  renew_lease();
  send_renewals();  // processes of this table have to confirm it
}

// ---- losses ----

/// `notify`: the process may still be alive, so it receives the reason.
void Coordinator::lose(ProcessId process, const std::string& reason, bool notify) {
  if (!remove(process, reason, notify)) return;
  publish();
  settle();
}

/// Returns whether the run continues with fewer members.
bool Coordinator::remove(ProcessId process, const std::string& reason, bool notify) {
  const auto departed = processes_.remove(process);
  if (!departed) return false;
  const std::string& host = departed->info.host;
  majority_.forget(process);
  const std::vector<ProcessId> others = rendezvous_.remove(process);
  if (notify && !end_ && !departed->awaited) {
    const std::string why = "the coordinator has dropped " + host + ": " + reason;
    send(process, cluster_kind::stop, pack(EndMessage{Code::peer_lost, false, why, service_address(process)}));
  }
  output_.drop(process);
  if (end_) return false;
  if (departed->admitted && majority_.begun()) majority_.drop(departed->info);
  if (departed->admitted) return remove_workers(process, host, reason);
  log_.warn(kLogSource, host + " left before it was admitted: " + reason);
  // The others of the same host would wait for ever, so they are dropped too.
  for (const ProcessId other : others) {
    if (other == config_.self) fail({Code::peer_lost, host + ", a process of this host, is lost: " + reason});
    if (end_) break;
    (void)remove(other, "another process of its host, " + host + ", is lost", true);
  }
  return false;
}

bool Coordinator::remove_workers(ProcessId process, const std::string& host, const std::string& reason) {
  std::string lost;
  std::vector<NodeId> ids;
  bool all_ended = true;
  for (const auto& [id, worker] : workers_.remove(process)) {
    lost += (lost.empty() ? "" : ", ") + std::to_string(id);
    ids.push_back(id);
    all_ended = all_ended && worker.ended;
  }
  if (!all_ended) log_.warn("cluster", "lost " + host + " (workers " + lost + "): " + reason);
  if (!all_ended) output_.lost(host, ids, reason);
  if (given_up_ && processes_.alone()) {
    fail({Code::peer_lost,
          "all other hosts are lost: this one, the coordinator, did not run for so long that they have dropped it (a "
          "run with checkpoints continues with --resume)"});
  } else if (workers_.all().empty()) {
    fail({Code::peer_lost, "all workers are lost, " + host + " was the last: " + reason});
  }
  return !end_;
}

/// Drops failed processes; in a run of peers only with the lease of a majority.
void Coordinator::lose_due() {
  while (!end_ && majority_.in_charge(now_)) {
    const auto loss = processes_.next_loss(now_);
    if (!loss) return;
    lose(loss->process, loss->reason, loss->notify);
  }
}

void Coordinator::on_link_down(LinkId link, const std::string& reason, double now, bool stalled) {
  auto* process = processes_.find_link(link);
  if (process == nullptr || link == 0) return;
  const ProcessInfo info = process->info;
  given_up_ = given_up_ || (stalled && process->admitted);
  now_ = now;
  majority_.forget(info.process);
  renew_lease();
  // also if a majority remains: others of it may die before they have accepted a table without the process
  if (majority_.begun()) prove(info.process, info.url);
  if (majority_.in_charge(now)) return lose(info.process, reason, false);
  process->link = ProcessRoster::kNoLink;
  process->closed = reason;
}

void Coordinator::prove(ProcessId process, const std::string& url) {
  if (majority_.prove(process)) output_.prove_dead(process, url);
}

/// The proof for a process without a link.
void Coordinator::on_proof(ProcessId process, PortState port, double now) {
  now_ = now;
  majority_.proved(process, port, now);
  if (end_) return;
  commit();
  renew_lease();
  if (majority_.in_charge(now)) {
    lose_due();
    if (port == PortState::closed) settle();
    return;
  }
  for (const ProcessInfo& info : majority_.unproved(now)) prove(info.process, info.url);
  if (majority_.possible()) return;
  fail({Code::peer_lost, majority_.text(now, *membership_) + "; these have closed their links to this host"});
}

// ---- the time, and the end ----

void Coordinator::tick(double now, double late) {
  if (end_) return;
  now_ = now;
  if (majority_.begun()) tick_majority(late);
  settle();
  if (end_) return;
  if (const auto suspected = processes_.tick(now, late, majority_.in_charge(now))) output_.suspects(*suspected);
  lose_due();
  if (end_) return;
  admit(now);
  if (const auto overdue = rendezvous_.overdue(now)) fail(*overdue);
}

void Coordinator::tick_majority(double late) {
  renew_lease();
  send_renewals();
  const Membership& newest = majority_.proposed() ? *majority_.proposed() : *membership_;
  if (pack(workers_.members()) != pack(newest.workers())) publish();  // other workers vote
  if (!majority_.in_charge(now_)) {
    for (const ProcessInfo& info : majority_.unproved(now_)) prove(info.process, info.url);
  }
  if (const auto error = majority_.overdue(now_, late, *membership_)) fail(*error);
}

void Coordinator::renew_lease() {
  if (majority_.begun()) output_.leased(majority_.renew(now_));
}

/// Replies to pending requests that are ready now, and ends the run when all scripts have ended.
void Coordinator::settle() {
  if (end_) return;
  if (workers_.all_ended()) {
    const auto doubtful = majority_.may_misjudge_end(now_);
    if (doubtful.empty()) return stop(EndMessage{});
    for (const ProcessInfo& info : doubtful) prove(info.process, info.url);
  }
  if (!succeeds() || majority_.all_confirmed()) send(workers_.agree());
  send(workers_.start_servers([this](uint32_t action) { return output_.start_servers(action); }));
}

void Coordinator::stop(const EndMessage& end) {
  if (end_) return;
  end_ = end;
  for (const ProcessId process : processes_.followers(false)) send(process, cluster_kind::stop, pack(end));
  output_.ended(end);
}

}  // namespace actorhost
