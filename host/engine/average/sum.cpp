#include <algorithm>
#include <cstring>
#include <set>

#include "host/engine/average/pieces.hpp"
#include "host/engine/collective/schedule/choice.hpp"

namespace actorhost {

namespace {

constexpr size_t kFewTerms = 3;  // adding up so few models first saves no traffic

class AverageSum final : public AverageMover {
 public:
  AverageSum(ProcessId self, const RoundGo& go, const AverageLayout& layout, const AverageCopies& copies, Send send)
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
    for (size_t read = 0; at_ < pieces_.size() && read < kAverageWorkBytes; ++at_) {
      const AveragePart& part = pieces_[at_];
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
    if (head.source >= processes_.size() || processes_[head.source] != from) return out_of_order(head);
    if (head.segment >= layout_.segments.size()) return out_of_order(head);
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
  bool failed() const override { return !failed_.ok(); }
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
    for (size_t i = 0; i < layout_.segments.size(); ++i) {
      const AverageLayout::Segment& segment = layout_.segments[i];
      const Place place{me_, ranks, segment.elements};
      const Algorithm algorithm = choose_algorithm(CollectiveKind::allreduce, segment.bytes(), ranks, ranks, {});
      const ScheduleRun::Buffers buffers{CollectiveOp::sum,
                                         segment.dtype,
                                         dtype_size(segment.dtype),
                                         ranks,
                                         sum_.slice(segment.begin, segment.bytes()),
                                         total_.slice(segment.begin, segment.bytes())};
      const auto send = [this, i = static_cast<uint8_t>(i)](uint32_t peer, size_t begin, Blob piece) {
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
  const std::vector<AveragePart> pieces_;
  const uint32_t weights_;
  const Send send_;
  Loans loans_;
  std::vector<ProcessId> processes_;
  uint32_t me_ = 0;
  std::vector<Blob> inputs_;
  Blob sum_;       // of this process's models
  size_t at_ = 0;  // earlier pieces are added up
  Blob total_;
  std::vector<std::unique_ptr<ScheduleRun>> runs_;  // of the segments, once the sum is complete
  bool began_ = false;
  std::vector<Early> early_;
  Status failed_;
};

}  // namespace

std::unique_ptr<AverageMover> make_average_sum(ProcessId self, const RoundGo& go, const AverageLayout& layout,
                                               const AverageCopies& copies, AverageMover::Send send) {
  return std::make_unique<AverageSum>(self, go, layout, copies, std::move(send));
}

}  // namespace actorhost
