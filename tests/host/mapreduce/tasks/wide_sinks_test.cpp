#include "host/mapreduce/tasks/wide_sinks.hpp"

#include "host/mapreduce/rows/pair_rows.hpp"
#include "host/mapreduce/tables/group_source.hpp"
#include "tests/host/mapreduce/rows.hpp"
#include "tests/test.hpp"

namespace {

using BucketRows = std::map<uint32_t, std::vector<PlainRow>>;

BlockSink into(BucketRows& buckets) {
  return [&buckets](uint32_t bucket, const RowBlock& block) -> Status {
    for (PlainRow& row : rows_of(block)) buckets[bucket].push_back(std::move(row));
    return {};
  };
}

Status put(RowSink& sink, const Plain& first) { return sink.put(first.view(), nullptr); }
Status put(RowSink& sink, const Plain& first, const Plain& second) {
  const RowValue value = second.view();
  return sink.put(first.view(), &value);
}

/// The bytes of the table {`first`, `rest`...}, as the codec writes it.
Plain table(const std::string& items) { return {RowTag::value, 0, std::string("\x0c\x03", 2) + items}; }

const std::string kOne("\x06\x01\0\0\0", 5);
const std::string kHalf("\x07\0\0\0\0\0\0\xe0\x3f", 9);
const std::string kText("\x22xy", 3);
const std::string kEmptyTable("\x08", 1);

bool splits(const Plain& row, PlainRow& out) {
  RowValue first;
  RowValue second;
  if (!split_pair(row.view(), first, second)) return false;
  out = {Plain::from(first), Plain::from(second)};
  return true;
}

std::unique_ptr<SortedRows> wrapped(const std::vector<PlainRow>& rows) {
  SorterSink sorter({.order = SortOrder::hash}, true);
  for (const PlainRow& row : rows) {
    REQUIRE((row.second ? put(sorter, row.first, *row.second) : put(sorter, row.first)).ok());
  }
  return *sorter.sorted();
}

std::vector<PlainRow> sorted_rows(RowSource& source) {
  std::vector<PlainRow> rows;
  const auto batch = std::make_unique<RowBatch>();
  do {
    REQUIRE(source.next(*batch).ok());
    for (uint32_t i = 0; i < batch->count; ++i) {
      const bool pair = (batch->pair[i] & 1) != 0;
      rows.push_back(
          {Plain::from(batch->first[i]), pair ? std::optional(Plain::from(batch->second[i])) : std::nullopt});
    }
  } while (batch->count != 0);
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace

TEST_CASE("a table of two elements is a pair of them") {
  PlainRow row;
  REQUIRE(splits(table(kOne + kText), row));
  CHECK(row == PlainRow{Plain::of(1.0), Plain::of("xy")});
  REQUIRE(splits(table(kText + kHalf), row));
  CHECK(row == PlainRow{Plain::of("xy"), Plain::of(0.5)});
  REQUIRE(splits(table(std::string("\x02", 1) + kEmptyTable), row));
  CHECK(row == PlainRow{Plain::of(true), Plain{RowTag::value, 0, kEmptyTable}});
  REQUIRE(splits(table(table(kOne + kText).text + kHalf), row));
  CHECK(row == PlainRow{table(kOne + kText), Plain::of(0.5)});
  const std::string longer(300, 'z');
  REQUIRE(splits(table(std::string("\xe0\x6c", 2) + longer + kOne), row));
  CHECK(row == PlainRow{Plain::of(longer), Plain::of(1.0)});
}

TEST_CASE("any other value than a table of two elements is not a pair") {
  PlainRow row;
  CHECK_FALSE(splits(Plain::of("xy"), row));
  CHECK_FALSE(splits(table(kOne), row));
  CHECK_FALSE(splits(table(kOne + kOne + kOne), row));
  CHECK_FALSE(splits(table(kEmptyTable + kOne), row));
  CHECK_FALSE(splits(table(table(kEmptyTable).text + kOne), row));
  CHECK_FALSE(splits(table(std::string("\x30x", 2)), row));        // a text longer than the bytes
  CHECK_FALSE(splits(table(kOne + std::string("\x12", 1)), row));  // a tensor, which is elsewhere
  CHECK_FALSE(splits({RowTag::value, 0, std::string("\x0c", 1)}, row));
  for (size_t cut = 0; cut < kHalf.size(); ++cut) CHECK_FALSE(splits(table(kHalf.substr(0, cut)), row));
}

TEST_CASE("a keyed sink takes pairs of keys only, also into one bucket") {
  BucketRows buckets;
  const uint32_t count = GENERATE(1U, 7U);
  BucketOptions options{.buckets = count};
  {
    WriterSink sink(options, into(buckets));
    for (int i = 0; i < 50; ++i) REQUIRE(put(sink, Plain::of(static_cast<double>(i)), Plain::of("v")).ok());
    REQUIRE(put(sink, Plain::of(-0.0), Plain::of("zero")).ok());
    REQUIRE(sink.finish().ok());
  }
  size_t rows = 0;
  for (const auto& [bucket, each] : buckets) rows += each.size();
  CHECK(rows == 51);
  CHECK((count == 1 || buckets.size() > 1));
  WriterSink no_pair(options, into(buckets));
  CHECK(put(no_pair, Plain::of(1.0)).error().message.find("a pair is needed") != std::string::npos);
  WriterSink no_key(options, into(buckets));
  CHECK(put(no_key, table(kEmptyTable), Plain::of(1.0)).error().message.find("not a table") != std::string::npos);
}

TEST_CASE("a placed sink keeps rows in order in the last selected bucket") {
  BucketRows buckets;
  PlacedSink sink(3, 1 << 20, nullptr, into(buckets));
  REQUIRE(put(sink, Plain::of(1.0)).ok());
  REQUIRE(sink.into(2));
  REQUIRE(put(sink, Plain::of(3.0)).ok());
  REQUIRE(put(sink, Plain::of(2.0), Plain::of("x")).ok());
  CHECK_FALSE(sink.into(3));
  REQUIRE(sink.finish().ok());
  CHECK(buckets[0] == std::vector<PlainRow>{{Plain::of(1.0), {}}});
  CHECK(buckets[2] == std::vector<PlainRow>{{Plain::of(3.0), {}}, {Plain::of(2.0), Plain::of("x")}});
}

TEST_CASE("set operations return each distinct row once, whatever its kind") {
  const PlainRow one{Plain::of(1.0), {}};
  const PlainRow pair{Plain::of(1.0), Plain::of("a")};
  const PlainRow text{Plain::of("1"), {}};
  const PlainRow nil{Plain{}, {}};
  const std::vector<PlainRow> left = {one, pair, one, nil, text, pair};
  const std::vector<PlainRow> right = {pair, nil, nil};
  const auto both = [&](SetOperation operation) {
    std::vector<std::unique_ptr<SortedRows>> inputs;
    inputs.push_back(wrapped(left));
    inputs.push_back(wrapped(right));
    SetSource source(std::move(inputs), operation);
    return sorted_rows(source);
  };
  auto common = std::vector<PlainRow>{pair, nil};
  auto rest = std::vector<PlainRow>{one, text};
  std::sort(common.begin(), common.end());
  std::sort(rest.begin(), rest.end());
  CHECK(both(SetOperation::intersection) == common);
  CHECK(both(SetOperation::subtract) == rest);
}

TEST_CASE("groups are returned key by key with the input of each row") {
  SortOptions options{.order = SortOrder::hash};
  std::vector<std::unique_ptr<SortedRows>> inputs;
  for (int input = 0; input < 3; ++input) {
    SorterSink sorter(options, false);
    for (int i = 0; i < 1000; ++i) {
      if (i % 3 != input)
        REQUIRE(put(sorter, Plain::of(static_cast<double>(i % 400)), Plain::of(static_cast<double>(i))).ok());
    }
    inputs.push_back(*sorter.sorted());
  }
  GroupSource source(std::move(inputs));
  const auto batch = std::make_unique<RowBatch>();
  std::map<double, int> keys;
  double key = -1;
  unsigned input = 0;
  size_t rows = 0;
  do {
    REQUIRE(source.next(*batch).ok());
    for (uint32_t i = 0; i < batch->count; ++i, ++rows) {
      const unsigned of = batch->pair[i] >> kInputShift;
      const bool same = (batch->pair[i] & kSameKey) != 0;
      REQUIRE(same == (batch->first[i].number == key));
      if (!same) ++keys[key = batch->first[i].number];
      CHECK((!same || of >= input));
      CHECK(static_cast<unsigned>(batch->second[i].number) % 3 != of);
      input = of;
    }
  } while (batch->count != 0);
  CHECK(rows == 2000);
  CHECK(keys.size() == 400);
  for (const auto& [each, times] : keys) CHECK(times == 1);
}
