#include "host/engine/peer/key_outcomes.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr double kCheckInterval = 1;  // seconds between checks for due updates
constexpr double kPatience = 150;     // with a writer, seconds: longer than all its attempts at an update take

}  // namespace

KeyOutcomes::Name KeyOutcomes::name_of(const KeyTable::Prepared& update) {
  return {update.key.whole(), update.writer, update.mark, update.number};
}

std::vector<KeyTable::Prepared> KeyOutcomes::led() const {
  const KeyRange* range = reconfiguration_.leads(calls_.self().id);
  return range != nullptr ? table_.prepared(range->arc) : std::vector<KeyTable::Prepared>();
}

void KeyOutcomes::pass(Mark mark) {
  passed_ = std::max(passed_, mark);
  client_.pass(mark);
  for (const KeyTable::Prepared& update : led()) {
    if (update.mark <= passed_) request_outcome(update);
  }
}

bool KeyOutcomes::blocks_reads(const ParamKey& key) const {
  if (!key.is_part()) return false;
  const std::vector<KeyTable::Prepared> updates = table_.prepared(key);
  return std::any_of(updates.begin(), updates.end(), [&](const auto& update) { return update.mark <= passed_; });
}

void KeyOutcomes::request_outcome(const KeyTable::Prepared& update) {
  const Name name = name_of(update);
  if (!in_flight_.insert(name).second) return;
  const auto on_outcome = [this, name](const Status& counts) {
    in_flight_.erase(name);
    if (counts.ok() || counts.error().code == Code::mismatch) decide(name, counts.ok());
  };
  client_.outcome(update.key.whole(), update.writer, update.mark, update.number, calls_.now(), on_outcome);
}

void KeyOutcomes::decide(const Name& name, bool counts) {
  const auto& [key, writer, mark, number] = name;
  KeyOperation operation{{counts ? KeyWrite::Type::count : KeyWrite::Type::refuse, writer, mark}, {}};
  operation.write.number = number;
  for (const KeyTable::Prepared& update : led()) {
    const bool same = update.key.whole() == key && update.writer == writer && update.mark == mark;
    if (same && (counts || update.number <= number)) operation.entries.push_back({update.key, {}, 0});
  }
  if (operation.entries.empty()) return;
  log_.append(std::move(operation), [this](bool) {
    if (decided_) decided_();
  });
}

double KeyOutcomes::tick() {
  if (calls_.now() >= next_check_) {
    next_check_ = calls_.now() + kCheckInterval;
    std::map<Name, double> undecided;
    for (const KeyTable::Prepared& update : led()) {
      const Name name = name_of(update);
      const auto before = undecided_.find(name);
      const double since = before != undecided_.end() ? before->second : calls_.now();
      undecided[name] = since;
      if (update.mark <= passed_ || calls_.now() - since > kPatience) request_outcome(update);
    }
    undecided_ = std::move(undecided);
  }
  return undecided_.empty() ? kForever : next_check_;
}

}  // namespace actorhost
