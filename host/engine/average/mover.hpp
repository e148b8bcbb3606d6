#pragma once
// What a process does with the copies of its models in a round: sums them up with those of others. Passive machines:
// frames come in and go out, local work is done bit by bit in `work`, so that a courier's other tasks are not held up.
//
//   AverageSum        all: the models of a process are added up, then the processes all-reduce their sums by the
//                     algorithms of collectives. A ring moves 2 (p-1)/p of a model over each of p processes' links,
//                     whatever the number of workers in them
//   AverageExchange   neighbours, pairs: each model's copy goes once to each process that has a partner of it, through
//                     the filter if there is one
//   AverageCoded      all, with a filter: each process sends all others how its models differ from the mean of
//                     the last round, once. With a filter that makes r times less, (p-1)/r models; less than a sum does
//                     while p < 2 r
//
// Owned and used by the courier's thread. Copies are lent to frames, not copied.

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "host/engine/average/average_messages.hpp"
#include "host/engine/average/replica.hpp"
#include "host/engine/collective/schedule_run.hpp"
#include "host/engine/filter/filter.hpp"

namespace actorhost {

/// The copies of a process's models that are in a round.
using AverageCopies = std::map<NodeId, Blob>;

/// A mean that all processes of a round have, as a sum of `count` models.
struct AverageReference {
  Blob sum;
  uint32_t count = 1;
};

/// What differences travel through, and what they are told to. The mover may write into the reference.
struct AverageCoding {
  FilterSpec filter{};
  AverageReference reference{};
};

class AverageMover {
 public:
  /// Sends elements of `source`, from `begin` of a segment on, to a process.
  using Send = std::function<void(ProcessId to, uint32_t source, uint8_t segment, uint64_t begin, Blob body)>;

  AverageMover() = default;
  AverageMover(const AverageMover&) = delete;
  AverageMover& operator=(const AverageMover&) = delete;
  virtual ~AverageMover() = default;

  /// Some of what can be done without others; true when there is more.
  virtual bool work() = 0;
  /// Code::bad_data for what is not due.
  virtual Status take(ProcessId from, const AveragePiece& head, Blob body) = 0;
  /// All that the round owes this process is here.
  virtual bool done() const = 0;
  /// Something has come that cannot be.
  virtual bool failed() const { return false; }
  /// Of one of the models, once done.
  virtual AverageResult result(NodeId node) const = 0;
  /// Once done: the mean that later differences are told to; empty where there is none for all.
  virtual AverageReference reference() const { return {}; }
  virtual uint64_t bytes_sent() const = 0;
};

/// The mover of process `self`, with the copies of those of its workers that take part.
std::unique_ptr<AverageMover> make_average_mover(ProcessId self, const RoundGo& go, const AverageLayout& layout,
                                                 AverageCopies copies, AverageCoding coding, AverageMover::Send send);

/// Whose models that of the `place`-th participant is averaged with, as places.
std::vector<size_t> average_partners(AveragePattern pattern, size_t participants, size_t place);

}  // namespace actorhost
