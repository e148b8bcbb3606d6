#include "host/engine/peer/split_client.hpp"

#include <algorithm>

namespace actorhost {

namespace {

// Attempts at a value that others replace meanwhile. A count, because the clock may jump.
constexpr int kMostAttempts = 1000;
constexpr double kStraySeconds = 150;  // for a part without its value: longer than a set takes

/// Assembles the tensor; nullopt if a part is missing.
std::optional<ParamEntry> assemble(const ParamEntry& head, const SplitTensor& split, ParamEntry* parts) {
  std::vector<ParamEntry> pieces;
  for (uint32_t i = 0; i < split.parts(); ++i) {
    const auto* part = std::get_if<ParamTensor>(&parts[i].value);
    const ElementRange range = split.range(i);
    if (part == nullptr || part->dtype != split.layout.dtype || part->count != range.count) return std::nullopt;
    pieces.push_back({head.key, ParamTensor{split.layout, range.first, range.count, part->data},
                      std::max(head.step, parts[i].step)});
  }
  for (uint32_t i = 0; i < split.parts(); ++i) parts[i].value = {};
  auto whole = join_pieces(std::move(pieces));
  if (!whole.ok() || whole->size() != 1) return std::nullopt;
  return std::move(whole->front());
}

}  // namespace

bool SplitClient::is_large(const ParamValue& value) const {
  const auto* tensor = std::get_if<ParamTensor>(&value);
  return tensor != nullptr && tensor->bytes() > part_bytes_;
}

// Greater than all earlier numbers, even after the node has left and joined again.
uint64_t SplitClient::next_number(double now) {
  number_ = std::max(number_ + 1, static_cast<uint64_t>(now * 1e6));
  return number_;
}

void SplitClient::note(const ParamKey& key, const ParamValue& value) {
  if (const auto split = SplitTensor::of(value)) {
    known_[key] = *split;
  } else {
    known_.erase(key);
  }
}

// ---- get ----

void SplitClient::get(std::vector<ParamKey> keys, Mark mark, double now, OnValues done) {
  get_all(std::make_shared<Get>(Get{std::move(keys), mark, kMostAttempts, std::move(done)}), now);
}

void SplitClient::get_all(const std::shared_ptr<Get>& job, double now) {
  client_.get(job->keys, job->mark, now, [this, job](Result<std::vector<ParamEntry>> values) {
    if (!values.ok()) return job->done(std::move(values));
    get_parts(job, *std::move(values), overlay_.now());
  });
}

void SplitClient::get_parts(const std::shared_ptr<Get>& job, std::vector<ParamEntry> values, double now) {
  std::vector<ParamKey> parts;
  for (const ParamEntry& entry : values) {
    note(entry.key, entry.value);
    const auto split = SplitTensor::of(entry.value);
    for (uint32_t i = 0; split && i < split->parts(); ++i) {
      parts.push_back(split->part_key(entry.key, i));
    }
  }
  if (parts.empty()) return job->done(std::move(values));
  auto take = [this, job, values = std::move(values)](Result<std::vector<ParamEntry>> found) mutable {
    if (!found.ok()) return job->done(std::move(found));
    ParamEntry* next = found->data();
    for (ParamEntry& entry : values) {
      const auto split = SplitTensor::of(entry.value);
      if (!split) continue;
      auto whole = assemble(entry, *split, next);
      if (!whole) {
        // A value set meanwhile has another description. A missing part of the same description is lost for good.
        const auto [torn, fresh] = job->torn.try_emplace(entry.key, *split);
        if (!fresh && torn->second == *split) {
          return job->done(
              Error{Code::peer_lost,
                    "key " + entry.key.print() + ": a part of its value is lost with all its copies; set it again"});
        }
        torn->second = *split;
      }
      if (!whole && --job->attempts > 0) return get_all(job, overlay_.now());  // the value was set meanwhile
      if (!whole) {
        return job->done(Error{Code::timeout, "key " + entry.key.print() + " is set so often that in " +
                                                  std::to_string(kMostAttempts) +
                                                  " attempts no complete value was read"});
      }
      next += split->parts();
      entry = *std::move(whole);
    }
    job->done(std::move(values));
  };
  client_.get(std::move(parts), job->mark, now, std::move(take), true);
}

// ---- set ----

// Replaces large tensors by descriptions and returns their parts.
std::vector<ParamEntry> SplitClient::split(std::vector<ParamEntry>& entries, double now) {
  std::vector<ParamEntry> parts;
  const uint64_t number = next_number(now);
  for (ParamEntry& entry : entries) {
    if (!is_large(entry.value)) continue;
    const auto& tensor = std::get<ParamTensor>(entry.value);
    const SplitTensor split{tensor, overlay_.self().node, number, part_bytes_ / dtype_size(tensor.dtype)};
    add_parts(entry.key, split, &tensor, parts);
    entry.value = split.as_lua();
  }
  return parts;
}

void SplitClient::set_parts(std::vector<ParamEntry> parts, double now, OnDone done) {
  if (parts.empty()) return done({});
  client_.set(std::move(parts), 0, next_number(now), now, std::move(done));
}

void SplitClient::set(std::vector<ParamEntry> entries, Mark mark, double now, OnDone done) {
  std::vector<ParamEntry> parts = split(entries, now);
  auto rest = [this, entries = std::move(entries), mark, done = std::move(done)](const Status& written) mutable {
    if (!written.ok()) return done(written);
    for (const ParamEntry& entry : entries) note(entry.key, entry.value);
    client_.set(std::move(entries), mark, next_number(overlay_.now()), overlay_.now(), std::move(done));
  };
  set_parts(std::move(parts), now, std::move(rest));
}

void SplitClient::remove(const ParamKey& key, const SplitTensor& split, double now) {
  std::vector<ParamEntry> parts;
  add_parts(key, split, nullptr, parts);
  set_parts(std::move(parts), now, [](const Status&) {});
}

// Parts are left over if a writer fails before its description is stored, or a leader fails before it has removed them.
void SplitClient::remove_strays(const std::vector<ParamKey>& parts, double now) {
  std::vector<ParamKey> wholes;
  for (const ParamKey& part : parts) wholes.push_back(part.whole());
  client_.get(
      std::move(wholes), 0, now,
      [this, parts](const Result<std::vector<ParamEntry>>& values) {
        if (!values.ok()) return;
        const double when = overlay_.now();
        std::map<ParamKey, double> strays;
        std::vector<ParamEntry> removed;
        for (size_t i = 0; i < parts.size(); ++i) {
          const auto split = SplitTensor::of((*values)[i].value);
          if (split && split->part_key(parts[i].whole(), parts[i].part()) == parts[i]) continue;
          const auto before = strays_.find(parts[i]);
          const double since = before != strays_.end() ? before->second : when;
          strays[parts[i]] = since;
          if (when - since > kStraySeconds) removed.push_back({parts[i], {}, 0});
        }
        strays_ = std::move(strays);
        set_parts(std::move(removed), when, [](const Status&) {});
      },
      true);
}

// ---- push ----

void SplitClient::push(std::vector<ParamEntry> entries, Mark mark, const PushRule& rule, double now, OnDone done) {
  const bool large = std::any_of(entries.begin(), entries.end(), [&](const auto& e) { return is_large(e.value); });
  if (!large || rule.rule.is_lua()) return client_.push(std::move(entries), mark, rule, now, std::move(done));
  if (rule.rule.is_native()) return push_native(std::move(entries), mark, rule, now, std::move(done));
  std::vector<ParamEntry> parts = split(entries, now);
  auto rest = [this, entries = std::move(entries), mark, rule, done = std::move(done)](const Status& written) mutable {
    if (!written.ok()) return done(written);
    client_.push(std::move(entries), mark, rule, overlay_.now(), std::move(done));
  };
  set_parts(std::move(parts), now, std::move(rest));
}

// Pushes each large tensor separately; `done` is called after all, with the first error.
void SplitClient::push_native(std::vector<ParamEntry> entries, Mark mark, const PushRule& rule, double now,
                              OnDone done) {
  struct All {
    size_t open = 1;
    OnDone done;
    Status status = {};
  };
  const auto all = std::make_shared<All>(All{1, std::move(done)});
  const auto one_done = [all](const Status& pushed) {
    if (!pushed.ok() && all->status.ok()) all->status = pushed;
    if (--all->open == 0) all->done(all->status);
  };
  std::vector<ParamEntry> small;
  for (ParamEntry& entry : entries) {
    if (!is_large(entry.value)) {
      small.push_back(std::move(entry));
      continue;
    }
    ++all->open;
    prepare(std::make_shared<Push>(Push{std::move(entry), mark, rule, kMostAttempts, one_done}), now);
  }
  client_.push(std::move(small), mark, rule, now, one_done);
}

// The update counts only once the description's owner has accepted it, so a writer that fails earlier leaves no part of
// it.
void SplitClient::prepare(const PushPtr& job, double now) {
  const auto& tensor = std::get<ParamTensor>(job->entry.value);
  const auto known = known_.find(job->entry.key);
  job->number = next_number(now);
  job->split.reset();
  std::vector<ParamEntry> parts;
  if (known != known_.end() && known->second.layout == tensor) {
    job->split = known->second;
    add_parts(job->entry.key, *job->split, &tensor, parts);
  } else {
    parts.push_back(job->entry);  // its owner checks whether it fits
  }
  const auto prepared = [this, job](const Status& pushed) {
    if (ended(job, pushed)) return;
    job->split ? push_description(job, overlay_.now()) : job->done({});
  };
  client_.push(std::move(parts), job->mark, job->rule, now, prepared, job->number);
}

void SplitClient::push_description(const PushPtr& job, double now) {
  const auto taken = [this, job](const Status& pushed) {
    if (!ended(job, pushed)) count(job, overlay_.now());
  };
  client_.push({{job->entry.key, job->split->as_lua(), 0}}, job->mark, job->rule, now, taken, job->number);
}

void SplitClient::count(const PushPtr& job, double now) {
  std::vector<ParamEntry> parts;
  add_parts(job->entry.key, *job->split, nullptr, parts);
  client_.count(std::move(parts), job->mark, now, job->done);
}

/// Whether the push ends here: it has failed, or it restarts because the key has other parts now.
bool SplitClient::ended(const PushPtr& job, const Status& pushed) {
  if (pushed.ok()) return false;
  const bool again = pushed.error().code == Code::mismatch && --job->attempts > 0;
  again ? restart(job, overlay_.now()) : job->done(pushed);
  return true;
}

void SplitClient::restart(const PushPtr& job, double now) {
  client_.get({job->entry.key}, 0, now, [this, job](const Result<std::vector<ParamEntry>>& values) {
    if (!values.ok()) return job->done(values.error());
    note(job->entry.key, values->front().value);
    prepare(job, overlay_.now());
  });
}

}  // namespace actorhost
