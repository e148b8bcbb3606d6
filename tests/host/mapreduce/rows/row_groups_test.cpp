#include "host/mapreduce/rows/groups.hpp"
#include "tests/host/data/scratch.hpp"
#include "tests/host/mapreduce/rows.hpp"
#include "tests/test.hpp"

namespace {

using Groups = std::map<Plain, std::vector<std::vector<double>>>;  // key -> values by input

Plain random_group_key(Rng& rng, uint64_t kinds) {
  if (rng.below(9) == 0) return Plain::of(rng.below(2) == 0);
  if (rng.below(2) == 0) return Plain::of(static_cast<double>(rng.below(kinds)));
  return Plain::of(std::to_string(rng.below(kinds)));
}

}  // namespace

TEST_CASE("rows of one, two and three inputs are grouped by key, each input in its order") {
  const size_t inputs = GENERATE(1U, 2U, 3U);
  const bool spills = GENERATE(false, true);
  const uint64_t keys = GENERATE(1U, 40U, 3000U);
  CAPTURE(inputs, spills, keys);
  Rng rng(keys, inputs);
  const Scratch scratch;
  SpillFile spill(scratch.path().string());
  Groups model;
  std::vector<std::unique_ptr<SortedRows>> sorted;
  for (size_t input = 0; input < inputs; ++input) {
    RowSorter sorter({SortOrder::hash, SortRows::row, size_t{spills ? 1U : 1000U} << 16, nullptr, &spill});
    const uint64_t count = input == 1 ? rng.below(3000) : 8000;
    for (uint64_t n = 0; n < count; ++n) {
      const Plain key = random_group_key(rng, keys);
      const Plain value = Plain::of(static_cast<double>(n));
      const RowValue second = value.view();
      REQUIRE(sorter.put(key.view(), &second).ok());
      auto& group = model[key];
      group.resize(inputs);
      group[input].push_back(static_cast<double>(n));
    }
    if (input != 1) CHECK(sorter.spilled() == spills);
    auto rows = required(sorter.finish());
    sorted.push_back(*std::move(rows));
  }
  RowGroups groups(std::move(sorted));
  Groups result;
  RowValue key;
  RowReader::Row row;
  while (groups.next_key(key)) {
    const Plain plain = Plain::from(key);
    CHECK(result.find(plain) == result.end());
    auto& group = result[plain];
    group.resize(inputs);
    const bool skip = rng.below(4) == 0;
    // Some groups are not read to their end, inputs are read in turns.
    for (bool any = true; any;) {
      any = false;
      for (size_t input = 0; input < inputs; ++input) {
        if (skip && group[input].size() == 2) continue;
        if (!groups.next_row(input, row)) continue;
        group[input].push_back(row.second.number);
        any = true;
      }
    }
    CHECK(Plain::from(key) == plain);
    if (skip) {
      for (auto& values : model[plain]) values.resize(std::min<size_t>(values.size(), 2));
    }
  }
  CHECK(groups.status().ok());
  CHECK(result == model);
}

TEST_CASE("no inputs and empty inputs have no groups") {
  RowValue key;
  CHECK_FALSE(RowGroups({}).next_key(key));
  std::vector<std::unique_ptr<SortedRows>> sorted;
  sorted.push_back(*RowSorter({SortOrder::hash}).finish());
  RowGroups groups(std::move(sorted));
  CHECK_FALSE(groups.next_key(key));
  CHECK(groups.status().ok());
}
