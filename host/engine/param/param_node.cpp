#include "host/engine/param/param_node.hpp"

#include <algorithm>
#include <utility>

namespace actorhost {

namespace {

std::string key_list(const std::vector<ParamKey>& keys) {
  if (keys.size() == 1) return "key " + keys[0].print();
  return std::to_string(keys.size()) + " keys (" + keys[0].print() + ", ...)";
}

std::string key_list(std::span<const ParamEntry> entries) {
  if (entries.size() == 1) return "key " + entries[0].key.print();
  return std::to_string(entries.size()) + " keys";
}

ParamEntry copy_of(const ParamEntry& entry) {
  ParamEntry copy = entry;
  if (auto* tensor = std::get_if<ParamTensor>(&copy.value)) tensor->data = Blob::copy_of(tensor->data.view());
  if (auto* lua = std::get_if<LuaValue>(&copy.value)) {
    for (Tensor& t : lua->tensors) t.data = Blob::copy_of(t.data.view());
  }
  return copy;
}

}  // namespace

ParamNode::ParamNode(ParamChannel& channel, uint32_t shards) : channel_(channel), shards_(shards), client_(shards) {}

// Sends the frames of the state machines. A server's frames to itself bypass the network.
Status ParamNode::flush_out(double deadline) {
  for (;;) {
    if (server_ != nullptr) {
      std::vector<Frame> more = server_->take_frames();
      out_.insert(out_.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    if (out_.empty()) return {};
    std::vector<Frame> frames = std::exchange(out_, {});
    for (Frame& frame : frames) {
      if (frame.dst == channel_.self()) {
        frame.src = frame.dst;
        dispatch(std::move(frame));
        continue;
      }
      const bool to_worker = is_worker(frame.dst);
      Status sent = channel_.send(std::move(frame), deadline);
      // The membership reports a failed worker; a failed send must not end the run for the other workers.
      if (!sent.ok() && !(to_worker && sent.error().code == Code::peer_lost)) return sent;
    }
  }
}

void ParamNode::dispatch(Frame&& frame) {
  if (ParamWorker::handles(frame)) {
    if (worker_) worker_->handle(std::move(frame), out_);
  } else if (ParamClient::handles(frame)) {
    client_.handle(std::move(frame), out_);
  } else if (server_ != nullptr) {
    server_->handle(std::move(frame), channel_.now());
    std::vector<Frame> later = server_->take_early();
    early_.insert(early_.end(), std::make_move_iterator(later.begin()), std::make_move_iterator(later.end()));
  } else {
    early_.push_back(std::move(frame));
  }
}

Status ParamNode::receive(double deadline, ParamPhase phase) {
  in_.clear();
  channel_.enter(phase);
  Status received = channel_.receive(in_, deadline);
  std::vector<Frame> frames = std::exchange(in_, {});
  for (Frame& frame : frames) dispatch(std::move(frame));
  frames.clear();
  in_ = std::move(frames);  // keeps its memory
  return received;
}

Error ParamNode::explain(Error error, const std::string& awaited) const {
  if (error.code == Code::peer_lost) error.message = "server 0 (host 0) lost while waiting for " + awaited;
  if (error.code == Code::timeout) error.message = "timed out while waiting for " + awaited;
  return error;
}

template <typename Done>
Status ParamNode::wait_until(Done&& done, double deadline, const std::string& awaited, const ParamPhase& phase) {
  for (;;) {
    if (const Status sent = flush_out(deadline); !sent.ok()) return explain(sent.error(), awaited);
    if (done()) return {};
    if (channel_.now() >= deadline) return explain({Code::timeout, ""}, awaited);
    if (const Status received = receive(deadline, phase); !received.ok()) return explain(received.error(), awaited);
  }
}

Result<std::vector<ParamEntry>> ParamNode::get(std::vector<ParamKey> keys, double deadline) {
  return read(std::move(keys), false, deadline, ParamPhase::request);
}

Result<std::vector<ParamEntry>> ParamNode::fetch(std::vector<ParamKey> keys) {
  return read(std::move(keys), worker_ && worker_->filtered(), kForever, ParamPhase::pull);
}

Result<std::vector<ParamEntry>> ParamNode::read(std::vector<ParamKey> keys, bool filtered, double deadline,
                                                ParamPhase phase) {
  if (keys.empty()) return std::vector<ParamEntry>();
  const std::string awaited = "the value of " + key_list(keys);
  client_.set_now(server_ != nullptr && server_->in_pull());
  const auto request = client_.get(std::move(keys), out_, filtered);
  const Status waited = wait_until([&] { return client_.finished(request); }, deadline, awaited, phase);
  if (!waited.ok()) {
    client_.forget(request);
    return waited.error();
  }
  return client_.take_values(request);
}

Status ParamNode::set(std::span<const ParamEntry> entries, uint64_t step, double deadline) {
  if (entries.empty()) return {};
  client_.set_now(server_ != nullptr && server_->in_pull());
  // Copies values: the call may return before the shards have finished, and the caller may then write to its memory.
  std::vector<ParamEntry> copies;
  if (deadline != kForever) std::transform(entries.begin(), entries.end(), std::back_inserter(copies), copy_of);
  const auto request = client_.set(copies.empty() ? entries : std::span<const ParamEntry>(copies), step, out_);
  Status waited = wait_until([&] { return client_.finished(request); }, deadline, "setting " + key_list(entries));
  if (!waited.ok()) {
    client_.forget(request);
    return waited;
  }
  return client_.take_done(request);
}

Result<std::vector<ParamKey>> ParamNode::keys(double deadline) {
  client_.set_now(server_ != nullptr && server_->in_pull());
  const auto request = client_.keys(out_);
  const Status waited = wait_until([&] { return client_.finished(request); }, deadline, "the list of keys");
  if (!waited.ok()) {
    client_.forget(request);
    return waited.error();
  }
  return client_.take_keys(request);
}

Status ParamNode::begin(const ParamWorker::Config& config) {
  client_.set_whole(config.whole);
  worker_ = std::make_unique<ParamWorker>(config, client_);
  worker_->start(out_);
  return wait_until([] { return true; }, kForever, "server 0 to take part in the run");
}

Result<ParamWorker::Event> ParamNode::next_event(double deadline) {
  if (!worker_) return Error{Code::internal, "next_event was called outside of a run"};
  std::optional<ParamWorker::Event> event;
  ParamPhase phase = ParamPhase::task;
  const auto has_event = [&] {
    event = worker_->next();
    if (worker_->has_passed()) phase = ParamPhase::pull;
    return event.has_value();
  };
  AH_TRY(wait_until(has_event, deadline, "the next task of step " + std::to_string(worker_->step() + 1), phase));
  return *std::move(event);
}

Status ParamNode::push(const std::vector<ParamEntry>& entries, double seconds) {
  if (!worker_) return Error{Code::internal, "a push outside of a run"};
  AH_TRY(worker_->push(entries, out_, seconds));
  return wait_until([] { return true; }, kForever, "room to push " + key_list(std::span(entries)));
}

void ParamNode::serve(ParamServer* server) {
  server_ = server;
  if (server_ == nullptr) return;
  for (Frame& frame : std::exchange(early_, {})) dispatch(std::move(frame));
}

Result<std::optional<ServerRequest>> ParamNode::wait(double deadline, const std::function<bool()>& enough) {
  for (;;) {
    const ParamChannel::Changes changes = channel_.changes();
    for (const NodeId id : changes.joined) server_->joined(id);
    for (const NodeId id : changes.lost) server_->lost(id, channel_.now());
    for (const NodeId id : changes.suspected) server_->suspect(id, true);
    for (const NodeId id : changes.cleared) server_->suspect(id, false);
    std::optional<ServerRequest> request = server_->next(channel_.now());
    AH_TRY(flush_out(kForever));
    if (request || channel_.now() >= deadline || (enough ? enough() : run_is_over())) return request;
    AH_TRY(receive(std::min(deadline, server_->next_time())));
  }
}

}  // namespace actorhost
