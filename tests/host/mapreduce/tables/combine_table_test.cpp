#include "host/mapreduce/tables/combine_table.hpp"

#include "tests/host/data/scratch.hpp"
#include "tests/host/mapreduce/rows.hpp"
#include "tests/test.hpp"

namespace {

RowValue number_value(double number) { return {static_cast<uint32_t>(RowTag::number), 0, number}; }

struct CombineWorld {
  explicit CombineWorld(Combine combine, size_t memory = kLeastMemory) {
    options.combine = combine;
    options.memory = memory;
    options.budget = &budget;
    options.spill = &spill;
  }
  Scratch scratch;
  MemoryBudget budget{size_t{1} << 20};
  SpillFile spill{scratch.path().string()};
  CombineOptions options;
};

std::vector<RowBlocks> finished(CombineTable& table, uint32_t buckets) {
  std::vector<RowBlocks> out(buckets);
  const auto status = table.finish(buckets, [&](uint32_t bucket, RowBlock block) {
    out[bucket].push_back(std::move(block));
    return Status();
  });
  INFO((status.ok() ? "" : status.error().message));
  REQUIRE(status.ok());
  return out;
}

/// Adds rows, alternately as bytes and as batches.
bool add(CombineTable& table, const std::vector<PlainRow>& rows, int turn) {
  if (turn % 2 == 0) return table.add_rows(block_of(rows).bytes.view());
  for (const auto& batch : batches_of(rows)) {
    if (!table.add_rows(batch)) return false;
  }
  return true;
}

Plain random_table_key(Rng& rng, uint64_t kinds) {
  switch (rng.below(8)) {
    case 0: return Plain::of(rng.below(2) == 0);
    case 1:
    case 2: return Plain::of(static_cast<double>(rng.below(kinds)) - 10);
    case 3: return Plain::of(rng.uniform());
    default: return Plain::of("k" + std::to_string(rng.below(kinds)) + std::string(rng.below(3) * 5, 'y'));
  }
}

double model_of(Combine combine, double a, double b) {
  switch (combine) {
    case Combine::sum: return a + b;
    case Combine::product: return a * b;
    case Combine::min: return std::min(a, b);
    default: return std::max(a, b);
  }
}

}  // namespace

TEST_CASE(
    "each native combiner gives the values of a map of the same rows, spilled or not, for any number of buckets") {
  const Combine combine = GENERATE(Combine::sum, Combine::product, Combine::min, Combine::max);
  const uint64_t seed = GENERATE(1U, 2U, 3U);
  CAPTURE(static_cast<int>(combine), seed);
  Rng rng(seed, static_cast<uint64_t>(combine));
  CombineWorld w(combine, seed == 1 ? size_t{16} << 20 : kLeastMemory);
  CombineTable table(w.options);
  std::map<Plain, double> model;
  for (int n = 0; n < 40; ++n) {
    std::vector<PlainRow> rows(rng.below(1000));
    for (auto& row : rows) {
      // Powers of two: a product or sum of them is the same in any order.
      const double number = combine == Combine::product ? static_cast<double>(1 + rng.below(2))
                                                        : static_cast<double>(rng.below(1000)) - 500;
      row = {random_table_key(rng, seed == 3 ? 5000 : 50), Plain::of(number)};
      const auto [entry, fresh] = model.try_emplace(row.first, number);
      if (!fresh) entry->second = model_of(combine, entry->second, number);
    }
    REQUIRE(add(table, rows, n));
  }
  CHECK(table.spilled() == (seed != 1));
  if (seed == 1) CHECK(table.entries() == model.size());
  const uint32_t buckets = seed == 2 ? 1 : 7;
  std::map<Plain, double> result;
  const auto out = finished(table, buckets);
  for (uint32_t bucket = 0; bucket < buckets; ++bucket) {
    for (const auto& row : rows_of(out[bucket])) {
      CHECK(result.try_emplace(row.first, row.second->number).second);
      CHECK(bucket_of(key_hash(row.first.view()), buckets) == bucket);
    }
  }
  CHECK(result == model);
  CHECK(table.entries() == 0);
  CHECK(w.budget.used() == table.memory_bytes());
}

TEST_CASE("first keeps the first value, of any kind, also across spilled runs") {
  const uint64_t seed = GENERATE(1U, 2U);
  Rng rng(seed);
  CombineWorld w(Combine::first, seed == 1 ? size_t{16} << 20 : kLeastMemory);
  CombineTable table(w.options);
  std::map<Plain, Plain> model;
  for (int n = 0; n < 60; ++n) {
    std::vector<PlainRow> rows(rng.below(300));
    for (auto& row : rows) {
      row = {random_table_key(rng, 2000), Plain::of(random_text(rng, 40))};
      if (rng.below(3) == 0) row.second = Plain::of(rng.uniform());
      if (rng.below(9) == 0) row.second = Plain{};
      model.try_emplace(row.first, *row.second);
    }
    REQUIRE(add(table, rows, n));
  }
  CHECK(table.spilled() == (seed == 2));
  std::map<Plain, Plain> result;
  for (const auto& blocks : finished(table, 3)) {
    for (const auto& row : rows_of(blocks)) CHECK(result.try_emplace(row.first, *row.second).second);
  }
  CHECK(result == model);
}

TEST_CASE("distinct rows equal a set of the rows: singles, pairs and nil") {
  const uint64_t seed = GENERATE(1U, 2U);
  Rng rng(seed);
  CombineWorld w(Combine::row, seed == 1 ? size_t{16} << 20 : kLeastMemory);
  CombineTable table(w.options);
  std::set<PlainRow> model;
  for (int n = 0; n < 60; ++n) {
    std::vector<PlainRow> rows(rng.below(300));
    for (auto& row : rows) {
      row.first = rng.below(10) == 0 ? Plain{} : random_table_key(rng, 3000);
      if (rng.below(2) == 0) row.second = random_table_key(rng, 3);
      model.insert(row);
    }
    REQUIRE(add(table, rows, n));
  }
  CHECK(table.spilled() == (seed == 2));
  std::set<PlainRow> result;
  for (const auto& blocks : finished(table, 2)) {
    for (const auto& row : rows_of(blocks)) CHECK(result.insert(row).second);
  }
  CHECK(result == model);
}

TEST_CASE("single pairs and batches of pairs are combined like rows") {
  CombineWorld w(Combine::sum);
  CombineTable table(w.options);
  for (const char* word : {"a", "bb", "longer words", "a", "12345678", "longer words", "a"}) {
    REQUIRE(table.add(Plain::of(word).view(), 1));
  }
  const Plain key = Plain::of("bb");
  REQUIRE(table.add(key.view(), 41));
  const RowValue zeros[2] = {number_value(0.0), number_value(-0.0)};
  const double numbers[2] = {1, 2};
  REQUIRE(table.add_batch(zeros, numbers, 2));
  std::map<Plain, double> result;
  for (const auto& row : rows_of(finished(table, 1)[0])) result[row.first] = row.second->number;
  const std::map<Plain, double> expected = {{Plain::of("a"), 3},
                                            {Plain::of("bb"), 42},
                                            {Plain::of("longer words"), 2},
                                            {Plain::of("12345678"), 1},
                                            {Plain::of(0.0), 3}};
  CHECK(result == expected);
}

TEST_CASE("an invalid key and a value that the combiner does not take are refused and named") {
  const auto refused = [](Combine combine, const PlainRow& row) {
    CombineWorld w(combine);
    CombineTable table(w.options);
    CHECK_FALSE(table.add_rows(block_of({row}).bytes.view()));
    CHECK(failure_of(table.status()).code == Code::bad_argument);
    CHECK_FALSE(table.finish(1, [](uint32_t, const RowBlock&) { return Status(); }).ok());
    return table.status().error().message;
  };
  const Plain one = Plain::of(1.0);
  const Plain blob{RowTag::value, 0, "xyz"};
  CHECK(contains(refused(Combine::sum, {Plain{}, one}),
                 "a key must be a text, a number, a boolean or an array of these, not nil"));
  CHECK(contains(refused(Combine::sum, {blob, one}), "not a table"));
  CHECK(contains(refused(Combine::sum, {Plain::of("x"), Plain::of("word")}),
                 "sum needs numbers, not text 'word', for the key text 'x'"));
  CHECK(contains(refused(Combine::max, {Plain::of("x"), {}}), "max needs numbers"));
  CHECK(contains(refused(Combine::row, {one, blob}), "tables cannot be compared"));
  CombineWorld w(Combine::sum);
  CombineTable table(w.options);
  CHECK_FALSE(table.add_rows("\x84\x7fzz"));
  CHECK(table.status().error().code == Code::bad_data);
}

TEST_CASE("NaN is one key and the greatest number, and as a key -0 is 0") {
  const Plain nan = Plain::of(std::nan(""));
  const Plain zero = Plain::of(0.0);
  const Plain minus_zero{RowTag::number, -0.0, {}};
  const std::vector<PlainRow> rows = {{nan, nan}, {zero, Plain::of(1.0)}, {nan, Plain::of(5.0)}, {minus_zero, nan}};
  const auto combined = [&](Combine combine, bool backwards) {
    CombineWorld w(combine);
    CombineTable table(w.options);
    const std::vector<PlainRow> other(rows.rbegin(), rows.rend());
    REQUIRE(table.add_rows(block_of(backwards ? other : rows).bytes.view()));
    std::map<std::string, std::string> out;
    for (const auto& row : rows_of(finished(table, 1)[0])) {
      CHECK_FALSE(std::signbit(row.first.number));
      out[std::to_string(row.first.number)] = std::to_string(row.second->number);
    }
    return out;
  };
  using Values = std::map<std::string, std::string>;
  const bool backwards = GENERATE(false, true);
  CHECK(combined(Combine::min, backwards) == Values{{"nan", "5.000000"}, {"0.000000", "1.000000"}});
  CHECK(combined(Combine::max, backwards) == Values{{"nan", "nan"}, {"0.000000", "nan"}});
  CombineWorld w(Combine::row);
  CombineTable table(w.options);
  REQUIRE(table.add_rows(block_of({{nan, {}}, {zero, {}}, {nan, {}}, {minus_zero, {}}}).bytes.view()));
  CHECK(rows_of(finished(table, 1)[0]).size() == 2);
}

TEST_CASE("one bucket is in the order of hashes, whatever the order of rows and the spilling") {
  Rng rng(5);
  std::vector<PlainRow> rows;
  for (int i = 0; i < 20000; ++i) rows.push_back({Plain::of(random_text(rng, 12)), Plain::of(1.0)});
  std::vector<std::vector<PlainRow>> results;
  for (const size_t memory : {size_t{16} << 20, size_t{64} << 10}) {
    CombineWorld w(Combine::sum, memory);
    CombineTable table(w.options);
    REQUIRE(table.add_rows(block_of(rows).bytes.view()));
    CHECK(table.spilled() == (memory < size_t{1} << 20));
    results.push_back(rows_of(finished(table, 1)[0]));
    std::reverse(rows.begin(), rows.end());
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("a script's values of any kind and length are stored, replaced and compacted") {
  const uint64_t seed = GENERATE(1U, 2U, 3U);
  Rng rng(seed);
  CombineWorld w(Combine::script, size_t{16} << 20);
  CombineTable table(w.options);
  std::map<Plain, Plain> model;
  size_t most = 0;
  for (int n = 0; n < 30000; ++n) {
    const Plain key = random_table_key(rng, 40);
    Plain value = Plain::of(static_cast<double>(rng.below(100)));
    if (rng.below(2) == 0) value = Plain::of(random_text(rng, 100));
    if (rng.below(9) == 0) value = Plain{RowTag::value, 0, random_text(rng, 50)};
    bool fresh = false;
    CombineSlot* slot = table.find_or_insert(key.view(), fresh);
    REQUIRE(slot != nullptr);
    CHECK(fresh == (model.find(key) == model.end()));
    if (!fresh) CHECK(Plain::from(CombineTable::value_of(*slot)) == model[key]);
    if (seed == 3 && key.tag == RowTag::text) {
      // A value from the table itself.
      value = Plain::from(CombineTable::value_of(*slot));
      REQUIRE(table.set_value(*slot, CombineTable::value_of(*slot)));
    } else {
      REQUIRE(table.set_value(*slot, value.view()));
    }
    CHECK(Plain::from(CombineTable::value_of(*slot)) == value);
    CHECK(Plain::from(CombineTable::key_of(*slot)) == key);
    model[key] = value;
    most = std::max(most, table.memory_bytes());
  }
  CHECK_FALSE(table.spilled());
  // 30,000 values of 50 bytes were set, a few hundred kilobytes of keys and values are alive.
  CHECK(most < size_t{3} << 20);
  std::map<Plain, Plain> result;
  for (const auto& row : rows_of(finished(table, 1)[0])) result[row.first] = *row.second;
  CHECK(result == model);
}

TEST_CASE("spilled rows of a script are merged with equal keys together, oldest first") {
  Rng rng(7);
  CombineWorld w(Combine::script);
  CombineTable table(w.options);
  std::map<Plain, std::string> model;
  for (int n = 0; n < 20000; ++n) {
    const Plain key = random_table_key(rng, 3000);
    const std::string more = std::to_string(n) + ",";
    bool fresh = false;
    CombineSlot* slot = table.find_or_insert(key.view(), fresh);
    REQUIRE(slot != nullptr);
    const std::string value = fresh ? more : std::string(CombineTable::value_of(*slot).text()) + more;
    REQUIRE(table.set_value(*slot, Plain::of(value).view()));
    model[key] += more;
  }
  CHECK(table.spilled());
  CHECK(w.budget.peak() < 3 * kLeastMemory);
  auto merge = required(table.merge());
  std::map<Plain, std::string> result;
  RowReader::Row row;
  bool same = false;
  Plain last;
  while (merge->next(row, same)) {
    const Plain key = Plain::from(row.first);
    if (!result.empty()) CHECK(same == (key == last));
    CHECK(same == (result.find(key) != result.end()));
    result[key] += row.second.text();
    last = key;
  }
  CHECK(merge->status().ok());
  CHECK(result == model);
  CHECK(table.entries() == 0);
}

TEST_CASE("rows in the order of another table do not cluster") {
  // Without a new salt each row of the second table would search past most of the others: minutes.
  CombineWorld w(Combine::sum, size_t{256} << 20);
  CombineTable first(w.options);
  for (int n = 0; n < 300000; ++n) REQUIRE(first.add(number_value(n), 1));
  const auto out = finished(first, 4);
  CombineTable second(w.options);
  for (const auto& block : out[2]) REQUIRE(second.add_rows(block.bytes.view()));
  CHECK(second.entries() == rows_of(out[2]).size());
  size_t longest = 0;
  size_t run = 0;
  for (const auto& slot : second.slots()) {
    run = slot.key_tag == 0 ? 0 : run + 1;
    longest = std::max(longest, run);
  }
  CHECK(longest < 2000);
}

TEST_CASE("a read-only disk is an error of the table") {
  SpillFile spill("/nowhere/at/all");
  CombineTable table({Combine::sum, kLeastMemory, nullptr, &spill});
  bool ok = true;
  for (int n = 0; n < 100000 && ok; ++n) ok = table.add(number_value(n), 1);
  CHECK_FALSE(ok);
  CHECK(table.status().error().code == Code::full);
}
