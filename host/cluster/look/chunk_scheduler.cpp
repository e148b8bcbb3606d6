#include "host/cluster/look/chunk_scheduler.hpp"

#include <algorithm>

namespace actorhost {

namespace {

/// Why a node without a queue does not run chunks.
std::string absence(Address node) {
  const std::string ended = address_name(node) + " has ended its script";
  return is_worker(node) ? ended : ended + ": no param.run is in progress";
}

}  // namespace

Status ChunkScheduler::take(const Frame& frame) {
  std::lock_guard lock(mutex_);
  if (frame.kind == console_kind::request) {
    AH_LET(auto request, unpack<ConsoleRequest>(frame.meta.view()));
    on_request(std::move(request), frame.body);
  } else if (frame.kind == console_kind::cut) {
    AH_LET(const auto cut, unpack<ConsoleCut>(frame.meta.view()));
    on_cut(cut);
  } else if (frame.kind == console_kind::over) {
    AH_LET(const auto over, unpack<ConsoleOver>(frame.meta.view()));
    for (Together& each : together_) {
      if (each.chunk->request.chunk == over.chunk) each.ok = over.ok;
    }
  } else if (frame.kind == console_kind::hold) {
    AH_LET(const auto hold, unpack<ConsoleHold>(frame.meta.view()));
    paused_ = hold.paused;
    for (const auto& [node, queue] : queues_) update_flags(*queue);
  }
  return {};
}

void ChunkScheduler::on_request(ConsoleRequest&& request, const Blob& source) {
  const auto chunk = std::make_shared<const ConsoleChunk>(ConsoleChunk{std::move(request), std::string(source.view())});
  if (chunk->request.together) together_.push_back({chunk});
  for (const Address node : chunk->request.nodes) {
    const auto at = queues_.find(node);
    if (at == queues_.end() && is_worker(node) && !ended_.contains(node)) {
      if (!chunk->request.together) early_[node].push_back(chunk);
      continue;
    }
    if (at == queues_.end()) {
      refuse(*chunk, node, absence(node));
      continue;
    }
    if (!chunk->request.together) at->second->waiting.push_back(chunk);
    update_flags(*at->second);
  }
  if (!chunk->request.together) return;
  for (const auto& [node, queue] : queues_) {
    if (is_server(node)) update_flags(*queue);
  }
}

void ChunkScheduler::on_cut(const ConsoleCut& cut) {
  const auto is_it = [&](const auto& chunk) { return chunk->request.chunk == cut.chunk; };
  for (Together& each : together_) {
    if (!is_it(each.chunk)) continue;
    each.cut = each.cut || cut.why.empty();
    each.failure_reason = cut.why;
  }
  for (const auto& [node, queue] : queues_) {
    update_flags(*queue);
    if (const auto at = std::find_if(queue->waiting.begin(), queue->waiting.end(), is_it); at != queue->waiting.end()) {
      ConsoleDone done{cut.chunk, node, false, true, false};
      done.error = "interrupted before it ran";
      send(console_kind::done, pack(done));
      queue->waiting.erase(at);
      update_flags(*queue);
    }
    for (NodeQueue::Running& running : queue->running) {
      if (!is_it(running.chunk)) continue;
      if (cut.why.empty()) {
        running.cut = true;
        queue->cut_ = true;
        if (queue->interrupt) queue->interrupt();
      } else {
        queue->failure_reason = cut.why;
        queue->failed_ = true;
      }
      queue->wake();
    }
  }
}

bool ChunkScheduler::interrupt_again() {
  std::lock_guard lock(mutex_);
  bool any = false;
  for (const auto& [node, queue] : queues_) {
    if (!queue->cut()) continue;
    any = true;
    if (queue->interrupt) queue->interrupt();
  }
  return any;
}

void ChunkScheduler::cancel_all() {
  std::lock_guard lock(mutex_);
  paused_ = false;
  for (const auto& [node, queue] : queues_) {
    queue->waiting.clear();
    update_flags(*queue);
    for (NodeQueue::Running& running : queue->running) running.cut = queue->cut_ = true;
    if (queue->cut() && queue->interrupt) queue->interrupt();
  }
}

void ChunkScheduler::send(Kind kind, std::string_view meta, std::string_view body) {
  send_(make_frame(kind, kNoAddress, service_address(0), 0, meta, body.empty() ? Blob() : Blob::copy_of(body)));
}

void ChunkScheduler::refuse(const ConsoleChunk& chunk, Address node, const std::string& why) {
  ConsoleDone done{chunk.request.chunk, node, false, false, false};
  done.error = why;
  send(console_kind::done, pack(done));
}

/// Sets the node's flags, and wakes it if there is work. A pause does not hold a node back from a cancelled chunk for
/// all nodes that it has not begun, because the chunk ends only once it has ended on every node. With the mutex held.
void ChunkScheduler::update_flags(NodeQueue& queue) {
  const size_t next = find_together(queue);
  const bool given_up = queue.running.empty() && next < together_.size() && together_[next].cut;
  queue.held_ = paused_ && is_worker(queue.node) && !given_up;
  queue.has_chunk_ = !queue.waiting.empty();
  queue.has_work_ = queue.has_chunk_ || queue.held_ || (queue.idle && next < together_.size());
  queue.wake();
}

std::shared_ptr<ChunkScheduler::NodeQueue> ChunkScheduler::add_node(Address node, std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  auto queue = std::make_shared<NodeQueue>();
  queue->node = node;
  queue->wake = std::move(wake);
  queue->waiting = std::exchange(early_[node], {});
  early_.erase(node);
  queues_[node] = queue;
  update_flags(*queue);
  return queue;
}

void ChunkScheduler::set_interrupt(NodeQueue& queue, std::function<void()> interrupt) {
  std::lock_guard lock(mutex_);
  queue.interrupt = std::move(interrupt);
}

void ChunkScheduler::remove_node(const std::shared_ptr<NodeQueue>& queue) {
  std::lock_guard lock(mutex_);
  if (const auto at = queues_.find(queue->node); at != queues_.end() && at->second == queue) queues_.erase(at);
  const std::string why = absence(queue->node);
  for (const ConsoleChunkPtr& chunk : std::exchange(queue->waiting, {})) refuse(*chunk, queue->node, why);
  if (!is_worker(queue->node)) return;
  ended_.insert(queue->node);
  for (size_t i = queue->next_together; i < together_.size(); ++i) {
    if (!together_[i].ok) refuse(*together_[i].chunk, queue->node, why);
  }
}

ConsoleChunkPtr ChunkScheduler::begin(NodeQueue& queue) {
  std::lock_guard lock(mutex_);
  if (queue.waiting.empty()) return nullptr;
  ConsoleChunkPtr chunk = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  queue.running.push_back({chunk});
  update_flags(queue);
  return chunk;
}

void ChunkScheduler::report_ready(NodeQueue& queue) {
  std::lock_guard lock(mutex_);
  if (is_worker(queue.node)) {
    if (queue.next_together == 0) send(console_kind::ready, pack(ConsoleFrom{0, queue.node}));
    return;
  }
  queue.idle = true;
  update_flags(queue);
}

size_t ChunkScheduler::find_together(const NodeQueue& queue) const {
  size_t at = queue.next_together;
  const auto passes_over = [&](const Together& each) { return is_server(queue.node) && each.ok == false; };
  while (at < together_.size() && passes_over(together_[at])) ++at;
  return at;
}

bool ChunkScheduler::has_together(const NodeQueue& queue) const {
  std::lock_guard lock(mutex_);
  return find_together(queue) < together_.size();
}

ConsoleChunkPtr ChunkScheduler::begin_together(NodeQueue& queue) {
  std::lock_guard lock(mutex_);
  const size_t at = find_together(queue);
  if (at == together_.size() || queue.held()) return nullptr;
  queue.next_together = at + 1;
  queue.idle = false;
  const Together& next = together_[at];
  queue.running.push_back({next.chunk, next.cut});
  update_flags(queue);
  queue.cut_ = next.cut;
  queue.failed_ = !next.failure_reason.empty();
  queue.failure_reason = next.failure_reason;
  return next.chunk;
}

/// The part of a text within the limit.
std::string_view ChunkScheduler::within_limit(NodeQueue::Running& running, std::string_view text) {
  const uint64_t limit = running.chunk->request.limit;
  const uint64_t room = limit - std::min(limit, running.written);
  const std::string_view part = text.substr(0, room);
  running.written += part.size();
  running.left_out += text.size() - part.size();
  return part;
}

void ChunkScheduler::write(NodeQueue& queue, std::string_view text) {
  std::lock_guard lock(mutex_);
  if (queue.running.empty()) return;
  NodeQueue::Running& running = queue.running.back();
  const std::string_view part = within_limit(running, text);
  if (!part.empty()) send(console_kind::output, pack(ConsoleFrom{running.chunk->request.chunk, queue.node}), part);
}

void ChunkScheduler::finish(NodeQueue& queue, ConsoleDone done, std::string_view values) {
  std::lock_guard lock(mutex_);
  NodeQueue::Running& running = queue.running.back();
  const std::string_view part = within_limit(running, values);
  done.chunk = running.chunk->request.chunk;
  done.node = queue.node;
  done.interrupted = done.interrupted || (running.cut && !done.ok);
  done.left_out = running.left_out;
  send(console_kind::done, pack(done), part);
  queue.running.pop_back();
  queue.cut_ = std::any_of(queue.running.begin(), queue.running.end(), [](const auto& outer) { return outer.cut; });
  if (queue.running.empty()) {
    queue.failed_ = false;
    queue.failure_reason.clear();
  }
  update_flags(queue);
}

void ChunkScheduler::fail_together(NodeQueue& queue, const std::string& error) {
  std::lock_guard lock(mutex_);
  if (queue.running.empty()) return;
  ConsoleDone done{queue.running.front().chunk->request.chunk, queue.node, false};
  done.still = true;
  done.error = error;
  send(console_kind::done, pack(done));
}

std::string ChunkScheduler::failure_reason(const NodeQueue& queue) const {
  std::lock_guard lock(mutex_);
  return queue.failure_reason;
}

}  // namespace actorhost
