#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "host/engine/average/pieces.hpp"
#include "host/kernel/kernels.hpp"

namespace actorhost {

namespace {

/// Mixes models with the weights of a graph's round.
class AverageExchange final : public AverageMover {
 public:
  AverageExchange(ProcessId self, const RoundGo& go, const AverageLayout& layout, AverageCopies copies, Send send)
      : self_(self), layout_(layout), pieces_(pieces_of(layout)), copies_(std::move(copies)), send_(std::move(send)) {
    std::map<NodeId, std::set<ProcessId>> receivers;
    for (const RoundGo::Term& term : go.terms) {
      const RoundGo::Participant& target = go.participants[term.target];
      const RoundGo::Participant& source = go.participants[term.source];
      if (source.process == self && target.process != self) receivers[source.node].insert(target.process);
      if (target.process == self) add_term(target.node, source, term.weight);
    }
    for (auto& [node, processes] : receivers) destinations_[node].assign(processes.begin(), processes.end());
  }

  bool work() override {
    if (!std::exchange(sent_, true)) send_copies();
    size_t bytes = 0;
    for (auto& [node, target] : targets_) {
      for (size_t piece = 0; piece < pieces_.size(); ++piece) {
        if (target.begun[piece]) continue;
        if (bytes >= kAverageWorkBytes) return true;
        bytes += bytes_of(layout_, pieces_[piece]) * (target.own.size() + 1);
        begin_piece(target, piece);
      }
    }
    return false;
  }

  Status take(ProcessId from, const AveragePiece& head, Blob body) override {
    const auto source = sources_.find(head.source);
    if (source == sources_.end() || source->second.process != from) return out_of_order(head);
    // The pieces of a model arrive in order from one process.
    const size_t next = source->second.arrived;
    if (next >= pieces_.size()) return out_of_order(head);
    const AveragePart& part = pieces_[next];
    if (part.segment != head.segment || part.begin != head.begin) return out_of_order(head);
    if (body.size() != bytes_of(layout_, part)) return out_of_order(head);
    ++source->second.arrived;
    apply_piece(head.source, next, body.data());
    return {};
  }

  bool done() const override {
    return sent_ && std::all_of(targets_.begin(), targets_.end(), [](const auto& entry) {
             const Target& target = entry.second;
             return target.missing == 0 &&
                    std::find(target.begun.begin(), target.begun.end(), false) == target.begun.end();
           });
  }
  AverageResult result(NodeId node) const override { return {{targets_.at(node).sum}, 1}; }
  uint64_t bytes_sent() const override { return bytes_sent_; }

 private:
  struct Target {
    Blob sum;                                  // the new model
    std::vector<std::pair<Blob, double>> own;  // copies of this process, with their weights
    std::vector<bool> begun;                   // by piece: whether `sum` has the own copies
    size_t missing = 0;                        // pieces from other processes
  };
  struct Source {
    ProcessId process = kNoProcess;
    size_t arrived = 0;  // pieces
    std::vector<std::pair<NodeId, double>> targets;
  };

  void add_term(NodeId node, const RoundGo::Participant& from, double weight) {
    Target& target = targets_[node];
    if (target.begun.empty()) {
      target.sum = Blob::allocate(layout_.bytes);
      target.begun.assign(pieces_.size(), false);
    }
    if (from.process == self_) {
      target.own.emplace_back(copies_.at(from.node), weight);
      return;
    }
    Source& source = sources_[from.node];
    source.process = from.process;
    source.targets.emplace_back(node, weight);
    target.missing += pieces_.size();
  }

  void send_copies() {
    for (const auto& [node, processes] : destinations_) {
      for (size_t piece = 0; piece < pieces_.size(); ++piece) {
        const size_t bytes = bytes_of(layout_, pieces_[piece]);
        send_piece(processes, node, piece, copies_.at(node).slice(offset_of(layout_, pieces_[piece]), bytes));
      }
    }
  }

  void send_piece(const std::vector<ProcessId>& processes, NodeId node, size_t piece, const Blob& body) {
    const AveragePart& part = pieces_[piece];
    for (const ProcessId process : processes) {
      send_(process, node, static_cast<uint8_t>(part.segment), part.begin, body);
      bytes_sent_ += body.size();
    }
  }

  /// sum += weight * bytes, for one piece.
  void add_piece(Target& target, size_t piece, double weight, const std::byte* bytes) const {
    const AveragePart& part = pieces_[piece];
    kernel::kernels().axpy(layout_.segments[part.segment].dtype, static_cast<int64_t>(part.elements), weight, bytes, 1,
                           target.sum.data() + offset_of(layout_, part), 1);
  }

  /// Begins a piece of a model with the copies of this process.
  void begin_piece(Target& target, size_t piece) const {
    target.begun[piece] = true;
    const size_t offset = offset_of(layout_, pieces_[piece]);
    std::memset(target.sum.data() + offset, 0, bytes_of(layout_, pieces_[piece]));
    for (const auto& [copy, weight] : target.own) add_piece(target, piece, weight, copy.data() + offset);
  }

  /// Adds a piece of another process's model to all models here that are mixed with that model.
  void apply_piece(NodeId source, size_t piece, const std::byte* bytes) {
    for (const auto& [node, weight] : sources_.at(source).targets) {
      Target& target = targets_.at(node);
      if (!target.begun[piece]) begin_piece(target, piece);
      add_piece(target, piece, weight, bytes);
      --target.missing;
    }
  }

  const ProcessId self_;
  const AverageLayout layout_;
  const std::vector<AveragePart> pieces_;
  const AverageCopies copies_;
  const Send send_;
  std::map<NodeId, Target> targets_;
  std::map<NodeId, Source> sources_;                       // of other processes
  std::map<NodeId, std::vector<ProcessId>> destinations_;  // by model: the processes that get its copy
  bool sent_ = false;
  uint64_t bytes_sent_ = 0;
};

}  // namespace

std::unique_ptr<AverageMover> make_average_exchange(ProcessId self, const RoundGo& go, const AverageLayout& layout,
                                                    AverageCopies copies, AverageMover::Send send) {
  return std::make_unique<AverageExchange>(self, go, layout, std::move(copies), std::move(send));
}

}  // namespace actorhost
