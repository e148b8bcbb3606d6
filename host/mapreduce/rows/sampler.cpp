#include "host/mapreduce/rows/sampler.hpp"

#include <algorithm>
#include <utility>

#include "host/base/elementary.hpp"
#include "host/base/random.hpp"

namespace actorhost {

namespace {

/// Draws from a Poisson distribution by Knuth's product of uniforms, in pieces whose mean keeps exp(-mean) normal.
uint32_t poisson(StepRng& rng, double mean) noexcept {
  constexpr double kPiece = 16;
  uint32_t count = 0;
  while (mean > 0) {
    const double floor = exp_of(-std::min(mean, kPiece));
    double product = rng.uniform();
    while (product > floor) {
      product *= rng.uniform();
      ++count;
    }
    mean -= kPiece;
  }
  return count;
}

class SampleSource final : public RowsThrough {
 public:
  SampleSource(std::unique_ptr<RowSource> rows, const RowSampler& sampler, double task)
      : RowsThrough(std::move(rows)), sampler_(sampler), task_(task) {}

  Status next(RowBatch& batch) override {
    batch.count = 0;
    while (batch.count == 0) {
      if (at_ == in_.count) {
        AH_TRY(rows_->next(in_));
        at_ = 0;
        if (in_.count == 0) return {};
      }
      while (batch.count < kBatchRows && step()) add(batch, at_);
    }
    return {};
  }

 private:
  /// Moves to the next drawn row, which may be the row at at_ again. Returns false at the end of the batch.
  bool step() noexcept {
    while (at_ != in_.count) {
      if (!drawn_) left_ = sampler_.draw(task_, row_++);
      drawn_ = true;
      if (left_ > 0) return --left_, true;
      drawn_ = false;
      ++at_;
    }
    return false;
  }
  void add(RowBatch& batch, uint32_t at) const noexcept {
    batch.first[batch.count] = in_.first[at];
    batch.second[batch.count] = in_.second[at];
    batch.pair[batch.count++] = in_.pair[at];
  }

  const RowSampler sampler_;
  const double task_;
  RowBatch in_;
  uint32_t at_ = 0;  // of in_
  double row_ = 0;   // the next row to draw for
  bool drawn_ = false;
  uint32_t left_ = 0;
};

}  // namespace

uint32_t RowSampler::draw(double task, double row) const noexcept {
  const auto start = static_cast<uint64_t>(seed) + (uint64_t{salt} << 56);
  StepRng rng(start, static_cast<uint64_t>(task), static_cast<uint64_t>(row));
  if (replacement != 0) return poisson(rng, fraction);
  return rng.uniform() < fraction ? 1 : 0;
}

std::unique_ptr<RowSource> sample_of(std::unique_ptr<RowSource> rows, const RowSampler& sampler, double task) {
  return std::make_unique<SampleSource>(std::move(rows), sampler, task);
}

}  // namespace actorhost
