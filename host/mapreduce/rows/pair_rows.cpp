#include "host/mapreduce/rows/pair_rows.hpp"

#include <cstring>
#include <string>
#include <string_view>

#include "host/mapreduce/rows/key.hpp"

namespace actorhost {

namespace {

// The bytes of values, as bindings/vm/lua_codec.cpp and LuaJIT's string.buffer write them.
constexpr char kNil = 0x00;
constexpr char kFalse = 0x01;
constexpr char kTrue = 0x02;
constexpr char kInteger = 0x06;
constexpr char kDouble = 0x07;
constexpr char kArray = 0x0c;        // without other keys
constexpr char kTensor = 0x12;       // refers to a tensor beside the bytes
constexpr unsigned kFirstText = 32;  // a text of so many bytes less than its tag

RowValue plain(RowTag tag) {
  RowValue value;
  value.tag = static_cast<uint32_t>(tag);
  value.number = tag == RowTag::yes ? 1 : 0;
  return value;
}

template <typename Number>
bool take_number(std::string_view& bytes, RowValue& value) {
  Number number{};
  if (bytes.size() < 1 + sizeof number) return false;
  std::memcpy(&number, bytes.data() + 1, sizeof number);
  value = plain(RowTag::number);
  value.number = static_cast<double>(number);
  bytes.remove_prefix(1 + sizeof number);
  return true;
}

/// Takes a length as string.buffer writes it, in one, two or five bytes.
bool take_length(std::string_view& bytes, uint64_t& length) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (at(0) < 0xe0) {
    length = at(0);
    bytes.remove_prefix(1);
  } else if (at(0) < 0xff) {
    if (bytes.size() < 2) return false;
    length = ((at(0) & 0x1fU) << 8) + at(1) + 0xe0U;
    bytes.remove_prefix(2);
  } else {
    uint32_t word = 0;
    if (bytes.size() < 1 + sizeof word) return false;
    std::memcpy(&word, bytes.data() + 1, sizeof word);
    length = word;
    bytes.remove_prefix(1 + sizeof word);
  }
  return true;
}

/// Takes a value that is not a table from the front of `bytes`.
bool take_plain(std::string_view& bytes, RowValue& value) {
  if (bytes.empty()) return false;
  switch (bytes.front()) {
    case kNil: value = plain(RowTag::nil); break;
    case kFalse: value = plain(RowTag::no); break;
    case kTrue: value = plain(RowTag::yes); break;
    case kInteger: return take_number<int32_t>(bytes, value);
    case kDouble: return take_number<double>(bytes, value);
    default: {
      uint64_t length = 0;
      if (!take_length(bytes, length) || length < kFirstText || length - kFirstText > bytes.size()) return false;
      value = plain(RowTag::text);
      value.bytes = bytes.data();
      value.size = length - kFirstText;
      bytes.remove_prefix(value.size);
      return true;
    }
  }
  bytes.remove_prefix(1);
  return true;
}

class Pairs : public RowSource {
 public:
  explicit Pairs(std::unique_ptr<RowSource> rows) : rows_(std::move(rows)) {}
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
  uint64_t bytes_read() const noexcept override { return rows_->bytes_read(); }

 private:
  std::unique_ptr<RowSource> rows_;
};

/// One side of pairs.
class Side final : public Pairs {
 public:
  Side(std::unique_ptr<RowSource> rows, bool second) : Pairs(std::move(rows)), second_(second) {}
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

}  // namespace

bool split_pair(const RowValue& table, RowValue& first, RowValue& second) noexcept {
  if (table.kind() != RowTag::value) return false;
  std::string_view bytes = table.text();
  if (bytes.size() < 2 || bytes[0] != kArray || bytes[1] != 3) return false;  // its slot 0 counts
  bytes.remove_prefix(2);
  RowValue a;
  if (!take_plain(bytes, a) || bytes.empty() || bytes.front() == kTensor) return false;
  std::string_view rest = bytes;
  RowValue b;
  if (!take_plain(rest, b)) {
    b = plain(RowTag::value);
    b.bytes = bytes.data();
    b.size = bytes.size();
  } else if (!rest.empty()) {
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
  return std::make_unique<Side>(std::move(rows), false);
}

std::unique_ptr<RowSource> values_of(std::unique_ptr<RowSource> rows) {
  return std::make_unique<Side>(std::move(rows), true);
}

}  // namespace actorhost
