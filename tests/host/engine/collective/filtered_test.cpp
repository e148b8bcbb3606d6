// All-reduce through compression filters, as passive machines: the same bits on all ranks, and no loss except the
// retained errors of error feedback.

#include <cmath>
#include <deque>

#include "host/engine/collective/filtered_reduction.hpp"
#include "tests/host/engine/collective/collective_ranks.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

FilterSpec random_filter(Rng& rng) {
  FilterSpec spec;
  spec.values = static_cast<FilterSpec::Values>(rng.below(3));
  spec.block = 16;
  if (rng.below(2) == 0) spec.fraction = 0.25;
  spec.feedback = true;
  return spec;
}

/// The ranks of one call. Parcels arrive in a random order, except that each pair of ranks keeps its order.
class Round {
 public:
  Round(std::vector<std::unique_ptr<FilterStream>>& streams, CollectiveOp op,
        const std::vector<std::vector<float>>& inputs)
      : ranks_(static_cast<uint32_t>(inputs.size())), channels_(ranks_ * ranks_) {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      const Place place{rank, ranks_, inputs[rank].size(), 1, {}};
      all_.push_back(std::make_unique<FilteredReduction>(place, op, Dtype::f32, bytes_of(inputs[rank]), *streams[rank],
                                                         [this, rank](uint32_t to, PackedValue parcel) {
                                                           channels_[rank * ranks_ + to].push_back(std::move(parcel));
                                                           return Status();
                                                         }));
    }
  }

  void run(Rng& rng) {
    for (const uint32_t rank : random_order(rng, ranks_)) REQUIRE(all_[rank]->start().ok());
    for (;;) {
      std::vector<size_t> open;
      for (size_t i = 0; i < channels_.size(); ++i) {
        if (!channels_[i].empty()) open.push_back(i);
      }
      if (open.empty()) return;
      const size_t channel = open[rng.below(open.size())];
      const PackedValue parcel = std::move(channels_[channel].front());
      channels_[channel].pop_front();
      REQUIRE(all_[channel % ranks_]->take(static_cast<uint32_t>(channel / ranks_), parcel).ok());
    }
  }

  FilteredReduction& operator[](uint32_t rank) { return *all_[rank]; }

 private:
  const uint32_t ranks_;
  std::vector<std::deque<PackedValue>> channels_;
  std::vector<std::unique_ptr<FilteredReduction>> all_;
};

std::vector<std::vector<float>> random_inputs(Rng& rng, uint32_t ranks, size_t count) {
  std::vector<std::vector<float>> inputs(ranks, std::vector<float>(count));
  for (auto& values : inputs) {
    for (float& value : values) value = static_cast<float>(rng.uniform() * 2 - 1);
  }
  return inputs;
}

void add(std::vector<double>& sums, const std::vector<float>& values, size_t at = 0) {
  for (size_t i = 0; i < values.size(); ++i) sums[at + i] += static_cast<double>(values[i]);
}

}  // namespace

TEST_CASE("with error feedback filtered calls lose only the retained errors, and all ranks have the same bits") {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const auto ranks = static_cast<uint32_t>(1 + seed % 6);
    constexpr size_t kSizes[] = {0, 1, 3, 40, 257, 1000};
    const size_t count = kSizes[rng.below(6)];
    const FilterSpec spec = random_filter(rng);
    INFO("seed " << seed << ", " << ranks << " ranks, " << count << " elements, " << print(spec));
    std::vector<std::unique_ptr<FilterStream>> streams;
    for (uint32_t rank = 0; rank < ranks; ++rank) streams.push_back(std::make_unique<FilterStream>(spec));
    std::vector<double> given(count), got(count);
    for (int call = 0; call < 5; ++call) {
      const auto inputs = random_inputs(rng, ranks, count);
      Round round(streams, CollectiveOp::sum, inputs);
      round.run(rng);
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        REQUIRE(round[rank].done());
        REQUIRE(round[rank].result().view() == round[0].result().view());
      }
      if (rng.below(4) == 0) continue;  // failed: the retained errors stay
      for (uint32_t rank = 0; rank < ranks; ++rank) round[rank].save_residuals();
      for (const auto& values : inputs) add(given, values);
      add(got, values_of<float>(round[0].result()));
    }
    for (const auto& stream : streams) {
      add(got, values_of<float>(stream->input_residual));
      add(got, values_of<float>(stream->total_residual), stream->total_span.begin);
    }
    for (size_t i = 0; i < count; ++i) REQUIRE(std::abs(given[i] - got[i]) < 1e-3);
  }
}

TEST_CASE("the error of a sum of halves is at most two roundings, in half of the bytes") {
  Rng rng(5);
  FilterSpec spec;
  spec.values = FilterSpec::Values::half;
  for (const uint32_t ranks : {1U, 2U, 5U}) {
    std::vector<std::unique_ptr<FilterStream>> streams;
    for (uint32_t rank = 0; rank < ranks; ++rank) streams.push_back(std::make_unique<FilterStream>(spec));
    const auto inputs = random_inputs(rng, ranks, 10000);
    Round round(streams, CollectiveOp::mean, inputs);
    round.run(rng);
    const std::vector<float> wanted = folded(CollectiveOp::mean, inputs);
    const std::vector<float> result = values_of<float>(round[0].result());
    for (size_t i = 0; i < wanted.size(); ++i) {
      // Inputs are below 1: 2^-11 for the inputs, and for the mean.
      REQUIRE(std::abs(result[i] - wanted[i]) <= 2.0F / 2048);
    }
    const FilterBytes& bytes = round[ranks - 1].bytes();
    CHECK(bytes.before == (ranks == 1 ? 0 : 2 * 40000 / ranks * (ranks - 1)));
    CHECK(bytes.after <= bytes.before / 2 + 64 * ranks);
    CHECK(bytes.after >= bytes.before / 2);
  }
}

TEST_CASE("a filtered all-reduce refuses unexpected parcels") {
  FilterStream stream{FilterSpec{}};
  const auto no_send = [](uint32_t, const PackedValue&) { return Status(); };
  const auto open = [&] {
    auto one = std::make_unique<FilteredReduction>(Place{0, 3, 2, 1, {}}, CollectiveOp::sum, Dtype::f32,
                                                   bytes_of(std::vector<float>(2)), stream, no_send);
    REQUIRE(one->start().ok());
    return one;
  };
  CHECK(open()->take(1, {"x", {}}).error().code == Code::bad_data);
  CHECK(open()->take(7, {"i", {}}).error().code == Code::bad_data);
  CHECK(open()->take(0, {"i", {}}).error().code == Code::bad_data);  // a duplicate
  CHECK(open()->take(2, {"t", {}}).error().code == Code::bad_data);  // combines nothing: two elements, three ranks
  CHECK(open()->take(1, {"t", Blob::copy_of(std::string(9, 'x'))}).error().code == Code::bad_data);
  auto all = open();
  CHECK(all->take(1, {"i", Blob::copy_of(std::string(9, 'x'))}).ok());  // decoded after all inputs have arrived
  CHECK(all->take(2, {"i", {}}).error().code == Code::bad_data);
}
