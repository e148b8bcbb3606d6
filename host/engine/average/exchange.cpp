#include <algorithm>
#include <set>

#include "host/engine/average/pieces.hpp"

namespace actorhost {

namespace {

/// Averages models with each other.
class AverageExchange final : public AverageMover {
 public:
  AverageExchange(ProcessId self, const RoundGo& go, const AverageLayout& layout, AverageCopies copies, Send send)
      : self_(self), layout_(layout), pieces_(pieces_of(layout)), copies_(std::move(copies)), send_(std::move(send)) {
    std::map<NodeId, std::set<ProcessId>> receivers;
    for (size_t place = 0; place < go.participants.size(); ++place) {
      const RoundGo::Participant& target = go.participants[place];
      const auto partners = average_partners(go.pattern, go.participants.size(), place);
      for (const size_t partner : partners) receivers[go.participants[partner].node].insert(target.process);
      if (target.process == self) add_target(go, target.node, partners);
    }
    for (const RoundGo::Participant& p : go.participants) {
      if (p.process != self) continue;
      for (const ProcessId process : receivers[p.node]) {
        if (process != self) destinations_[p.node].push_back(process);
      }
    }
  }

  bool work() override {
    if (std::exchange(sent_, true)) return false;
    for (const auto& [node, processes] : destinations_) {
      for (size_t piece = 0; piece < pieces_.size(); ++piece) {
        const size_t bytes = bytes_of(layout_, pieces_[piece]);
        send_piece(processes, node, piece, copies_.at(node).slice(offset_of(layout_, pieces_[piece]), bytes));
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
    return sent_ && std::all_of(targets_.begin(), targets_.end(), [](const auto& t) { return t.second.missing == 0; });
  }
  AverageResult result(NodeId node) const override {
    const Target& target = targets_.at(node);
    return {target.terms, target.count};
  }
  uint64_t bytes_sent() const override { return bytes_sent_; }

 private:
  struct Target {
    std::vector<Blob> terms;    // the first is the model's own copy, which pieces from other processes are added to
    uint32_t count = 1;         // of models
    size_t missing = 0;         // pieces from other processes
    std::vector<bool> written;  // by piece: whether a piece was added
  };
  struct Source {
    ProcessId process = kNoProcess;
    size_t arrived = 0;  // pieces
    std::vector<NodeId> targets;
  };

  void add_target(const RoundGo& go, NodeId node, const std::vector<size_t>& partners) {
    Target& target = targets_[node];
    target.terms.push_back(copies_.at(node));
    target.count = static_cast<uint32_t>(partners.size()) + 1;
    for (const size_t place : partners) {
      const RoundGo::Participant& partner = go.participants[place];
      if (partner.process == self_) {
        target.terms.push_back(copies_.at(partner.node));
        continue;
      }
      Source& source = sources_[partner.node];
      source.process = partner.process;
      source.targets.push_back(node);
      target.missing += pieces_.size();
    }
    if (target.missing == 0) return;
    target.terms[0] = Blob::allocate(layout_.bytes);
    target.written.assign(pieces_.size(), false);
  }

  void send_piece(const std::vector<ProcessId>& processes, NodeId node, size_t piece, const Blob& body) {
    const AveragePart& part = pieces_[piece];
    for (const ProcessId process : processes) {
      send_(process, node, static_cast<uint8_t>(part.segment), part.begin, body);
      bytes_sent_ += body.size();
    }
  }

  /// Adds a piece of another process's model to all models here that are averaged with that model.
  void apply_piece(NodeId source, size_t piece, const std::byte* bytes) {
    const AveragePart& part = pieces_[piece];
    const size_t offset = offset_of(layout_, part);
    for (const NodeId node : sources_.at(source).targets) {
      Target& target = targets_.at(node);
      std::byte* sum = target.terms[0].data() + offset;
      add(layout_, part, sum, target.written[piece] ? sum : copies_.at(node).data() + offset, bytes);
      target.written[piece] = true;
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
