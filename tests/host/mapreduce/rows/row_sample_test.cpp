#include "host/mapreduce/rows/key_ranges.hpp"
#include "host/mapreduce/rows/sample.hpp"
#include "tests/host/mapreduce/rows.hpp"
#include "tests/test.hpp"

namespace {

/// A sink that is a source of its rows.
class StoredRows final : public RowSink, public RowSource {
 public:
  Status put(const RowValue& first, const RowValue* second) override {
    rows.push_back({Plain::from(first), second != nullptr ? std::optional(Plain::from(*second)) : std::nullopt});
    return {};
  }
  Status next(RowBatch& batch) override {
    batch.count = 0;
    for (; at_ < rows.size() && batch.count < kBatchRows; ++at_) {
      const PlainRow& row = rows[at_];
      batch.first[batch.count] = row.first.view();
      if (row.second) batch.second[batch.count] = row.second->view();
      batch.pair[batch.count++] = row.second ? 1 : 0;
    }
    return {};
  }

  std::vector<PlainRow> rows;

 private:
  size_t at_ = 0;
};

void take_sample(const std::vector<Plain>& keys, size_t most, StoredRows& out) {
  RowSample sample(most);
  for (const Plain& key : keys) {
    std::string bytes;
    RowWriter(bytes).value(key.view());
    sample.add(key.view(), row_hash(bytes));
  }
  REQUIRE(sample.write(out).ok());
}

std::vector<Plain> chosen(StoredRows& samples, uint32_t ranges, SortOrder order) {
  StoredRows out;
  REQUIRE(choose_splitters(samples, ranges, order, out).ok());
  std::vector<Plain> splitters;
  for (const PlainRow& row : out.rows) splitters.push_back(row.first);
  return splitters;
}

}  // namespace

TEST_CASE("splitters from samples split rows into ranges of about equal size, also from tasks of different sizes") {
  const SortOrder order = GENERATE(SortOrder::ascending, SortOrder::descending);
  const bool texts = GENERATE(false, true);
  constexpr uint32_t kRanges = 8;
  Rng rng(3, texts ? 1 : 0);
  std::vector<Plain> all;
  StoredRows samples;
  for (const size_t count : {20000U, 300U, 0U, 3000U}) {
    std::vector<Plain> keys;
    for (size_t i = 0; i < count; ++i) {
      const auto number = static_cast<double>(rng.below(1000000)) + (count == 300 ? 1e7 : 0);
      keys.push_back(texts ? Plain::of(std::to_string(number)) : Plain::of(number));
    }
    take_sample(keys, 512, samples);
    all.insert(all.end(), keys.begin(), keys.end());
  }
  std::string splitters;
  for (const Plain& key : chosen(samples, kRanges, order)) RowWriter(splitters).value(key.view());
  auto ranges = required(KeyRanges::make(splitters, order));
  REQUIRE(ranges->ranges() == kRanges);
  std::vector<size_t> sizes(kRanges);
  for (const Plain& key : all) ++sizes[ranges->range_of(key.view())];
  const double even = static_cast<double>(all.size()) / kRanges;
  CHECK(static_cast<double>(*std::max_element(sizes.begin(), sizes.end())) < 1.5 * even);
  CHECK(static_cast<double>(*std::min_element(sizes.begin(), sizes.end())) > 0.5 * even);
}

TEST_CASE("a sample does not depend on the order of rows") {
  Rng rng(5, 0);
  std::vector<Plain> keys;
  for (int i = 0; i < 5000; ++i) keys.push_back(Plain::of(static_cast<double>(rng.below(2000))));
  StoredRows first;
  take_sample(keys, 100, first);
  std::reverse(keys.begin(), keys.end());
  StoredRows second;
  take_sample(keys, 100, second);
  std::sort(first.rows.begin(), first.rows.end());
  std::sort(second.rows.begin(), second.rows.end());
  CHECK(first.rows == second.rows);
  CHECK(first.rows.size() == 101);
}

TEST_CASE("frequent rows have the weight of their number, and one key has one range") {
  std::vector<Plain> keys(9000, Plain::of(5.0));
  for (int i = 0; i < 1000; ++i) keys.push_back(Plain::of(static_cast<double>(i)));
  StoredRows samples;
  take_sample(keys, 2000, samples);
  const auto splitters = chosen(samples, 4, SortOrder::ascending);
  CHECK(splitters == std::vector<Plain>{Plain::of(6.0)});
}

TEST_CASE("no rows have no splitters, and rows of two kinds are an error") {
  StoredRows none;
  take_sample({}, 10, none);
  CHECK(chosen(none, 4, SortOrder::ascending).empty());
  StoredRows mixed;
  take_sample({Plain::of(1.0), Plain::of("x")}, 10, mixed);
  StoredRows out;
  CHECK(failure_of(choose_splitters(mixed, 4, SortOrder::ascending, out)).message.find("cannot compare") !=
        std::string::npos);
}

TEST_CASE("a malformed sample is refused") {
  StoredRows broken;
  const Plain key = Plain::of(1.0);
  REQUIRE(broken.put(key.view(), nullptr).ok());
  StoredRows out;
  CHECK(choose_splitters(broken, 4, SortOrder::ascending, out).error().code == Code::bad_data);
}
