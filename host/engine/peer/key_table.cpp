#include "host/engine/peer/key_table.hpp"

#include <algorithm>

#include "host/engine/param/assembler.hpp"

namespace actorhost {

std::vector<KeyTable::Group> KeyTable::groups_of(std::span<const ParamEntry> entries) {
  std::vector<Group> groups;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i > 0 && entries[i].key == entries[i - 1].key) {
      ++groups.back().count;
    } else {
      groups.push_back({i, 1});
    }
  }
  return groups;
}

bool KeyTable::taken(const ParamKey& key, NodeId writer, Mark mark) const {
  const auto of_key = taken_.find(key);
  if (of_key == taken_.end()) return false;
  const auto newest = of_key->second.find(writer);
  return newest != of_key->second.end() && newest->second >= mark;
}

void KeyTable::drop_taken(Push& push) const {
  std::erase_if(push.entries, [&](const ParamEntry& entry) { return taken(entry.key, push.writer, push.mark); });
}

Status KeyTable::check(const Push& push) const {
  if (!push.rule.rule.is_native()) return {};
  const std::string who = address_name(worker_address(push.writer));
  for (const ParamEntry& entry : push.entries) AH_TRY(store_.check_update(entry, push.rule.rule, who));
  return {};
}

Status KeyTable::set(std::vector<ParamEntry> entries) { return store_.set(std::move(entries)); }

void KeyTable::push(Push&& push) {
  for (const Group& group : groups_of(push.entries)) taken_[push.entries[group.first].key][push.writer] = push.mark;
  if (!push.rule.staged) return apply(push);
  auto& kept = staged_[{push.mark, push.writer}];
  if (kept.entries.empty()) {
    kept = std::move(push);
  } else {
    kept.entries.insert(kept.entries.end(), std::make_move_iterator(push.entries.begin()),
                        std::make_move_iterator(push.entries.end()));
  }
}

void KeyTable::apply(Push& push) {
  const UpdateRule& rule = push.rule.rule;
  const uint64_t step = step_of(push.mark);
  if (rule.is_lua()) return;
  if (rule.is_native()) {
    const std::string who = address_name(worker_address(push.writer));
    for (const ParamEntry& entry : push.entries) {
      // A set may have changed a staged update's value meanwhile.
      if (store_.check_update(entry, rule, who).ok()) (void)store_.update(entry, rule, {step - 1, 1});
    }
    return;
  }
  for (ParamEntry& entry : push.entries) entry.step = step;
  (void)store_.set(std::move(push.entries));
}

std::vector<PullEntry> KeyTable::commit(Mark below) {
  std::vector<PullEntry> to_pull;
  while (staged(below)) {
    Push push = std::move(staged_.begin()->second);
    staged_.erase(staged_.begin());
    if (!push.rule.rule.is_lua()) {
      apply(push);
      continue;
    }
    for (PullEntry& entry : pull_entries(std::move(push))) to_pull.push_back(std::move(entry));
  }
  return to_pull;
}

std::vector<PullEntry> pull_entries(KeyTable::Push&& push) {
  std::vector<PullEntry> out;
  ParamAssembler::Partial partial;
  const auto finish = [&] {
    out.push_back({std::move(partial.entry.key), std::move(partial.entry.value), step_of(push.mark), push.writer});
    partial = {};
  };
  for (size_t i = 0; i < push.entries.size(); ++i) {
    if (i > 0 && push.entries[i].key != partial.entry.key) finish();
    partial.entry.key = push.entries[i].key;
    ParamAssembler::add(partial, std::move(push.entries[i]), push.rule.rule.shared);
  }
  if (!push.entries.empty()) finish();
  return out;
}

}  // namespace actorhost
