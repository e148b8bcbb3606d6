#include "host/cluster/head.hpp"

#include <algorithm>

namespace actorhost {

namespace {

const Address kHead = service_address(0);

EndMessage failed(Code code, std::string message) { return {code, false, std::move(message)}; }

/// "barrier=bsp (here ssp:4)" for each flag that a host gave differently; the rendezvous host's win.
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

/// A host that listens on every address is reached at the one that it came from.
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

Head::Head(HeadConfig config, JobSource& job, Log& log, HeadOutput& output, double now)
    : config_(std::move(config)),
      job_(job),
      log_(log),
      output_(output),
      rendezvous_(config_.rendezvous, now),
      detector_(config_.times) {}

Status Head::join_self(const JoinMessage& join, double now) {
  AH_TRY(rendezvous_.add(0, join, now));
  processes_[0] = Process{{0, join.host, join.url}, 0};
  return {};
}

void Head::refuse(LinkId link, const std::string& who, const std::string& why) {
  log_.warn("rendezvous", "refused " + who + ": " + why);
  output_.send_on(link, make_frame(cluster_kind::refuse, kHead, kNoAddress, 0, failed(Code::refused, why).encode()));
  output_.finish_link(link);
}

void Head::on_join(LinkId link, const Frame& frame, double now) {
  auto decoded = JoinMessage::decode(frame.meta.view());
  if (!decoded) return refuse(link, "a connection", decoded.error().message);
  JoinMessage& join = *decoded;
  join.url = reachable(std::move(join.url), output_.peer_of(link));
  if (over_) return refuse(link, join.host, "the run is over");
  if (!join.run_id.empty() && join.run_id != config_.run_id) {
    return refuse(link, join.host,
                  "it belongs to run '" + join.run_id + "' (--rdzv-id), this one is '" + config_.run_id + "'");
  }
  if (join.job_hash != 0 && join.job_hash != job_.hash()) {
    return refuse(link, join.host,
                  "its copy of the job differs: " + join.job_name + " there, " + job_.name() +
                      " on the rendezvous host (compared by hash); copy the file, or start that host as an agent");
  }
  if (rendezvous_.started() && !actions_.can_catch_up()) {
    return refuse(link, join.host, "the values of earlier actions are no longer kept, so a late host cannot catch up");
  }
  const ProcessId process = next_process_;
  if (auto added = rendezvous_.add(process, join, now); !added) return refuse(link, join.host, added.error().message);
  ++next_process_;
  if (const std::string flags = differing(config_.settings, join.settings); !flags.empty()) {
    log_.warn("rendezvous", join.host + " was started with other flags, which give way: " + flags);
  }
  processes_[process] = Process{{process, join.host, join.url}, link};
  detector_.watch(process, now);
  output_.assign(link, process);
  const WelcomeMessage welcome{process, config_.run_id, job_.name(), job_.hash(), config_.settings, config_.args};
  output_.send_on(
      link, make_frame(cluster_kind::welcome, kHead, kNoAddress, 0, welcome.encode(), Blob::copy_of(job_.text())));
  log_.info("rendezvous", join.host + " is here (" + std::to_string(join.nodes) + " nodes), " +
                              std::to_string(rendezvous_.hosts()) + " of " +
                              std::to_string(rendezvous_.config().max_hosts) + " hosts");
  admit(now);
}

void Head::on_frame(LinkId link, Frame&& frame, double now) {
  if (frame.kind == cluster_kind::join) return on_join(link, frame, now);
  if (over_) return;
  if (frame.kind == cluster_kind::node_error) return on_node_error(frame);
  if (frame.kind == cluster_kind::node_ended) return on_node_ended(frame);
  if (frame.kind == cluster_kind::action_enter) return on_action_enter(frame);
  if (frame.kind == cluster_kind::action_done) return actions_.finish(frame.tag, frame.body);
  if (frame.kind == cluster_kind::module_find) return on_module_find(frame);
  if (frame.kind == cluster_kind::servers_start) return on_servers_start(frame);
  if (frame.kind == cluster_kind::whereabouts) return on_whereabouts(frame);
  if (frame.kind == cluster_kind::link_broken) return on_link_broken(frame, now);
  if (frame.kind == cluster_kind::want_link) {
    // `tag` is the process that is to dial; it must be told who wants it.
    output_.send(make_frame(cluster_kind::want_link, frame.src, service_address(frame.tag), frame.tag));
    return;
  }
  log_.warn("rendezvous", "unexpected message of kind " + std::to_string(static_cast<unsigned>(frame.kind)) + " from " +
                              address_name(frame.src));
}

void Head::admit(double now) {
  auto joined = rendezvous_.admit(now);
  if (!joined) return;
  const bool first = membership_->epoch() == 0;
  std::vector<Member> workers = membership_->workers();
  for (const Member& member : *joined) {
    workers.push_back(member);
    workers_[member.id] = Worker{};
  }
  publish(std::move(workers));
  if (!first)
    log_.info("rendezvous",
              std::to_string(joined->size()) + " workers joined, now " + std::to_string(membership_->size()));
}

void Head::publish(std::vector<Member> workers) {
  std::vector<ProcessInfo> infos;
  for (const auto& [id, process] : processes_) infos.push_back(process.info);
  membership_ = std::make_shared<const Membership>(membership_->epoch() + 1, std::move(workers), std::move(infos));
  const Blob table = Blob::copy_of(membership_->encode());
  for (const auto& [id, process] : processes_) {
    if (id != 0) output_.send(make_frame(cluster_kind::membership, kHead, service_address(id), 0, {}, table));
  }
  output_.publish(membership_);
}

void Head::lose(ProcessId process, const std::string& reason) {
  const auto at = processes_.find(process);
  if (at == processes_.end()) return;
  const std::string host = at->second.info.host;
  processes_.erase(at);
  detector_.forget(process);
  rendezvous_.remove(process);
  broken_.erase(process);
  output_.drop(process);
  std::vector<Member> left;
  std::string lost;
  bool all_ended = true;
  for (const Member& member : membership_->workers()) {
    if (member.process != process) {
      left.push_back(member);
      continue;
    }
    lost += (lost.empty() ? "" : ", ") + std::to_string(member.id);
    all_ended = all_ended && workers_[member.id].ended;
    workers_.erase(member.id);
  }
  if (over_ || membership_->epoch() == 0) {
    log_.warn("rendezvous", host + " left before the start: " + reason);
    return;
  }
  if (!all_ended || lost.empty())
    log_.warn("cluster", "lost " + host + " (workers " + (lost.empty() ? "none" : lost) + "): " + reason);
  if (left.empty()) {
    stop(failed(Code::peer_lost, "all workers are lost, " + host + " was the last: " + reason));
    return;
  }
  publish(std::move(left));
  check_finished();
}

void Head::on_link_down(ProcessId process, const std::string& reason, double) { lose(process, reason); }

void Head::on_link_broken(const Frame& frame, double now) {
  // Two live processes cannot reach each other. If one of them is dying we shall hear of it; otherwise the accused,
  // which is the one that was to be dialled, has to go: frames on that link may be lost.
  const ProcessId accused = frame.tag;
  if (processes_.contains(accused)) broken_.emplace(accused, now);
}

void Head::tick(double now, double late) {
  if (over_) return;
  const FailureDetector::Verdict verdict = detector_.check(now, late);
  for (ProcessId process : verdict.suspected) {
    log_.warn("cluster", processes_[process].info.host + " has been silent for over a second");
  }
  for (ProcessId process : verdict.dead) lose(process, "no sign of life for 2.5 s");
  for (const auto& [process, since] : std::map<ProcessId, double>(broken_)) {
    if (now > since + 2.5) lose(process, "other hosts cannot reach it");
  }
  if (over_) return;
  admit(now);
  if (const auto overdue = rendezvous_.overdue(now)) stop(failed(overdue->code, overdue->message));
}

void Head::stop(EndMessage end) {
  if (over_) return;
  over_ = true;
  for (const auto& [id, process] : processes_) {
    if (id == 0) continue;
    output_.send(make_frame(cluster_kind::stop, kHead, service_address(id), 0, end.encode()));
  }
  output_.ended(end);
}

void Head::on_node_error(const Frame& frame) {
  auto end = EndMessage::decode(frame.meta.view());
  if (!end) return log_.warn("cluster", end.error().message);
  end->ok = false;
  stop(std::move(*end));
}

void Head::on_node_ended(const Frame& frame) {
  const auto worker = workers_.find(frame.src);
  if (worker == workers_.end()) return;
  worker->second.ended = true;
  worker->second.actions = frame.tag;
  if (frame.tag < actions_.size() && !actions_.finished(frame.tag)) {
    const ActionEnter& action = *actions_.at(frame.tag);
    stop(failed(Code::mismatch, name_of(frame.src) + " has come to the end of its script, but " +
                                    actions_.opened_by(frame.tag) + " is in " + action.kind + " at " + action.where +
                                    "; every worker must take the same actions"));
    return;
  }
  check_finished();
}

void Head::check_finished() {
  const bool done = std::all_of(workers_.begin(), workers_.end(), [](const auto& entry) { return entry.second.ended; });
  if (done && !workers_.empty()) stop(EndMessage{Code::internal, true, {}});
}

void Head::reply(const Frame& to, Kind kind, std::string_view meta, Blob body) {
  output_.send(make_frame(kind, kHead, to.src, to.tag, meta, std::move(body)));
}

std::string Head::name_of(Address address) const {
  if (!is_worker(address)) return address_name(address);
  return membership_->describe(address);
}

void Head::on_action_enter(const Frame& frame) {
  ActionReply answer;
  Blob value;
  auto action = ActionEnter::decode(frame.meta.view());
  if (!action) {
    answer = {false, false, action.error().code, action.error().message};
    return reply(frame, cluster_kind::action_reply, answer.encode());
  }
  auto entered = actions_.enter(frame.tag, *action, name_of(frame.src));
  if (!entered) {
    answer = {false, false, entered.error().code, entered.error().message};
  } else {
    answer.replayed = entered->replayed;
    value = entered->value;
    if (is_worker(frame.src)) {
      if (const auto worker = workers_.find(frame.src); worker != workers_.end())
        worker->second.actions = frame.tag + 1;
    }
  }
  if (answer.ok && !answer.replayed && is_worker(frame.src)) {
    // Whoever has already ended without this action never will take it.
    for (const auto& [id, worker] : workers_) {
      if (!worker.ended || worker.actions > frame.tag) continue;
      return stop(failed(Code::mismatch, name_of(id) + " has come to the end of its script, but " + name_of(frame.src) +
                                             " is in " + action->kind + " at " + action->where +
                                             "; every worker must take the same actions"));
    }
  }
  reply(frame, cluster_kind::action_reply, answer.encode(), std::move(value));
}

void Head::on_module_find(const Frame& frame) {
  ModuleReply answer;
  Blob text;
  if (auto find = ModuleFind::decode(frame.meta.view()); !find) {
    answer = {false, find.error().code, {}, find.error().message};
  } else if (auto found = job_.find_here(find->name); !found) {
    answer = {false, found.error().code, {}, found.error().message};
  } else if (find->hash == 0) {
    answer.chunk = found->chunk;
    text = Blob::copy_of(found->text);
  } else if (find->hash != source_hash(found->text)) {
    const std::string who = membership_->process(membership_->home_of(frame.src)) != nullptr
                                ? membership_->process(membership_->home_of(frame.src))->host
                                : address_name(frame.src);
    answer = {false, Code::refused, found->chunk,
              "module '" + find->name + "' on " + who +
                  " differs from the rendezvous host's (compared by hash); copy the file, or remove it there and it "
                  "will be sent"};
  } else {
    answer.chunk = found->chunk;
  }
  reply(frame, cluster_kind::module_reply, answer.encode(), std::move(text));
}

void Head::on_servers_start(const Frame& frame) {
  ActionReply answer;
  if (auto started = output_.start_servers(frame.tag); !started) {
    answer = {false, false, started.error().code, started.error().message};
  }
  reply(frame, cluster_kind::servers_ready, answer.encode());
}

void Head::on_whereabouts(const Frame& frame) {
  std::vector<Whereabouts> list;
  for (const auto& [id, worker] : workers_) {
    Whereabouts w{id, worker.actions, worker.ended, false, {}};
    if (const ActionEnter* newest = worker.actions > 0 ? actions_.at(worker.actions - 1) : nullptr) {
      w.in_action = !actions_.finished(worker.actions - 1);
      w.kind = newest->kind;
      w.where = newest->where;
    }
    list.push_back(std::move(w));
  }
  reply(frame, cluster_kind::whereabouts_reply, {}, Blob::copy_of(Whereabouts::encode(list)));
}

}  // namespace actorhost
