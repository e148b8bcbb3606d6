#include "host/mapreduce/rows/pair_rows.hpp"

#include "host/mapreduce/rows/key.hpp"
#include "host/mapreduce/rows/plain_value.hpp"

namespace actorhost {

namespace {

class Pairs : public RowsThrough {
 public:
  using RowsThrough::RowsThrough;
  Status next(RowBatch& batch) override {
    AH_TRY(rows_->next(batch));
    for (uint32_t i = 0; i < batch.count; ++i) {
      if (batch.pair[i] != 0) continue;
      const RowValue table = batch.first[i];
      if (!split_pair(table, batch.first[i], batch.second[i])) {
        batch.at = i;
        return no_pair(table);
      }
      batch.pair[i] = 1;
    }
    return {};
  }
};

/// One side of pairs.
class KeysOrValues final : public Pairs {
 public:
  KeysOrValues(std::unique_ptr<RowSource> rows, bool second) : Pairs(std::move(rows)), second_(second) {}
  Status next(RowBatch& batch) override {
    AH_TRY(Pairs::next(batch));
    for (uint32_t i = 0; i < batch.count; ++i) {
      if (second_) batch.first[i] = batch.second[i];
      batch.pair[i] = 0;
    }
    return {};
  }

 private:
  bool second_;
};

/// Reads a table with elements, and without tables in it, as a value: the array of a tuple.
bool read_flat(ValueReader& in, RowValue& value) noexcept {
  const char* const begin = in.at();
  TableHead head;
  if (!in.table(head) || head.items + head.pairs == 0) return false;
  for (uint64_t left = head.items + uint64_t{2} * head.pairs; left > 0; --left) {
    RowValue inner;
    if (!read_plain(in, inner)) return false;
  }
  value = RowValue();
  value.tag = static_cast<uint32_t>(RowTag::value);
  value.bytes = begin;
  value.size = static_cast<size_t>(in.at() - begin);
  return true;
}

}  // namespace

bool split_pair(const RowValue& table, RowValue& first, RowValue& second) noexcept {
  if (table.kind() != RowTag::value) return false;
  ValueReader in(table.text());
  TableHead head;
  if (!in.table(head) || head.tag != value_tag::kItems || head.items != 2) return false;
  RowValue a;
  if (!(value_tag::is_table(in.tag()) ? read_flat(in, a) : read_plain(in, a)) || in.left() == 0 ||
      in.tag() == value_tag::kTensor)
    return false;
  ValueReader rest = in;
  RowValue b;
  if (!read_plain(rest, b)) {
    b = RowValue();
    b.tag = static_cast<uint32_t>(RowTag::value);
    b.bytes = in.at();
    b.size = in.left();
  } else if (rest.left() != 0) {
    return false;
  }
  first = a;
  second = b;
  return true;
}

Error no_pair(const RowValue& row) {
  return {Code::bad_argument,
          "a pair is needed here (a function that returns two values, or {key, value}), not " + describe(row)};
}

std::unique_ptr<RowSource> pairs_of(std::unique_ptr<RowSource> rows) {
  if (rows->only_pairs()) return rows;
  return std::make_unique<Pairs>(std::move(rows));
}

std::unique_ptr<RowSource> keys_of(std::unique_ptr<RowSource> rows) {
  return std::make_unique<KeysOrValues>(std::move(rows), false);
}

std::unique_ptr<RowSource> values_of(std::unique_ptr<RowSource> rows) {
  return std::make_unique<KeysOrValues>(std::move(rows), true);
}

}  // namespace actorhost
