#include "host/engine/average/average_mover.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include "host/engine/collective/collective_choice.hpp"

namespace actorhost {

namespace {

constexpr size_t kPieceBytes = size_t{256} << 10;  // of a frame, and of what is added up at a time
constexpr size_t kFewTerms = 3;                    // that a sum beforehand saves no traffic for
constexpr size_t kWorkBytes = size_t{4} << 20;     // read in one call of `work`

/// A piece of a segment.
struct Part {
  size_t segment = 0;
  size_t begin = 0;  // element
  size_t elements = 0;
};

/// The pieces of a layout, one behind the other.
std::vector<Part> pieces_of(const AverageLayout& layout) {
  std::vector<Part> parts;
  for (size_t i = 0; i < layout.segments.size(); ++i) {
    const AverageLayout::Segment& segment = layout.segments[i];
    const size_t most = kPieceBytes / kernel::dtype_size(segment.dtype);
    for (size_t at = 0; at < segment.elements; at += most) {
      parts.push_back({i, at, std::min(most, segment.elements - at)});
    }
  }
  return parts;
}

size_t offset_of(const AverageLayout& layout, const Part& part) {
  const AverageLayout::Segment& segment = layout.segments[part.segment];
  return segment.begin + part.begin * kernel::dtype_size(segment.dtype);
}

size_t bytes_of(const AverageLayout& layout, const Part& part) {
  return part.elements * kernel::dtype_size(layout.segments[part.segment].dtype);
}

/// to = a + b, of one piece.
void add(const AverageLayout& layout, const Part& part, std::byte* to, const std::byte* a, const std::byte* b) {
  combine(CollectiveOp::sum, layout.segments[part.segment].dtype, part.elements, to, a, b);
}

Error not_due(const AveragePiece& head) {
  return {Code::bad_data, "a piece of model " + std::to_string(head.source) + " at element " +
                              std::to_string(head.begin) + " that is not due"};
}

class AverageSum final : public AverageMover {
 public:
  AverageSum(ProcessId self, const RoundGo& go, const AverageLayout& layout, AverageCopies copies, Send send)
      : layout_(layout), pieces_(pieces_of(layout)), weights_(go.weights()), send_(std::move(send)), loans_({}) {
    std::set<ProcessId> processes;
    for (const RoundGo::Participant& p : go.participants) {
      processes.insert(p.process);
      const auto mine = copies.find(p.node);
      if (p.process == self && p.weighted && mine != copies.end()) inputs_.push_back(mine->second);
    }
    processes_.assign(processes.begin(), processes.end());
    me_ = static_cast<uint32_t>(std::find(processes_.begin(), processes_.end(), self) - processes_.begin());
    const bool few = processes_.size() == 1 && inputs_.size() <= kFewTerms;
    if (few || inputs_.size() <= 1) at_ = pieces_.size();
    if (few) return;
    sum_ = inputs_.size() == 1 ? inputs_[0] : Blob::allocate(layout.bytes);
    if (inputs_.empty()) std::memset(sum_.data(), 0, sum_.size());
  }

  bool work() override {
    for (size_t read = 0; at_ < pieces_.size() && read < kWorkBytes; ++at_) {
      const Part& part = pieces_[at_];
      const size_t offset = offset_of(layout_, part);
      add(layout_, part, sum_.data() + offset, inputs_[0].data() + offset, inputs_[1].data() + offset);
      for (size_t i = 2; i < inputs_.size(); ++i) {
        add(layout_, part, sum_.data() + offset, sum_.data() + offset, inputs_[i].data() + offset);
      }
      read += inputs_.size() * bytes_of(layout_, part);
    }
    if (at_ < pieces_.size()) return true;
    if (processes_.size() > 1 && !began_) failed_ = begin_runs();
    return false;
  }

  Status take(ProcessId from, const AveragePiece& head, Blob body) override {
    AH_TRY(failed_);
    if (head.source >= processes_.size() || processes_[head.source] != from) return not_due(head);
    if (head.segment >= layout_.segments.size()) return not_due(head);
    if (!began_) {
      early_.push_back({head, std::move(body)});
      return {};
    }
    return runs_[head.segment]->take(head.source, head.begin, std::move(body));
  }

  bool done() const override {
    if (at_ < pieces_.size()) return false;
    return processes_.size() == 1 ||
           (began_ && std::all_of(runs_.begin(), runs_.end(), [](const auto& run) { return run->done(); }));
  }
  AverageResult result(NodeId /*node*/) const override {
    if (processes_.size() > 1) return {{total_}, weights_};
    return {sum_.empty() ? inputs_ : std::vector<Blob>{sum_}, weights_};
  }
  uint64_t bytes_sent() const override {
    uint64_t bytes = 0;
    for (const auto& run : runs_) bytes += run->bytes_sent();
    return bytes;
  }

 private:
  struct Early {
    AveragePiece head;
    Blob body;
  };

  Status begin_runs() {
    began_ = true;
    total_ = Blob::allocate(layout_.bytes);
    const auto ranks = static_cast<uint32_t>(processes_.size());
    for (uint8_t i = 0; i < layout_.segments.size(); ++i) {
      const AverageLayout::Segment& segment = layout_.segments[i];
      const Place place{me_, ranks, segment.elements};
      const Algorithm algorithm = choose_algorithm(CollectiveKind::allreduce, segment.bytes(), ranks, {});
      const ScheduleRun::Buffers buffers{CollectiveOp::sum,
                                         segment.dtype,
                                         kernel::dtype_size(segment.dtype),
                                         ranks,
                                         sum_.slice(segment.begin, segment.bytes()),
                                         total_.slice(segment.begin, segment.bytes())};
      const auto send = [this, i](uint32_t peer, size_t begin, Blob piece) {
        send_(processes_[peer], me_, i, begin, std::move(piece));
        return Status();
      };
      runs_.push_back(std::make_unique<ScheduleRun>(make_schedule(CollectiveKind::allreduce, algorithm, place, 0),
                                                    buffers, send, loans_));
    }
    for (const auto& run : runs_) AH_TRY(run->start());
    for (Early& early : std::exchange(early_, {})) {
      AH_TRY(runs_[early.head.segment]->take(early.head.source, early.head.begin, std::move(early.body)));
    }
    return {};
  }

  const AverageLayout layout_;
  const std::vector<Part> pieces_;
  const uint32_t weights_;
  const Send send_;
  Loans loans_;
  std::vector<ProcessId> processes_;
  uint32_t me_ = 0;
  std::vector<Blob> inputs_;
  Blob sum_;       // of this process's models
  size_t at_ = 0;  // pieces before this one are added up
  Blob total_;
  std::vector<std::unique_ptr<ScheduleRun>> runs_;  // of the segments, once the sum is there
  bool began_ = false;
  std::vector<Early> early_;
  Status failed_;
};

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
        if (process != self) ways_.emplace_back(p.node, process);
      }
    }
  }

  bool work() override {
    if (std::exchange(sent_, true)) return false;
    for (const auto& [node, process] : ways_) send_copy(node, process);
    return false;
  }

  Status take(ProcessId from, const AveragePiece& head, Blob body) override {
    const auto source = sources_.find(head.source);
    if (source == sources_.end() || source->second.process != from) return not_due(head);
    // What one process sends of a model comes in order.
    const size_t next = source->second.arrived;
    if (next >= pieces_.size()) return not_due(head);
    const Part& part = pieces_[next];
    if (part.segment != head.segment || part.begin != head.begin || body.size() != bytes_of(layout_, part)) {
      return not_due(head);
    }
    ++source->second.arrived;
    give(head.source, next, body.data());
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
    std::vector<Blob> terms;    // the first is its own copy, with what comes from other processes added
    uint32_t count = 1;         // of models
    size_t missing = 0;         // pieces from other processes
    std::vector<bool> written;  // by piece: something has been added
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

  void send_copy(NodeId node, ProcessId process) {
    const Blob& copy = copies_.at(node);
    for (const Part& part : pieces_) {
      const size_t bytes = bytes_of(layout_, part);
      send_(process, node, static_cast<uint8_t>(part.segment), part.begin, copy.slice(offset_of(layout_, part), bytes));
      bytes_sent_ += bytes;
    }
  }

  /// Adds a piece of a model of another process to all here that are averaged with it.
  void give(NodeId source, size_t piece, const std::byte* bytes) {
    const Part& part = pieces_[piece];
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
  const std::vector<Part> pieces_;
  const AverageCopies copies_;
  const Send send_;
  std::map<NodeId, Target> targets_;
  std::map<NodeId, Source> sources_;                // of other processes
  std::vector<std::pair<NodeId, ProcessId>> ways_;  // whose copy goes where
  bool sent_ = false;
  uint64_t bytes_sent_ = 0;
};

}  // namespace

std::vector<size_t> average_partners(AveragePattern pattern, size_t participants, size_t place) {
  if (pattern == AveragePattern::pairs) {
    const size_t other = place ^ size_t { 1 };
    return other < participants ? std::vector<size_t>{other} : std::vector<size_t>{};
  }
  if (participants == 2) return {1 - place};
  if (participants < 2) return {};
  return {(place + participants - 1) % participants, (place + 1) % participants};
}

std::unique_ptr<AverageMover> make_average_mover(ProcessId self, const RoundGo& go, const AverageLayout& layout,
                                                 AverageCopies copies, AverageMover::Send send) {
  if (go.pattern == AveragePattern::all) {
    return std::make_unique<AverageSum>(self, go, layout, std::move(copies), std::move(send));
  }
  return std::make_unique<AverageExchange>(self, go, layout, std::move(copies), std::move(send));
}

}  // namespace actorhost
