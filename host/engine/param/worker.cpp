#include "host/engine/param/worker.hpp"

#include <map>

#include "host/engine/values/update.hpp"

namespace actorhost {

void ParamWorker::start(std::vector<Frame>& out) {
  out.push_back(message_frame(param_kind::ready, server_address(0), 0, Ready{config_.run}));
}

void ParamWorker::handle(Frame&& frame, std::vector<Frame>& out) {
  if (!is_server(frame.src)) return;
  if (frame.kind == param_kind::task) {
    on_task(std::move(frame), out);
  } else if (frame.kind == param_kind::stop) {
    auto stop = read_message<Stop>(frame);
    if (!stop || stop->run != config_.run) return;
    event_ = std::move(stop->summary);
    fence(out);
  } else if (frame.kind == param_kind::reject) {
    auto reject = read_message<Reject>(frame);
    if (reject && reject->run == config_.run) rejected_ = Error{Code::bad_argument, std::move(reject->message)};
  }
}

void ParamWorker::on_task(Frame&& frame, std::vector<Frame>& out) {
  Unpacker in(frame.meta.view());
  const auto head = unpack_head<TaskHead>(in);
  if (!head || head->run != config_.run) return;
  std::vector<ParamEntry> entries;
  if (const Status read = read_entries(in, frame.body, true, entries, &traffic_.pulled); !read.ok()) {
    rejected_ = malformed(frame, read.error().message);
    return;
  }
  frame.body = {};
  for (ParamEntry& entry : entries) {
    const bool continues = !arriving_.empty() && arriving_.back().is_tensor() && !arriving_.back().complete() &&
                           arriving_.back().entry.key == entry.key;
    if (!continues) {
      arriving_.emplace_back();
      arriving_.back().entry.key = entry.key;
    }
    ParamAssembler::add(arriving_.back(), std::move(entry), config_.shared);
  }
  if ((frame.flags & kLastFrame) == 0) return;

  Task task{head->step, head->local, head->timed, {}};
  std::vector<ParamKey> keys;
  fetched_.clear();
  for (ParamAssembler::Partial& partial : arriving_) {
    if (std::holds_alternative<ParamFetch>(partial.entry.value)) {
      fetched_.push_back(task.entries.size());
      keys.push_back(partial.entry.key);
    }
    task.entries.push_back(std::move(partial.entry));
  }
  arriving_.clear();
  step_ = head->step;
  head_ = {config_.run, head->step, head->staged, head->uncopied, head->timed};
  head_.filtered = head->filtered;
  event_ = std::move(task);
  if (!keys.empty()) values_ = client_.get(std::move(keys), out, head_.filtered);
  fence(out);
}

// Requests a reply from the other shards, which proves that they have handled all earlier frames. For shard 0 its task
// or stop is the proof.
void ParamWorker::fence(std::vector<Frame>& out) {
  if (!touched_.empty()) fence_ = client_.fence(touched_, out);
  touched_.clear();
}

std::optional<ParamWorker::Event> ParamWorker::next() {
  if (rejected_) return Event(*std::exchange(rejected_, std::nullopt));
  if (!event_ || (values_ && !client_.finished(*values_)) || (fence_ && !client_.finished(*fence_))) {
    return std::nullopt;
  }
  if (fence_) {
    const Status done = client_.take_done(*std::exchange(fence_, std::nullopt));
    if (!done.ok()) return Event(done.error());
  }
  if (values_) {
    auto values = client_.take_values(*std::exchange(values_, std::nullopt));
    auto* task = std::get_if<Task>(&*event_);  // null: the run has ended
    if (task != nullptr && !values) return Event(std::move(values).error());
    for (size_t i = 0; task != nullptr && i < fetched_.size(); ++i) {
      task->entries[fetched_[i]] = std::move((*values)[i]);
    }
  }
  return std::exchange(event_, std::nullopt);
}

// The parts of a push and their shards, in order, in a run with filters. Counts the pushed bytes.
std::vector<ParamWorker::Part> ParamWorker::filtered(const std::vector<ParamEntry>& entries) {
  std::vector<Part> parts;
  for (const ParamEntry& entry : entries) {
    const auto* tensor = std::get_if<ParamTensor>(&entry.value);
    const bool filters = tensor != nullptr && filter_.applies_to(*tensor);
    if (filters) filter_.begin(config_.id, entry.key, *tensor);
    for_each_home(entry.key, entry.value, config_.shards, !config_.whole, [&](uint32_t shard, const ParamValue& value) {
      if (!filters) {
        const size_t bytes = payload_bytes(value);
        traffic_.pushed += {bytes, bytes};
        parts.push_back({shard, &entry.key, value, {}});
        return;
      }
      for_each_chunk(std::get<ParamTensor>(value), [&](ParamTensor chunk) {
        parts.push_back({shard, &entry.key, chunk, filter_.piece(chunk)});
        traffic_.pushed += {chunk.bytes(), parts.back().filtered.size()};
      });
    });
  }
  return parts;
}

Status ParamWorker::push(const std::vector<ParamEntry>& entries, std::vector<Frame>& out, double seconds) {
  if (config_.check_finite) {
    for (const ParamEntry& entry : entries) {
      if (!has_non_finite(entry.value)) continue;
      return Error{Code::bad_argument, "push of worker " + std::to_string(config_.id) + " in step " +
                                           std::to_string(step_ + 1) + ": the value of key " + entry.key.print() +
                                           " is infinite or not a number somewhere"};
    }
  }
  head_.seconds = seconds;
  std::vector<Part> parts;
  if (head_.filtered) {
    parts = filtered(entries);
    traffic_.pulled += client_.take_pulled();
    head_.traffic = std::exchange(traffic_, {});
  }
  const std::string head = pack(head_);
  std::map<uint32_t, EntryPacker, std::greater<>> packers;  // shard 0 last: its last frame completes the step
  const auto to = [&](uint32_t shard) -> EntryPacker& {
    return packers.try_emplace(shard, param_kind::push, server_address(shard), 0, head).first->second;
  };
  to(0);
  for (const ParamEntry& entry : entries) {
    if (head_.filtered) break;
    for_each_home(entry.key, entry.value, config_.shards, !config_.whole,
                  [&](uint32_t shard, const ParamValue& value) { to(shard).add(entry.key, value); });
  }
  for (const Part& part : parts) {
    if (part.filtered.empty()) {
      to(part.shard).add(*part.key, part.value);
    } else {
      to(part.shard).add_filtered(*part.key, std::get<ParamTensor>(part.value), part.filtered);
    }
  }
  for (auto& [shard, packer] : packers) {
    packer.finish(out);
    if (shard != 0) touched_.push_back(shard);
  }
  return {};
}

}  // namespace actorhost
