#include "host/cluster/node.hpp"

namespace actorhost {

Node::Node(Cluster& cluster, JobSource& job, const Clock& clock, Log& log, Address self)
    : cluster_(cluster),
      job_(job),
      clock_(clock),
      log_(log),
      self_(self),
      port_(cluster.transport(), self, clock, cluster.take_mailbox(self)),
      stats_(cluster.state().add_node(self, port_.queue_length())),
      membership_(cluster.membership()),
      chunk_queue_(cluster.chunks().add_node(self, port_.waker())) {
  port_.set_check([this] { return check(); });
  port_.set_stats(*stats_);
}

Node::~Node() { cluster_.chunks().remove_node(chunk_queue_); }

std::optional<uint32_t> Node::rank() const {
  return role() == Role::worker ? membership_->rank_of(self_) : std::nullopt;
}

std::string Node::name() const {
  if (role() == Role::server) return address_name(self_);
  const auto at = rank();
  return at ? "rank " + std::to_string(*at) : "worker " + std::to_string(self_);
}

MembershipPtr Node::refresh() {
  if (in_chunk_) return nullptr;  // the current call relies on its members
  if (cluster_.epoch() == membership_->epoch()) return nullptr;
  return std::exchange(membership_, cluster_.membership());
}

void Node::record_memory() {
  if (chunk_runner_ != nullptr) stats_->lua_bytes.set(chunk_runner_->lua_bytes());
}

Status Node::check() {
  if (stop_requested()) return Error{Code::interrupted, "interrupted"};
  if (const auto end = cluster_.ended() ? cluster_.end() : std::nullopt; end && !(end->ok && role() == Role::worker)) {
    if (end->ok) return Error{Code::interrupted, "the run is over"};
    return Error{Code::aborted, end->message};
  }
  if (chunk_queue_->cut()) return Error{Code::interrupted, "the chunk was interrupted"};
  if (chunk_queue_->failed() && !in_chunk_)
    return Error{Code::aborted, cluster_.chunks().failure_reason(*chunk_queue_)};
  if (open_ && chunk_queue_->has_work() && chunk_runner_ != nullptr && chunk_runner_->may_run_chunks()) {
    chunk_arrived_ = true;
    return Error{Code::interrupted, "a chunk has arrived"};
  }
  if (wait_.news && cluster_.news() != *wait_.news) {
    return Error{Code::peer_lost, "the membership has changed"};
  }
  if (needs_first_coordinator_ != nullptr) AH_TRY(check_first_coordinator(needs_first_coordinator_));
  if (wait_.coordinator && cluster_.coordinator() != *wait_.coordinator)
    return Error{Code::peer_lost, "the coordinator is lost"};
  if (wait_.awaited.empty()) return {};
  const MembershipPtr newest = cluster_.membership();
  for (const Address address : wait_.awaited) {
    const bool may_go = is_worker(address) || is_server(address) || is_data(address) || is_courier(address);
    if (may_go && newest->home_of(address) == kNoProcess) {
      if (is_server(address) || address == data_address(0)) AH_TRY(check_first_coordinator(wait_.what));
      return Error{Code::peer_lost, wait_.what + ": " + membership_->describe(address) + " lost"};
    }
  }
  return {};
}

/// Runs chunks, which see no outer wait, and waits while the run is paused.
Status Node::run_chunks_now() {
  if (chunk_runner_ == nullptr || in_chunk_ || no_chunks_ || !chunk_runner_->may_run_chunks()) return {};
  struct Between {
    Node& node;
    Wait wait = std::exchange(node.wait_, {});
    explicit Between(Node& n) : node(n) { node.in_chunk_ = true; }
    ~Between() {
      node.in_chunk_ = false;
      node.wait_ = std::move(wait);
    }
  };
  Between between(*this);
  for (;;) {
    chunk_runner_->run_chunks();
    if (!chunk_queue_->held()) return {};
    AH_TRY(port_.wait_until([this] { return !chunk_queue_->held() || chunk_queue_->has_chunk(); }, kForever));
  }
}

/// Makes a wait that ends, with `chunk_arrived_` set, when a chunk arrives.
template <typename Attempt>
auto Node::open_wait(const Attempt& attempt) {
  Task::pay_for_computing();
  record_memory();
  open_ = !in_chunk_ && !no_chunks_;
  auto got = attempt();
  open_ = false;
  return got;
}

/// Makes a wait, and repeats it after each chunk.
template <typename Attempt>
auto Node::wait_and_run_chunks(const Attempt& attempt) -> decltype(attempt()) {
  for (;;) {
    auto got = open_wait(attempt);
    if (!std::exchange(chunk_arrived_, false)) return got;
    AH_TRY(run_chunks_now());
  }
}

/// Makes the wait `attempt(deadline)`, and logs the awaited nodes when it takes long.
template <typename Attempt>
auto Node::wait_and_log(const Attempt& attempt, double deadline) {
  const double long_wait = clock_.now() + kLongWait;
  auto got = attempt(std::min(deadline, long_wait));
  if (got || got.error().code != Code::timeout || deadline <= long_wait) return got;
  const auto describe = wait_.describe_awaited;  // a copy, since the function may wait itself
  std::string awaited = describe ? describe() : "";
  for (const Address address : wait_.awaited) {
    awaited += (awaited.empty() ? "" : ", ") + membership_->describe(address);
  }
  log_long_wait(wait_.what, awaited);
  return attempt(deadline);
}

void Node::log_long_wait(const std::string& what, const std::string& awaited) const {
  log_.info(name(), what + ": waiting for over 10 s" + (awaited.empty() ? "" : " for " + awaited));
}

Result<Frame> Node::receive(const Port::Match& match, std::span<const Address> awaited, const std::string& what,
                            double deadline, const std::function<std::string()>& describe_awaited) {
  return receive(match, Wait{awaited, what, describe_awaited}, deadline);
}

Result<Frame> Node::receive(const Port::Match& match, Wait wait, double deadline) {
  const std::string what = wait.what;
  Wait outer = std::exchange(wait_, std::move(wait));
  Result<Frame> got = wait_and_log(
      [&](double until) { return wait_and_run_chunks([&] { return port_.receive(match, until); }); }, deadline);
  wait_ = {};
  if (!got && got.error().code == Code::peer_lost) {  // the peer may have replied before it was lost
    if (auto last = port_.receive(match, clock_.now())) got = std::move(last);
  }
  wait_ = std::move(outer);
  if (!got && got.error().code == Code::timeout) got = Error{Code::timeout, what + ": timed out"};
  return got;
}

Status Node::wait_until(const std::function<bool()>& done, std::span<const Address> awaited, const std::string& what,
                        double deadline, const std::function<std::string()>& describe_awaited) {
  Wait outer = std::exchange(wait_, Wait{awaited, what, describe_awaited});
  Status waited = wait_and_log(
      [&](double until) { return wait_and_run_chunks([&] { return port_.wait_until(done, until); }); }, deadline);
  wait_ = {};
  if (!waited && waited.error().code == Code::peer_lost) {  // the peer may have met the condition before it was lost
    if (port_.poll() && done()) waited = {};
  }
  wait_ = std::move(outer);
  if (!waited && waited.error().code == Code::timeout) waited = Error{Code::timeout, what + ": timed out"};
  return waited;
}

Status Node::receive_all(const Port::Match& match, double deadline, std::vector<Frame>& out,
                         std::optional<uint64_t> news) {
  wait_.news = news;
  Status came = open_wait([&] { return port_.receive_all(match, deadline, out); });
  if (std::exchange(chunk_arrived_, false)) came = run_chunks_now();
  wait_.news.reset();
  const bool changed = news && cluster_.news() != *news;
  if (!came.ok() && came.error().code == Code::peer_lost && changed) came = {};
  return came;
}

Status Node::receive_some(const Port::Match& match, double deadline, std::vector<Frame>& out) {
  Status came = open_wait([&] { return port_.receive_some(match, deadline, out); });
  return std::exchange(chunk_arrived_, false) ? run_chunks_now() : came;
}

Node::RequestBuilder Node::request_builder(Kind kind, uint32_t tag, const std::string& meta) const {
  return [=, self = self_](Address coordinator) { return make_frame(kind, self, coordinator, tag, meta); };
}

/// Sends a request to the coordinator, and again to the next coordinator if that one fails meanwhile.
Result<Frame> Node::request_from_coordinator(const RequestBuilder& build_request, Kind reply_kind,
                                             const std::string& what,
                                             const std::function<std::string()>& describe_awaited) {
  for (;;) {
    const ProcessId coordinator = cluster_.coordinator();
    if (coordinator == kNoProcess) {
      AH_TRY(wait_until([&] { return cluster_.coordinator() != kNoProcess; }, {}, what + ": the next coordinator"));
      continue;
    }
    Frame request = build_request(service_address(coordinator));
    const auto matches = [&, tag = request.tag](const Frame& frame) {
      return frame.kind == reply_kind && frame.tag == tag;
    };
    const Status sent = port_.send(std::move(request));
    Result<Frame> got =
        sent ? receive(matches, Wait{{}, what, describe_awaited, coordinator}, kForever) : Result<Frame>(sent.error());
    const bool lost = !got && got.error().code == Code::peer_lost;
    if (!lost || !cluster_.outlives_coordinator()) return got;
    AH_TRY(wait_until([&] { return cluster_.coordinator() != coordinator; }, {}, what + ": the next coordinator"));
  }
}

/// The error of engines that need the first coordinator, once it has failed.
Status Node::check_first_coordinator(const std::string& what) const {
  if (cluster_.coordinator() == 0) return {};
  return Error{Code::peer_lost, what + ": the coordinator is lost, and without it only actor.peer continues"};
}

void Node::set_actions(uint32_t entered) {
  actions_ = entered;
  if (role() == Role::worker) cluster_.report_actions(index(), entered);
}

Result<Node::Action> Node::enter_action(const std::string& kind, const std::string& where) {
  const uint32_t index = actions_;
  static constexpr EngineCall kCall{Cause::action, "starting an action"};
  const Activity activity(*stats_, kCall);
  std::optional<RequiresFirstCoordinator> needs;
  if (!kind.starts_with("peer.")) needs.emplace(*this, kind.c_str());
  auto frame =
      request_from_coordinator(request_builder(cluster_kind::action_enter, index, pack(ActionEnter{kind, where})),
                               cluster_kind::action_reply, kind);
  if (!frame) return frame.error();
  AH_LET(auto reply, unpack<ActionReply>(frame->meta.view()));
  if (!reply.ok) return Error{reply.code, reply.message};
  set_actions(index + 1);
  if (reply.replayed) cluster_.cache_value(index, frame->body);
  stats_->enter_action(kind, where);
  refresh();
  return Action{index, reply.replayed, std::move(frame->body)};
}

void Node::finish_action(uint32_t index, Blob value) {
  cluster_.cache_value(index, value);
  const ProcessId coordinator = cluster_.coordinator();
  if (coordinator == kNoProcess) return;  // the next one receives the cached value
  (void)port_.send(
      make_frame(cluster_kind::action_done, self_, service_address(coordinator), index, {}, std::move(value)));
}

Result<Blob> Node::agree_on_action(uint32_t index, const Blob& value) {
  static constexpr EngineCall kCall{Cause::action, "ending an action"};
  const Activity activity(*stats_, kCall);
  const auto request = [&](Address coordinator) {
    return make_frame(cluster_kind::action_agree, self_, coordinator, index, {}, Blob(value));
  };
  AH_LET(auto frame, request_from_coordinator(request, cluster_kind::action_agreed, "ending an action"));
  cluster_.cache_value(index, frame.body);
  return std::move(frame.body);
}

Status Node::start_servers(uint32_t action) {
  static constexpr EngineCall kCall{Cause::server, "starting the parameter servers"};
  const Activity activity(*stats_, kCall);
  const RequiresFirstCoordinator needs(*this, "starting the parameter servers");
  auto frame = request_from_coordinator(request_builder(cluster_kind::servers_start, action),
                                        cluster_kind::servers_ready, "starting the parameter servers", [this, action] {
                                          if (action == kAnyAction) return std::string();
                                          const auto late = behind(action);
                                          return late ? describe(*late) : std::string();
                                        });
  if (!frame) return frame.error();
  AH_LET(auto reply, unpack<ActionReply>(frame->meta.view()));
  if (!reply.ok) return Error{reply.code, reply.message};
  return {};
}

Result<std::vector<Whereabouts>> Node::behind(uint32_t action) {
  auto list = whereabouts();
  if (!list) return list;
  std::erase_if(*list, [&](const Whereabouts& w) { return w.ended || w.actions > action || w.waiting.outside; });
  return list;
}

std::string Node::describe(const std::vector<Whereabouts>& workers) const {
  std::string out;
  for (const Whereabouts& w : workers) {
    const std::string last = w.kind.empty() ? "nowhere yet" : "last in " + w.kind + " at " + w.where;
    out += (out.empty() ? "" : ", ") + membership_->describe(worker_address(w.id)) + " (" + last + ")";
  }
  return out;
}

Result<SourceText> Node::find_source(const std::string& name) {
  Result<SourceText> here = job_.find_here(name);
  if (cluster_.is_coordinator() || name.size() > kMaxTextBytes) return here;
  const ModuleFind find{name, here ? source_hash(here->text) : 0};
  AH_LET(auto frame, request_from_coordinator(request_builder(cluster_kind::module_find, ++request_number_, pack(find)),
                                              cluster_kind::module_reply, "module '" + name + "'"));
  AH_LET(auto reply, unpack<ModuleReply>(frame.meta.view()));
  if (!reply.ok) return Error{reply.code, reply.message};
  if (here) return here;
  const std::string_view text = frame.body.view();
  return SourceText{std::string(text), reply.chunk};
}

Result<std::vector<NodeId>> Node::at_work(const Membership& membership) {
  std::vector<NodeId> ids;
  for (const Member& member : membership.workers()) ids.push_back(member.id);
  if (ids.empty() || ids.back() < membership.founders()) return ids;
  AH_LET(const auto list, whereabouts());
  for (const Whereabouts& w : list) {
    if (w.waiting.outside) std::erase(ids, w.id);
  }
  return ids;
}

Result<std::vector<Whereabouts>> Node::whereabouts(const LongWait* waiting) {
  AH_LET(auto frame, request_from_coordinator(request_builder(cluster_kind::whereabouts, ++request_number_,
                                                              waiting != nullptr ? pack(*waiting) : ""),
                                              cluster_kind::whereabouts_reply, "asking where the others are"));
  return unpack<std::vector<Whereabouts>>(frame.body.view());
}

}  // namespace actorhost
