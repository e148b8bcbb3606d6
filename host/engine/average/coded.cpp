#include <algorithm>
#include <cassert>
#include <set>

#include "host/engine/average/pieces.hpp"

namespace actorhost {

namespace {

/// to = sum - models * mean, where mean = total / count.
template <typename T>
void subtract_mean(T* to, const T* sum, const T* total, size_t n, T models, T count) {
  for (size_t i = 0; i < n; ++i) to[i] = sum[i] - models * (total[i] / count);
}

/// Computes the new mean, and the target of this process's models: the mean plus the elements that the filter dropped.
template <typename T>
void move_mean(T* mean, T* target, const T* total, const T* delta, const T* sent, size_t n, T count, T all, T models) {
  for (size_t i = 0; i < n; ++i) {
    mean[i] = total[i] / count + delta[i] / all;
    target[i] = mean[i] + (target[i] - sent[i]) / models;
  }
}

/// Error feedback that keeps the dropped part in the models themselves. W is the mean that all had after the last
/// round. Process P with the sum s of its k models sends q = filter(s - k W). The new mean is W + (sum of q) / n. P's
/// models become this mean plus (s - k W - q) / k, which the next difference contains again. The changes of all models
/// add up to zero whatever the filter drops. All decode in the order of processes, so all get the same bits of W.
class AverageCoded final : public AverageMover {
 public:
  AverageCoded(ProcessId self, const RoundGo& go, const AverageLayout& layout, const AverageCopies& copies,
               AverageCoding coding, Send send)
      : layout_(layout),
        pieces_(pieces_of(layout)),
        all_(go.weights()),
        filter_(coding.filter),
        old_(std::move(coding.reference)),
        send_(std::move(send)) {
    std::set<ProcessId> processes;
    for (const RoundGo::Participant& p : go.participants) processes.insert(p.process);
    for (const auto& [node, copy] : copies) inputs_.push_back(copy);
    processes_.assign(processes.begin(), processes.end());
    me_ = static_cast<size_t>(std::find(processes_.begin(), processes_.end(), self) - processes_.begin());
    arrived_.assign(processes_.size(), {});
    if (old_.sum.size() != layout.bytes) failed_ = Error{Code::internal, "no mean to compare the models with"};
    target_ = Blob::allocate(layout.bytes);
    // Pending changes of models may refer to the old mean.
    mean_ = old_.sum.unique() ? old_.sum : Blob::allocate(layout.bytes);
    room_.resize(2 * kAveragePieceBytes);
  }

  bool work() override {
    if (!failed_.ok()) return false;
    for (size_t moved = 0; moved < kAverageWorkBytes; moved += (inputs_.size() + 2) * kAveragePieceBytes) {
      if (compared_ < pieces_.size()) {
        compare(pieces_[compared_++]);
      } else if (sent_ < pieces_.size()) {
        send_piece(sent_++);
      } else if (merged_ < pieces_.size() && all_here(merged_)) {
        merge(merged_++);
      } else {
        return false;
      }
      if (!failed_.ok()) return false;
    }
    return true;
  }

  Status take(ProcessId from, const AveragePiece& head, Blob body) override {
    if (head.source >= processes_.size() || processes_[head.source] != from || head.source == me_)
      return out_of_order(head);
    std::vector<Blob>& arrived = arrived_[head.source];
    if (arrived.size() == pieces_.size()) return out_of_order(head);
    const AveragePart& part = pieces_[arrived.size()];  // in order
    if (part.segment != head.segment || part.begin != head.begin) return out_of_order(head);
    arrived.push_back(std::move(body));
    return {};
  }

  bool done() const override { return failed_.ok() && merged_ == pieces_.size(); }
  bool failed() const override { return !failed_.ok(); }
  AverageResult result(NodeId /*node*/) const override { return {{target_}, 1}; }
  AverageReference reference() const override { return {mean_, 1}; }
  uint64_t bytes_sent() const override { return bytes_sent_; }

 private:
  Dtype dtype_of(const AveragePart& part) const { return layout_.segments[part.segment].dtype; }

  /// Writes the difference of this process's models from the mean into `target_`.
  void compare(const AveragePart& part) {
    const size_t offset = offset_of(layout_, part);
    const std::byte* sum = inputs_[0].data() + offset;
    for (size_t i = 1; i < inputs_.size(); ++i) {
      add(layout_, part, room_.data(), sum, inputs_[i].data() + offset);
      sum = room_.data();
    }
    const auto models = static_cast<double>(inputs_.size());
    const auto go = [&](auto zero) {
      using T = decltype(zero);
      subtract_mean(reinterpret_cast<T*>(target_.data() + offset), reinterpret_cast<const T*>(sum),
                    reinterpret_cast<const T*>(old_.sum.data() + offset), part.elements, static_cast<T>(models),
                    static_cast<T>(old_.count));
    };
    dtype_of(part) == Dtype::f32 ? go(0.0F) : go(0.0);
  }

  void send_piece(size_t index) {
    const AveragePart& part = pieces_[index];
    const AverageLayout::Segment& segment = layout_.segments[part.segment];
    if (part.begin == 0) filter_.begin(segment.dtype, segment.elements, target_.data() + segment.begin);
    const Blob body = filter_.piece(part.begin, part.elements);
    arrived_[me_].push_back(body);
    for (size_t to = 0; to < processes_.size(); ++to) {
      if (to == me_) continue;
      send_(processes_[to], static_cast<uint32_t>(me_), static_cast<uint8_t>(part.segment), part.begin, body);
      bytes_sent_ += body.size();
    }
  }

  bool all_here(size_t index) const {
    return std::all_of(arrived_.begin(), arrived_.end(), [index](const auto& a) { return a.size() > index; });
  }

  void merge(size_t index) {
    const AveragePart& part = pieces_[index];
    const size_t offset = offset_of(layout_, part);
    const size_t bytes = bytes_of(layout_, part);
    std::byte* delta = room_.data();
    std::byte* one = room_.data() + kAveragePieceBytes;
    for (size_t from = 0; from < processes_.size(); ++from) {
      failed_ = decode_filtered(arrived_[from][index].view(), dtype_of(part), part.elements, from == 0 ? delta : one);
      if (!failed_.ok()) return;
      if (from > 0) add(layout_, part, delta, delta, one);
    }
    (void)decode_filtered(arrived_[me_][index].view(), dtype_of(part), part.elements, one);
    for (std::vector<Blob>& arrived : arrived_) arrived[index] = Blob();
    assert(bytes <= kAveragePieceBytes);
    (void)bytes;
    const auto go = [&](auto zero) {
      using T = decltype(zero);
      move_mean(reinterpret_cast<T*>(mean_.data() + offset), reinterpret_cast<T*>(target_.data() + offset),
                reinterpret_cast<const T*>(old_.sum.data() + offset), reinterpret_cast<const T*>(delta),
                reinterpret_cast<const T*>(one), part.elements, static_cast<T>(old_.count), static_cast<T>(all_),
                static_cast<T>(inputs_.size()));
    };
    dtype_of(part) == Dtype::f32 ? go(0.0F) : go(0.0);
  }

  const AverageLayout layout_;
  const std::vector<AveragePart> pieces_;
  const uint32_t all_;  // models in the round
  Filter filter_;
  AverageReference old_;
  const Send send_;
  std::vector<ProcessId> processes_;
  size_t me_ = 0;
  std::vector<Blob> inputs_;
  Blob target_;                             // first the differences, then the target of the models
  Blob mean_;                               // the new mean; overwrites the old mean unless that is in use
  std::vector<std::vector<Blob>> arrived_;  // by process: its encoded pieces, including this process
  size_t compared_ = 0;                     // earlier pieces are differences
  size_t sent_ = 0;                         // earlier pieces are sent
  size_t merged_ = 0;                       // earlier pieces are merged
  std::vector<std::byte> room_;
  uint64_t bytes_sent_ = 0;
  Status failed_;
};

}  // namespace

std::unique_ptr<AverageMover> make_average_coded(ProcessId self, const RoundGo& go, const AverageLayout& layout,
                                                 const AverageCopies& copies, AverageCoding coding,
                                                 AverageMover::Send send) {
  return std::make_unique<AverageCoded>(self, go, layout, copies, std::move(coding), std::move(send));
}

}  // namespace actorhost
