#include "host/engine/collective/schedule/schedule.hpp"

#include <deque>

#include "host/engine/collective/schedule/choice.hpp"
#include "host/engine/collective/schedule_run.hpp"
#include "tests/host/engine/collective/collective_ranks.hpp"
#include "tests/test.hpp"

namespace {

/// A network of ranks that execute one schedule each. Pieces between two ranks keep their order; everything else is
/// random, including whether a piece is put into its announced place, and how long before its delivery.
class Network {
 public:
  Network(CollectiveKind kind, Algorithm algorithm, uint32_t root, CollectiveOp op, size_t unit,
          const std::vector<std::vector<float>>& inputs, size_t piece_bytes, const std::vector<uint32_t>& homes = {})
      : ranks_(static_cast<uint32_t>(inputs.size())), loans_([] {}), channels_(ranks_ * ranks_) {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      const Place place{rank, ranks_, inputs[0].size(), unit, homes};
      const auto send = [this, rank](uint32_t peer, size_t begin, Blob piece) {
        channels_[rank * ranks_ + peer].push_back({begin, std::move(piece)});
        return Status();
      };
      const auto expect = [this, rank](uint32_t peer, size_t begin, Blob room) {
        rooms_[{peer * ranks_ + rank, begin}] = std::move(room);
      };
      const ScheduleRun::Buffers buffers{op,
                                         Dtype::f32,
                                         sizeof(float),
                                         ranks_,
                                         bytes_of(inputs[rank]),
                                         Blob::allocate(inputs[0].size() * sizeof(float))};
      runs_.push_back(std::make_unique<ScheduleRun>(make_schedule(kind, algorithm, place, root), buffers, send, loans_,
                                                    piece_bytes, expect));
    }
  }

  /// Starts the ranks and delivers pieces in a random order until none is in flight.
  void run(Rng& rng) {
    std::vector<uint32_t> waiting = random_order(rng, ranks_);
    for (;;) {
      std::vector<size_t> open;
      for (size_t i = 0; i < channels_.size(); ++i) {
        if (!channels_[i].empty() && started_.count(static_cast<uint32_t>(i % ranks_)) > 0) open.push_back(i);
      }
      if (!waiting.empty() && (open.empty() || rng.below(3) == 0)) {
        const uint32_t rank = waiting.back();
        waiting.pop_back();
        started_.insert(rank);
        REQUIRE(runs_[rank]->start().ok());
        continue;
      }
      if (open.empty()) return;
      const size_t channel = open[rng.below(open.size())];
      if (rng.below(2) == 0) {
        land(channel, channels_[channel][rng.below(channels_[channel].size())]);
        continue;
      }
      auto [begin, piece] = std::move(channels_[channel].front());
      channels_[channel].pop_front();
      REQUIRE(runs_[channel % ranks_]->take(static_cast<uint32_t>(channel / ranks_), begin, std::move(piece)).ok());
    }
  }

  bool done() const {
    return std::all_of(runs_.begin(), runs_.end(), [](const auto& run) { return run->done(); });
  }
  std::vector<float> result(uint32_t rank) const { return values_of<float>(runs_[rank]->result()); }
  bool all_returned() const { return loans_.all_returned(); }
  size_t landed() const { return landed_; }

 private:
  /// Imitates a link that reads the piece into its announced place, which may be long before its delivery.
  void land(size_t channel, std::pair<size_t, Blob>& piece) {
    const auto found = rooms_.find({channel, piece.first});
    if (found == rooms_.end() || found->second.size() != piece.second.size()) return;
    Blob room = std::move(found->second);
    rooms_.erase(found);
    std::memcpy(room.data(), piece.second.data(), room.size());
    piece.second = std::move(room);
    ++landed_;
  }

  const uint32_t ranks_;
  Loans loans_;
  std::vector<std::unique_ptr<ScheduleRun>> runs_;
  std::vector<std::deque<std::pair<size_t, Blob>>> channels_;  // from * ranks + to
  std::map<std::pair<size_t, size_t>, Blob> rooms_;            // by channel and first element
  size_t landed_ = 0;
  std::set<uint32_t> started_;
};

/// Integers, so the order of a sum does not matter.
std::vector<std::vector<float>> whole_inputs(Rng& rng, uint32_t ranks, size_t count) {
  std::vector<std::vector<float>> inputs(ranks, std::vector<float>(count));
  for (auto& values : inputs) {
    for (float& value : values) value = static_cast<float>(rng.below(9)) - 4;
  }
  return inputs;
}

constexpr Algorithm kAll[] = {
    Algorithm::ring,    Algorithm::recursive_doubling, Algorithm::halving_doubling, Algorithm::tree, Algorithm::chain,
    Algorithm::ordered, Algorithm::hierarchical};

std::vector<float> cut(const std::vector<float>& values, Span span) {
  return {values.begin() + static_cast<std::ptrdiff_t>(span.begin),
          values.begin() + static_cast<std::ptrdiff_t>(span.end)};
}

/// Returns the number of pieces in their announced places.
size_t check_one(CollectiveKind kind, Algorithm algorithm, uint32_t ranks, size_t rows, Rng& rng) {
  const size_t unit = kind == CollectiveKind::reduce_scatter ? 1 + rng.below(3) : 1;
  const auto inputs = whole_inputs(rng, ranks, rows * unit);
  const CollectiveOp op = rng.below(2) == 0 ? CollectiveOp::sum : CollectiveOp::max;
  const auto root = static_cast<uint32_t>(rng.below(ranks));
  const size_t piece_bytes = sizeof(float) << rng.below(6);
  std::vector<uint32_t> homes(rng.below(3) == 0 ? 0 : ranks);  // in any order
  const size_t processes = 1 + rng.below(ranks);
  for (uint32_t& home : homes) home = static_cast<uint32_t>(rng.below(processes));
  INFO(algorithm_name(algorithm) << " kind " << static_cast<int>(kind) << ", " << ranks << " ranks, " << rows << "x"
                                 << unit << " elements, root " << root << ", pieces of " << piece_bytes);
  Network network(kind, algorithm, root, op, unit, inputs, piece_bytes, homes);
  network.run(rng);
  REQUIRE(network.done());
  REQUIRE(network.all_returned());
  const std::vector<float> total = folded(op, inputs);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    const std::vector<float> result = network.result(rank);
    if (kind == CollectiveKind::allreduce) REQUIRE(result == total);
    if (kind == CollectiveKind::reduce && rank == root) REQUIRE(result == total);
    if (kind == CollectiveKind::broadcast) REQUIRE(result == inputs[root]);
    if (kind == CollectiveKind::reduce_scatter) {
      const Span mine = Place{rank, ranks, rows * unit, unit}.block(rank);
      REQUIRE(cut(result, mine) == cut(total, mine));
    }
  }
  return network.landed();
}

size_t most_sent(CollectiveKind kind, Algorithm algorithm, uint32_t ranks, size_t elements) {
  size_t most = 0;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    size_t sent = 0;
    for (const Step& step : make_schedule(kind, algorithm, {rank, ranks, elements}, 0).steps) {
      if (step.operation == Step::Operation::send) sent += step.span.size();
    }
    most = std::max(most, sent);
  }
  return most;
}

}  // namespace

TEST_CASE("blocks are contiguous, cover everything and differ by one at most") {
  for (const size_t elements : {0U, 1U, 2U, 7U, 64U, 1001U}) {
    for (uint32_t blocks = 1; blocks < 12; ++blocks) {
      size_t at = 0;
      for (uint32_t i = 0; i < blocks; ++i) {
        const Span span = block_of(elements, blocks, i);
        REQUIRE(span.begin == at);
        REQUIRE(span.size() - elements / blocks <= 1);
        at = span.end;
      }
      REQUIRE(at == elements);
    }
  }
}

TEST_CASE(
    "every algorithm gives every rank its result, for any number of ranks, size, piece size and order of arrival") {
  const uint64_t seed = 20261121;
  Rng rng(seed);
  INFO("seed " << seed);
  size_t landed = 0;
  for (const Algorithm algorithm : kAll) {
    for (const auto kind : {CollectiveKind::allreduce, CollectiveKind::reduce, CollectiveKind::broadcast,
                            CollectiveKind::reduce_scatter}) {
      if (!algorithm_fits(kind, algorithm)) continue;
      for (const uint32_t ranks : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 16U, 19U}) {
        for (const size_t rows : {size_t{0}, size_t{1}, size_t{2}, size_t{13}, size_t{96}, size_t{rng.below(200)}}) {
          landed += check_one(kind, algorithm, ranks, rows, rng);
        }
      }
    }
  }
  CHECK(landed > 1000);
}

TEST_CASE("algorithms send as many bytes as their headers state") {
  constexpr size_t kElements = 3 * 5 * 7 * 16 * 64;
  for (const uint32_t n : {2U, 3U, 4U, 5U, 7U, 8U, 16U}) {
    const size_t share = kElements / n * (n - 1);
    CHECK(most_sent(CollectiveKind::allreduce, Algorithm::ring, n, kElements) == 2 * share);
    CHECK(most_sent(CollectiveKind::reduce_scatter, Algorithm::ring, n, kElements) == share);
    CHECK(most_sent(CollectiveKind::allreduce, Algorithm::ordered, n, kElements) == 2 * share);
    CHECK(most_sent(CollectiveKind::reduce, Algorithm::ordered, n, kElements) == share + kElements / n);
    CHECK(most_sent(CollectiveKind::broadcast, Algorithm::chain, n, kElements) == kElements);
    const auto steps = static_cast<size_t>(std::ceil(std::log2(n)));
    CHECK(most_sent(CollectiveKind::broadcast, Algorithm::tree, n, kElements) == steps * kElements);
    CHECK(most_sent(CollectiveKind::reduce, Algorithm::tree, n, kElements) == kElements);
    const bool cube = (n & (n - 1)) == 0;
    const size_t corners = size_t{1} << static_cast<size_t>(std::floor(std::log2(n)));
    const size_t extra = cube ? 0 : kElements;
    CHECK(most_sent(CollectiveKind::allreduce, Algorithm::recursive_doubling, n, kElements) ==
          static_cast<size_t>(std::floor(std::log2(n))) * kElements + extra);
    CHECK(most_sent(CollectiveKind::allreduce, Algorithm::halving_doubling, n, kElements) ==
          2 * (kElements / corners * (corners - 1)) + extra);
  }
}

namespace {

/// Number of elements that leave each process.
std::vector<size_t> sent_by_processes(CollectiveKind kind, Algorithm algorithm, const std::vector<uint32_t>& homes,
                                      size_t elements) {
  std::vector<size_t> sent(1 + *std::max_element(homes.begin(), homes.end()));
  const auto ranks = static_cast<uint32_t>(homes.size());
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    for (const Step& step : make_schedule(kind, algorithm, {rank, ranks, elements, 1, homes}, 1).steps) {
      if (step.operation != Step::Operation::send || homes[step.peer] == homes[rank]) continue;
      sent[homes[rank]] += step.span.size();
    }
  }
  return sent;
}

}  // namespace

TEST_CASE("a two-level algorithm sends as many bytes per process as its header states, for any number of nodes") {
  constexpr size_t kElements = 2 * 3 * 3 * 4 * 5 * 7 * 100;
  const auto allreduce = CollectiveKind::allreduce;
  const auto broadcast = CollectiveKind::broadcast;
  const auto two = Algorithm::hierarchical;
  CHECK(sent_by_processes(allreduce, two, {0, 0, 1, 1}, kElements) == std::vector<size_t>(2, kElements));
  CHECK(sent_by_processes(allreduce, two, {0, 0, 0, 1, 1, 2}, kElements) == std::vector<size_t>(3, kElements / 3 * 4));
  CHECK(sent_by_processes(allreduce, Algorithm::ring, {0, 0, 1, 1}, kElements) ==
        std::vector<size_t>(2, kElements / 2 * 3));
  CHECK(sent_by_processes(broadcast, two, {0, 0, 1, 1, 2, 2}, kElements) ==
        std::vector<size_t>{kElements, kElements, 0});
}

TEST_CASE("two levels are chosen if several processes have several nodes, but not for results in rank order") {
  const auto choose = [](CollectiveKind kind, uint32_t ranks, uint32_t processes, bool reproducible) {
    return choose_algorithm(kind, 8 << 20, ranks, processes, {Algorithm::automatic, reproducible});
  };
  CHECK(choose(CollectiveKind::allreduce, 4, 2, false) == Algorithm::hierarchical);
  CHECK(choose(CollectiveKind::broadcast, 4, 3, false) == Algorithm::hierarchical);
  CHECK(choose(CollectiveKind::allreduce, 4, 2, true) == Algorithm::ordered);
  CHECK(choose(CollectiveKind::allreduce, 4, 4, false) != Algorithm::hierarchical);
  CHECK(choose(CollectiveKind::allreduce, 4, 1, false) != Algorithm::hierarchical);
  CHECK(choose(CollectiveKind::reduce_scatter, 4, 2, false) == Algorithm::ring);
}

TEST_CASE("the chosen algorithm implements the call and follows the table") {
  const auto choose = [](CollectiveKind kind, size_t bytes, uint32_t ranks) {
    return choose_algorithm(kind, bytes, ranks, ranks, {});
  };
  for (const auto kind :
       {CollectiveKind::allreduce, CollectiveKind::reduce, CollectiveKind::reduce_scatter, CollectiveKind::broadcast}) {
    for (uint32_t ranks = 1; ranks < 100; ++ranks) {
      for (size_t bytes = 1; bytes < size_t{1} << 40; bytes *= 2) {
        const Algorithm chosen = choose(kind, bytes, ranks);
        CHECK((chosen != Algorithm::star && algorithm_fits(kind, chosen)));
      }
      if (ranks > 1) CHECK(star_bytes(kind, ranks + 1, ranks + 1) <= star_bytes(kind, ranks, ranks));
    }
  }
  const auto allreduce = CollectiveKind::allreduce;
  CHECK(star_bytes(allreduce, 4, 4) == 256 << 10);
  CHECK(star_bytes(allreduce, 5, 5) == 64 << 10);
  CHECK(star_bytes(allreduce, 9, 9) == 16 << 10);
  CHECK(star_bytes(allreduce, 9, 1) == 64 << 10);
  CHECK(star_bytes(CollectiveKind::exchange, 2, 2) == 16 << 10);
  CHECK(choose(allreduce, 4 << 20, 2) == Algorithm::recursive_doubling);
  CHECK(choose(allreduce, (4 << 20) + 1, 2) == Algorithm::ring);
  CHECK(choose(allreduce, 300000, 3) == Algorithm::ring);
  CHECK(choose(allreduce, 300000, 8) == Algorithm::halving_doubling);
  CHECK(choose(allreduce, 600000, 8) == Algorithm::ring);
  CHECK(choose(allreduce, 600000, 9) == Algorithm::halving_doubling);
  CHECK(choose(CollectiveKind::broadcast, 300000, 4) == Algorithm::chain);
  CHECK(choose(CollectiveKind::broadcast, 300000, 5) == Algorithm::tree);
  CHECK(choose(CollectiveKind::reduce, 5 << 20, 5) == Algorithm::chain);
}

TEST_CASE("in rank order means the bits of a loop over the ranks") {
  Rng rng(7);
  for (const uint32_t ranks : {2U, 3U, 5U, 8U}) {
    const auto inputs = inputs_of<float>(ranks, ranks, 500);
    Network network(CollectiveKind::allreduce, Algorithm::ordered, 0, CollectiveOp::mean, 1, inputs, 256);
    network.run(rng);
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      CHECK(network.result(rank) == folded(CollectiveOp::mean, inputs));
    }
  }
}

TEST_CASE("unexpected pieces are refused") {
  const std::vector<float> input(10, 1);
  const Loans loans([] {});
  const auto send = [](uint32_t, size_t, const Blob&) { return Status(); };
  const auto run = [&] {
    return std::make_unique<ScheduleRun>(
        make_schedule(CollectiveKind::allreduce, Algorithm::ring, {0, 2, 10}, 0),
        ScheduleRun::Buffers{CollectiveOp::sum, Dtype::f32, 4, 2, bytes_of(input), Blob::allocate(40)}, send, loans);
  };
  auto wrong_place = run();
  REQUIRE(wrong_place->start().ok());
  CHECK(wrong_place->take(1, 3, Blob::allocate(20)).error().code == Code::bad_data);
  auto wrong_size = run();
  REQUIRE(wrong_size->start().ok());
  CHECK(wrong_size->take(1, 0, Blob::allocate(12)).error().code == Code::bad_data);
  auto outsider = run();
  REQUIRE(outsider->start().ok());
  CHECK(outsider->take(2, 0, Blob::allocate(20)).error().code == Code::bad_data);
}
