// How a process takes over as coordinator: the state from the last table, and the state from attaching processes.

#include <algorithm>

#include "host/base/random.hpp"
#include "host/cluster/coordinator/coordinator.hpp"

namespace actorhost {

namespace {

constexpr const char* kSuccessorLogSource = "rendezvous";

// Ids that a later coordinator assigns. Each coordinator has its own range, so that the sides of a partitioned run
// assign different ids. The process number gives the range. For late processes its hash gives the range, so their
// ranges may collide.
constexpr uint32_t kLaterIds = 1U << 28;
constexpr uint32_t kStretch = 1U << 17;
constexpr uint32_t kStretches = kLaterIds / kStretch;
constexpr uint32_t kOwnStretches = kStretches / 2;

uint32_t first_id_of(ProcessId coordinator) {
  const uint32_t hashed = kOwnStretches + static_cast<uint32_t>(StepRng(0, coordinator, 0).next() % kOwnStretches);
  return kLaterIds + (coordinator < kOwnStretches ? coordinator : hashed) * kStretch;
}

/// The first id of a range above all its known ids.
template <typename Ids>
uint32_t first_free(uint32_t first, const Ids& known) {
  const auto beyond = known.lower_bound(first + kStretch);
  if (beyond == known.begin()) return first;
  return std::max(first, std::prev(beyond)->first + 1);
}

}  // namespace

void Coordinator::succeed(const Quorum& quorum, const std::set<ProcessId>& lost, const AttachMessage& self,
                          const std::string& why, double now) {
  succeeds_ = outlives_ = true;
  quorum_ = quorum;
  now_ = charge_end_ = now;
  membership_ = quorum_.newest();
  founders_ = membership_->founders();
  for (const ProcessInfo& info : membership_->processes()) {
    const bool own = info.process == config_.self;
    processes_[info.process] = Process{info, own ? 0 : kNoLink, true, own ? std::nullopt : std::optional(now)};
    if (!own) detector_.watch(info.process, now);
  }
  for (const Member& member : membership_->workers()) {
    workers_[member.id] = Worker{member.process};
    workers_[member.id].left = !member.votes;
  }
  const uint32_t first = first_id_of(config_.self);
  next_process_ = first_free(first, processes_);
  console_.number_from(first);
  rendezvous_.resume(first_free(first, workers_), first + kStretch);
  rendezvous_.readmit(config_.self, self.self);
  (void)take_workers(self);
  std::set<ProcessId> departed = quorum_.dropped();
  departed.insert(lost.begin(), lost.end());
  hold_tables_ = true;
  for (const ProcessId process : departed) lose(process, why, false);
  hold_tables_ = false;
  if (!over_) publish();
  renew_lease();
  check_finished();
}

void Coordinator::linked(ProcessId process, LinkId link) {
  const auto at = processes_.find(process);
  if (at != processes_.end() && at->second.awaited) at->second.link = link;
}

/// Why a process may not attach; nullopt if it may.
std::optional<Error> Coordinator::attach_refusal(const AttachMessage& attach) const {
  if (attach.self.run_id != config_.run_id) return Error{Code::mismatch, "it belongs to another run"};
  if (attach.process == config_.self || attach.process >= kAddressMask) {
    return Error{Code::bad_data, "its number is invalid"};
  }
  for (const AttachedWorker& worker : attach.workers) {
    const auto known = workers_.find(worker.id);
    if (!is_worker(worker.id) || (known != workers_.end() && known->second.process != attach.process)) {
      return Error{Code::bad_data, address_name(worker.id) + " does not belong to it"};
    }
  }
  return std::nullopt;
}

/// True if a worker was unknown.
bool Coordinator::take_workers(const AttachMessage& attach) {
  bool fresh = false;
  for (const AttachedWorker& worker : attach.workers) {
    fresh = !workers_.contains(worker.id) || fresh;
    workers_[worker.id] = Worker{attach.process, worker.actions, worker.ended, worker.left};
    actions_.resume(worker.actions);
  }
  return fresh;
}

void Coordinator::on_attach(LinkId link, const AttachMessage& attach, double now) {
  now_ = now;
  const auto known = processes_.find(attach.process);
  if (known != processes_.end() && !known->second.awaited) return;
  if (const auto why = attach_refusal(attach)) return refuse(link, attach.self.host, *why);
  const auto own = membership_->process(attach.process);
  const ProcessInfo info = own != nullptr ? *own : ProcessInfo{attach.process, attach.self.host, attach.self.url};
  processes_[attach.process] = Process{info, link, true, std::nullopt};
  output_.assign(link, attach.process);
  output_.send(make_frame(cluster_kind::attached, here_, service_address(attach.process), attach.loss));
  if (over_) {
    output_.send(make_frame(cluster_kind::stop, here_, service_address(attach.process), 0, pack(*end_)));
    return;
  }
  detector_.watch(attach.process, now);
  rendezvous_.readmit(attach.process, attach.self);
  const bool fresh = take_workers(attach) || own == nullptr;
  log_.info(kSuccessorLogSource, info.host + " follows this coordinator");
  quorum_.merge(attach.tables);
  const uint64_t seen = attach.tables.back().epoch();
  const uint64_t newest = proposed_ ? proposed_->epoch() : membership_->epoch();
  least_epoch_ = std::max(least_epoch_, seen + 1);
  if (announced_) {
    output_.send(make_frame(cluster_kind::membership, here_, service_address(attach.process), 0, {},
                            Blob::copy_of(pack(*membership_))));
  }
  if (proposed_) send_proposal(attach.process);
  if (fresh || seen >= newest) publish();
  send_renewal(attach.process, lease_.next_renewal(now));
  check_finished();
}

/// The lost coordinator's reply that a worker may enter an action may reach the worker after its process has attached.
void Coordinator::take_late_count(const Frame& enters) {
  const auto worker = workers_.find(enters.src);
  const bool ahead = succeeds_ && enters.tag > actions_.size();
  if (ahead && worker != workers_.end() && enters.tag == worker->second.actions + 1) actions_.resume(enters.tag);
}

/// Drops processes without an attach message in time.
void Coordinator::lose_absent(double now) {
  for (bool again = true; again && !over_;) {
    const auto late = std::find_if(processes_.begin(), processes_.end(), [&](const auto& entry) {
      return entry.second.awaited && now >= *entry.second.awaited + config_.times.dead;
    });
    again = late != processes_.end();
    if (again) lose(late->first, "it has not attached to the new coordinator", false);
  }
}

}  // namespace actorhost
