#pragma once
// How a process combines the copies of its models with the copies of other processes in a round. Passive: frames are
// handed in and out, and `work` does the local work in small portions, so a courier's other tasks are not delayed.
//
//   AverageSum        all: adds up the models of a process; then the processes all-reduce their sums by the
//                     algorithms of collectives. A ring moves 2 (p-1)/p of a model over each of p processes' links,
//                     whatever the number of workers per process
//   AverageExchange   a graph: sends each model's copy once to each process with a partner of the model
//
// Owned by the courier and used by its thread. Frames refer to the copies without copying them.

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/engine/average/average_messages.hpp"
#include "host/engine/average/average_model.hpp"
#include "host/engine/collective/schedule_run.hpp"

namespace actorhost {

/// The copies of a process's models in a round.
using AverageCopies = std::map<NodeId, Blob>;

class AverageMover : public Interface {
 public:
  /// Sends elements of `source`, from `begin` of a segment on, to a process.
  using Send = std::function<void(ProcessId to, uint32_t source, uint8_t segment, uint64_t begin, Blob body)>;

  /// Does some work that needs no other process; true if more remains.
  virtual bool work() = 0;
  /// Code::bad_data for a piece out of order.
  virtual Status take(ProcessId from, const AveragePiece& head, Blob body) = 0;
  /// Whether this process has all data of the round.
  virtual bool done() const = 0;
  /// Whether an impossible piece has arrived.
  virtual bool failed() const { return false; }
  /// The result for one of the models; valid once done.
  virtual AverageResult result(NodeId node) const = 0;
  virtual uint64_t bytes_sent() const = 0;
};

/// Makes the mover of process `self`, with the copies of its participating workers.
std::unique_ptr<AverageMover> make_average_mover(ProcessId self, const RoundGo& go, const AverageLayout& layout,
                                                 AverageCopies copies, AverageMover::Send send);

}  // namespace actorhost
