#include "host/cluster/quorum.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace actorhost {

void Quorum::commit(MembershipPtr table) {
  tables_.clear();
  tables_.push_back(std::move(table));
}

void Quorum::accept(MembershipPtr table) {
  if (tables_.size() > 1) tables_.resize(1);
  if (!tables_.empty() && table->epoch() <= tables_.front()->epoch()) return;
  tables_.push_back(std::move(table));
}

void Quorum::merge(const std::vector<Membership>& tables) {
  if (tables.empty()) return;
  const uint64_t committed = std::max(tables.front().epoch(), tables_.empty() ? uint64_t{0} : tables_.front()->epoch());
  std::vector<MembershipPtr> all = std::move(tables_);
  for (const Membership& table : tables) {
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const MembershipPtr& t) { return pack(*t) == pack(table); });
    if (!known) all.push_back(std::make_shared<const Membership>(table));
  }
  std::erase_if(all, [&](const MembershipPtr& table) { return table->epoch() < committed; });
  std::stable_sort(all.begin(), all.end(),
                   [](const MembershipPtr& a, const MembershipPtr& b) { return a->epoch() < b->epoch(); });
  tables_ = std::move(all);
}

Quorum::Count Quorum::count_in(const Membership& table, const Present& present) const {
  Count count;
  for (const Member& worker : table.workers()) {
    if (!worker.votes || excludes(worker.process)) continue;
    ++count.counted;
    count.present += present(worker.process) ? 1 : 0;
  }
  return count;
}

bool Quorum::majority(const Present& present) const {
  return std::all_of(tables_.begin(), tables_.end(), [&](const MembershipPtr& table) {
    const Count count = count_in(*table, present);
    return count.counted == 0 || 2 * count.present > count.counted;
  });
}

bool Quorum::needs(ProcessId process) const {
  return std::all_of(tables_.begin(), tables_.end(), [&](const MembershipPtr& table) {
    const Count others = count_in(*table, [process](ProcessId other) { return other != process; });
    return 2 * others.present <= others.counted;
  });
}

std::vector<ProcessInfo> Quorum::processes() const {
  std::map<ProcessId, ProcessInfo> all;
  for (const MembershipPtr& table : tables_) {
    for (const ProcessInfo& info : table->processes()) all.try_emplace(info.process, info);
  }
  std::vector<ProcessInfo> out;
  for (auto& [process, info] : all) out.push_back(std::move(info));
  return out;
}

std::set<ProcessId> Quorum::dropped() const {
  std::set<ProcessId> out;
  for (const ProcessInfo& info : tables_.back()->processes()) {
    const bool everywhere = std::all_of(std::next(tables_.begin()), tables_.end(), [&](const MembershipPtr& table) {
      return table->process(info.process) != nullptr;
    });
    if (!everywhere) out.insert(info.process);
  }
  return out;
}

std::vector<Membership> Quorum::tables() const {
  std::vector<Membership> out;
  for (const MembershipPtr& table : tables_) out.push_back(*table);
  return out;
}

}  // namespace actorhost
