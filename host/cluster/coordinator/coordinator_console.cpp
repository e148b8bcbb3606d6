// Coordinator's part for its ConsoleHub: the state of the run that the hub reads, and the frames that it handles.

#include "host/cluster/coordinator/coordinator.hpp"

namespace actorhost {

ConsoleHub::Sources Coordinator::for_console() {
  const auto in_a_run_of = [this](const char* kind) {
    const ActionEnter* newest = actions_.size() > 0 ? actions_.at(actions_.size() - 1) : nullptr;
    return newest != nullptr && newest->kind == kind && !actions_.finished(actions_.size() - 1);
  };
  return {[this] { return membership_; },
          [this](ProcessId process, Frame&& frame) {
            frame.dst = service_address(process);
            output_.send(std::move(frame));
          },
          [this](bool settle) { return count_actions(settle); }, [in_a_run_of] { return in_a_run_of("param.run"); },
          [in_a_run_of] { return in_a_run_of("peer.run"); }};
}

/// The number of entered actions. `settle`: a chunk for all nodes has failed, and some workers may have entered more
/// actions than others. Finishes all actions and gives all workers the same number.
uint32_t Coordinator::count_actions(bool settle) {
  const uint32_t count = actions_.size();
  if (!settle) return count;
  for (uint32_t index = 0; index < count; ++index) actions_.finish(index, {});
  for (auto& [id, worker] : workers_) worker.actions = count;
  want_servers_.clear();
  return count;
}

void Coordinator::on_console(ProcessId process, const Frame& frame) {
  if (const Status taken = console_.take(frame); !taken) malformed(process, frame, taken.error().message);
}

}  // namespace actorhost
