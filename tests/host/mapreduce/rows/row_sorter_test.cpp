#include "host/mapreduce/rows/sorter.hpp"
#include "tests/host/data/scratch.hpp"
#include "tests/host/mapreduce/rows.hpp"
#include "tests/test.hpp"

namespace {

struct SorterWorld {
  explicit SorterWorld(SortOrder order, size_t memory = kLeastMemory, SortRows rows = SortRows::row) {
    options.order = order;
    options.rows = rows;
    options.memory = memory;
    options.budget = &budget;
    options.spill = &spill;
  }
  Scratch scratch;
  MemoryBudget budget{size_t{1} << 30};
  SpillFile spill{scratch.path().string()};
  SortOptions options;
};

enum class KeyMix { texts, short_texts, common, numbers, few, booleans, same, tails };

Plain random_sort_key(Rng& rng, KeyMix kind) {
  switch (kind) {
    case KeyMix::texts: return Plain::of(random_text(rng, 40));
    case KeyMix::short_texts: return Plain::of(random_text(rng, 3));
    case KeyMix::common: return Plain::of("a long beginning that all share " + random_text(rng, 20));
    case KeyMix::numbers: {
      const double special[] = {0.0,    -0.0,   std::numeric_limits<double>::infinity(),
                                -1e300, 1e-310, -std::numeric_limits<double>::infinity()};
      return Plain::of(rng.below(10) == 0 ? special[rng.below(6)] : (rng.uniform() - 0.5) * 1e6);
    }
    case KeyMix::few: return Plain::of(static_cast<double>(rng.below(5)) - 2);
    case KeyMix::booleans: return Plain::of(rng.below(2) == 0);
    case KeyMix::same: return Plain::of("the one and only key");
    // Texts that differ only in zeros at their end.
    default: return Plain::of(std::string(rng.below(3), 'a') + std::string(rng.below(20), '\0'));
  }
}

/// Takes the sorted rows in one of the three ways.
std::vector<PlainRow> taken(SortedRows& sorted, uint64_t way) {
  std::vector<PlainRow> rows;
  if (way == 0) {
    RowReader::Row row;
    while (sorted.next(row)) rows.push_back(PlainRow::from(row));
  } else if (way == 1) {
    RowBatch batch;
    do {
      REQUIRE(sorted.next(batch).ok());
      for (uint32_t i = 0; i < batch.count; ++i) {
        rows.push_back({Plain::from(batch.first[i]),
                        batch.pair[i] != 0 ? std::optional(Plain::from(batch.second[i])) : std::nullopt});
      }
    } while (batch.count != 0);
  } else {
    RowBlocks blocks;
    REQUIRE(sorted
                .write([&](uint32_t, RowBlock block) {
                  blocks.push_back(std::move(block));
                  return Status();
                })
                .ok());
    rows = rows_of(blocks);
  }
  CHECK(sorted.status().ok());
  return rows;
}

}  // namespace

TEST_CASE("rows are sorted as by std::stable_sort, in memory and merged from disk") {
  const SortOrder order = GENERATE(SortOrder::ascending, SortOrder::descending, SortOrder::hash);
  const KeyMix kind = GENERATE(KeyMix::texts, KeyMix::short_texts, KeyMix::common, KeyMix::numbers, KeyMix::few,
                               KeyMix::booleans, KeyMix::same, KeyMix::tails);
  const bool spills = GENERATE(false, true);
  CAPTURE(static_cast<int>(order), static_cast<int>(kind), spills);
  Rng rng(static_cast<uint64_t>(kind), static_cast<uint64_t>(order));
  SorterWorld w(order, spills ? kLeastMemory : size_t{64} << 20);
  RowSorter sorter(w.options);
  std::vector<PlainRow> model;
  for (uint64_t n = 0; n < 24; ++n) {
    std::vector<PlainRow> rows(rng.below(n % 6 == 0 ? 3 : 600));
    for (auto& row : rows) row = {random_sort_key(rng, kind), Plain::of(static_cast<double>(model.size() * 1000 + n))};
    REQUIRE(put_rows(sorter, rows, n % 3).ok());
    model.insert(model.end(), rows.begin(), rows.end());
  }
  CHECK(sorter.spilled() == spills);
  auto sorted = required(sorter.finish());
  CHECK(sorter.rows() == model.size());
  std::stable_sort(model.begin(), model.end(),
                   [&](const PlainRow& a, const PlainRow& b) { return comes_before(a.first, b.first, order); });
  CHECK(taken(**sorted, rng.below(3)) == model);
  if (spills) CHECK(w.budget.peak() < 3 * kLeastMemory);
  sorted->reset();
  CHECK(w.budget.used() == 0);
}

TEST_CASE("more runs than fit in memory are merged in several passes") {
  Rng rng(11);
  SorterWorld w(SortOrder::ascending);
  RowSorter sorter(w.options);
  std::vector<PlainRow> model;
  for (int n = 0; n < 40; ++n) {
    std::vector<PlainRow> rows(2000);
    for (auto& row : rows) row = {Plain::of(random_text(rng, 60)), Plain::of(static_cast<double>(n))};
    REQUIRE(sorter.put(block_of(rows)).ok());
    model.insert(model.end(), rows.begin(), rows.end());
  }
  auto sorted = required(sorter.finish());
  std::stable_sort(model.begin(), model.end(),
                   [](const PlainRow& a, const PlainRow& b) { return a.first.text < b.first.text; });
  CHECK(taken(**sorted, 2) == model);
  // Each row was written to disk more than once.
  size_t bytes = 0;
  for (const auto& row : model) bytes += row.first.text.size();
  CHECK(w.spill.raw_bytes() > 2 * bytes);
}

TEST_CASE("a sort without rows is empty, also after empty blocks") {
  SorterWorld w(SortOrder::ascending);
  RowSorter sorter(w.options);
  REQUIRE(sorter.put(RowBlock{}).ok());
  auto sorted = required(sorter.finish());
  CHECK(taken(**sorted, 0).empty());
}

TEST_CASE("NaN is sorted after all other numbers") {
  SorterWorld w(SortOrder::ascending);
  RowSorter sorter(w.options);
  for (const double number : {std::nan(""), 1.0, -std::nan(""), std::numeric_limits<double>::infinity(), -1.0}) {
    REQUIRE(sorter.put(Plain::of(number).view(), nullptr).ok());
  }
  const auto rows = taken(**sorter.finish(), 0);
  REQUIRE(rows.size() == 5);
  CHECK(rows[0].first.number == -1);
  CHECK(std::isinf(rows[2].first.number));
  CHECK(std::isnan(rows[3].first.number));
  CHECK(std::isnan(rows[4].first.number));
}

TEST_CASE("a sort by a made key returns only the value or the inner row") {
  const bool spills = GENERATE(false, true);
  const SortRows give = GENERATE(SortRows::second, SortRows::inner);
  Rng rng(spills ? 1 : 2, static_cast<uint64_t>(give));
  SorterWorld w(SortOrder::descending, spills ? kLeastMemory : size_t{64} << 20, give);
  RowSorter sorter(w.options);
  std::vector<std::pair<double, PlainRow>> model;
  for (int n = 0; n < 4000; ++n) {
    const double key = rng.uniform();
    PlainRow row{Plain::of(random_text(rng, 50)), {}};
    if (give == SortRows::inner && n % 2 == 0) row.second = Plain::of(key);
    std::string bytes;
    row.write(bytes);
    const Plain wrapped = give == SortRows::inner ? Plain::of(bytes) : row.first;
    const RowValue second = wrapped.view();
    REQUIRE(sorter.put(Plain::of(key).view(), &second).ok());
    model.emplace_back(-key, row);
  }
  CHECK(sorter.spilled() == spills);
  std::sort(model.begin(), model.end());
  const auto rows = taken(**sorter.finish(), rng.below(3));
  REQUIRE(rows.size() == model.size());
  for (size_t i = 0; i < rows.size(); ++i) REQUIRE(rows[i] == model[i].second);
}

TEST_CASE("keys of different kinds cannot be compared, except to be grouped") {
  const auto refused = [](const Plain& first, const Plain& second, bool as_block) {
    SorterWorld w(SortOrder::ascending);
    RowSorter sorter(w.options);
    const auto status =
        as_block ? sorter.put(block_of({{first, {}}, {second, {}}})) : put_rows(sorter, {{first, {}}, {second, {}}}, 2);
    CHECK_FALSE(status.ok());
    CHECK_FALSE(sorter.finish().ok());
    return status.ok() ? "" : status.error().message;
  };
  for (const bool as_block : {true, false}) {
    CHECK(refused(Plain::of(3.0), Plain::of("x"), as_block) == "cannot compare text 'x' with number 3");
    CHECK(refused(Plain::of(true), Plain::of(0.5), as_block) == "cannot compare number 0.5 with true");
    CHECK(contains(refused(Plain::of(3.0), Plain{}, as_block), "not nil"));
    CHECK(contains(refused(Plain{RowTag::value, 0, "t"}, Plain::of(3.0), as_block), "not a table"));
  }
  SorterWorld w(SortOrder::hash);
  RowSorter sorter(w.options);
  REQUIRE(put_rows(sorter, {{Plain::of(3.0), {}}, {Plain::of("3"), {}}, {Plain::of(false), {}}}, 0).ok());
  CHECK(taken(**sorter.finish(), 0).size() == 3);
}

TEST_CASE("malformed rows and a read-only disk are errors of the sort") {
  SorterWorld w(SortOrder::ascending);
  RowSorter broken(w.options);
  CHECK(broken.put(RowBlock{Blob::copy_of("\x04\x05zz"), 1}).error().code == Code::bad_data);
  SpillFile spill("/nowhere/at/all");
  RowSorter sorter({SortOrder::ascending, SortRows::row, kLeastMemory, nullptr, &spill});
  Rng rng(1);
  Status status;
  for (int n = 0; n < 100 && status.ok(); ++n) status = sorter.put(text_block(rng, 10000, true));
  CHECK(failure_of(status).code == Code::full);
}
