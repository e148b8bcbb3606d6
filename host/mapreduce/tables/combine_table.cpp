#include "host/mapreduce/tables/combine_table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "host/base/random.hpp"

namespace actorhost {

namespace {

/// Rows in the order of another table with the same salt cluster in one place of this table. A search longer than this
/// chooses a new salt, which spreads them.
constexpr size_t kLongSearch = 128;
constexpr int kSalts = 4;
/// The number of keys whose slots are prefetched together.
constexpr size_t kBatch = 32;

constexpr uint8_t tag_of(RowTag tag) { return static_cast<uint8_t>(tag); }

/// NaN is greater than all other numbers.
double least(double a, double b) { return b < a || a != a ? b : a; }
double greatest(double a, double b) { return b > a || b != b ? b : a; }

bool is_negative_zero(const RowValue& value) {
  return value.kind() == RowTag::number && value.number == 0 && std::signbit(value.number);
}

RowValue as_key(RowValue value) {
  if (value.kind() == RowTag::number) value.number = canonical(value.number);
  return value;
}

bool has_table(const RowValue& first, const RowValue* second) {
  return first.kind() == RowTag::value || (second != nullptr && second->kind() == RowTag::value);
}

const char* name_of(Combine combine) {
  switch (combine) {
    case Combine::sum: return "sum";
    case Combine::product: return "product";
    case Combine::min: return "min";
    case Combine::max: return "max";
    default: return "the combiner";
  }
}

}  // namespace

CombineTable::CombineTable(CombineOptions options)
    : options_(options), salt_(StepRng::mix(1) | 1), memory_(options.budget) {
  options_.memory = std::max(options_.memory, kLeastMemory);
  rehash(kFirstSlots);
}

bool CombineTable::fail(Error error) {
  status_ = std::move(error);
  return false;
}

bool CombineTable::make_key(const RowValue& value, Key& key) {
  if (value.kind() == RowTag::value) {
    turn_ = (turn_ + 1) % tuples_.size();
    const RowValue& tuple = tuples_[turn_](value);
    return tuple.kind() == RowTag::value ? fail(not_a_key(value)) : make_key(tuple, key);
  }
  if (!is_key(value)) return fail(not_a_key(value));
  if (is_bytes(value.kind()) && value.size > UINT32_MAX) {
    return fail({Code::bad_argument, "a key is longer than 4 GiB"});
  }
  if (value.kind() == RowTag::tuple) {
    key.set(value.text(), tag_of(RowTag::tuple), key_hash(value));
    return true;
  }
  if (value.kind() == RowTag::text) {
    key.set(value.text(), tag_of(RowTag::text), text_hash(value.text()));
    return true;
  }
  const RowValue canon = as_key(value);
  key.hash = key_hash(canon);
  key.tag = static_cast<uint8_t>(value.tag);
  key.size = value.kind() == RowTag::number ? 8 : 0;
  key.word = value.kind() == RowTag::number ? std::bit_cast<uint64_t>(canon.number) : 0;
  return true;
}

CombineSlot* CombineTable::locate(const Key& key, bool& fresh) {
  const size_t mask = slots_.count() - 1;
  size_t at = place(key.hash);
  for (size_t distance = 0;; ++distance, at = (at + 1) & mask) {
    CombineSlot& slot = slots_[at];
    if (slot.key_tag == 0) {
      fresh = true;
      return insert(key, at, distance);
    }
    if (slot.hash != key.hash || slot.key_size != key.size || slot.key_tag != key.tag) continue;
    if (key.size <= 8 ? slot.word == key.word : std::memcmp(slot.key, key.bytes, key.size) == 0) {
      fresh = false;
      return &slot;
    }
  }
}

CombineSlot* CombineTable::insert(const Key& key, size_t at, size_t distance) {
  const bool crowded = distance > kLongSearch && salts_ < kSalts;
  const bool full = full_ && !held_;
  if (entries_ >= grow_at_ || full || crowded) [[unlikely]] {
    if (crowded && entries_ < grow_at_ && !full) {
      ++salts_;
      salt_ = StepRng::mix(salt_) | 1;
      rehash(slots_.count());
    } else if (!make_room()) {
      return nullptr;
    }
    bool fresh = false;
    return locate(key, fresh);
  }
  CombineSlot& slot = slots_[at];
  slot.hash = key.hash;
  slot.key_size = key.size;
  slot.key_tag = key.tag;
  slot.tag = tag_of(RowTag::nil);
  slot.number = 0;
  if (key.size <= 8) {
    slot.word = key.word;
  } else {
    char* bytes = arena_.allocate(key.size);
    std::memcpy(bytes, key.bytes, key.size);
    slot.key = bytes;
    count_memory();
  }
  ++entries_;
  return &slot;
}

void CombineTable::count_memory() {
  if (memory_bytes() == memory_.bytes()) return;
  memory_.resize(memory_bytes());
  full_ = options_.spill != nullptr && memory_bytes() > options_.memory && entries_ > 0;
}

bool CombineTable::make_room() {
  if (!full_) {
    // Both arrays exist while entries move.
    const size_t needed = 3 * slots_.bytes() + arena_.bytes();
    if (options_.spill == nullptr || needed <= options_.memory) {
      salts_ = 0;
      rehash(2 * slots_.count());
      return true;
    }
  }
  return spill();
}

void CombineTable::rehash(size_t count) {
  SlotArray old = std::exchange(slots_, SlotArray(count));
  shift_ = 64 - std::countr_zero(count);
  grow_at_ = count / 8 * 5;
  for (size_t i = 0; i < old.count(); ++i) {
    if (old[i].key_tag == 0) continue;
    size_t at = place(old[i].hash);
    while (slots_[at].key_tag != 0) at = (at + 1) & (count - 1);
    slots_[at] = old[i];
  }
  memory_.resize(memory_bytes());
}

CombineSlot* CombineTable::find_or_insert(const RowValue& value, bool& fresh) {
  Key key;
  if (full_ && !spill()) return nullptr;
  if (!make_key(value, key)) return nullptr;
  return locate(key, fresh);
}

bool CombineTable::find_batch(const RowValue* keys, size_t count, CombineSlot** slots) {
  if (full_ && !spill()) return false;
  if (entries_ + count > grow_at_ && !make_room()) return false;  // so that no slot moves in the following loop
  std::array<Key, kMostKeys> made;
  for (size_t i = 0; i < count; ++i) {
    if (!make_key(keys[i], made[i])) return false;
    prefetch(made[i]);
  }
  held_ = true;
  const CombineSlot* where = nullptr;
  do {  // again, if a crowded place has moved all slots nevertheless
    where = slots_.data();
    bool fresh = false;
    for (size_t i = 0; i < count; ++i) slots[i] = locate(made[i], fresh);
  } while (where != slots_.data());
  held_ = false;
  return true;
}

RowValue CombineTable::key_of(const CombineSlot& slot) noexcept {
  RowValue value;
  value.tag = slot.key_tag;
  if (slot.key_tag >= tag_of(RowTag::text)) {
    value.bytes = slot.key_bytes();
    value.size = slot.key_size;
  } else if (slot.key_tag == tag_of(RowTag::number)) {
    value.number = std::bit_cast<double>(slot.word);
  } else {
    value.number = slot.key_tag == tag_of(RowTag::yes) ? 1 : 0;
  }
  return value;
}

RowValue CombineTable::value_of(const CombineSlot& slot) noexcept {
  RowValue value;
  value.tag = slot.tag;
  if (slot.value_is_bytes()) {
    value.bytes = slot.value;
    value.size = slot.value_size();
  } else {
    value.number = slot.number;
  }
  return value;
}

bool CombineTable::set_value(CombineSlot& slot, const RowValue& value) {
  const bool bytes = is_bytes(value.kind());
  CombineValueHead head;
  if (slot.value_is_bytes()) std::memcpy(&head, slot.value - sizeof head, sizeof head);
  if (!bytes) {
    if (slot.value_is_bytes()) garbage_ += sizeof head + head.capacity;
    slot.number = value.number;
    slot.tag = static_cast<uint8_t>(value.tag);
    return true;
  }
  if (value.size > UINT32_MAX) return fail({Code::bad_argument, "a value is longer than 4 GiB"});
  char* to = const_cast<char*>(slot.value);
  if (!slot.value_is_bytes() || head.capacity < value.size) {
    // A value that grows once will grow again, so it gets more room.
    const uint64_t room = slot.value_is_bytes() ? value.size + value.size / 2 : value.size;
    if (slot.value_is_bytes()) garbage_ += sizeof head + head.capacity;
    head.capacity = static_cast<uint32_t>(std::min<uint64_t>((room + 7) / 8 * 8, UINT32_MAX));
    to = arena_.allocate(sizeof head + head.capacity) + sizeof head;
  }
  head.size = static_cast<uint32_t>(value.size);
  std::memcpy(to - sizeof head, &head, sizeof head);
  if (value.size != 0) std::memmove(to, value.bytes, value.size);
  slot.value = to;
  slot.tag = static_cast<uint8_t>(value.tag);
  if (garbage_ > arena_.bytes() / 2 && garbage_ > Arena::kFirstChunk) compact();
  count_memory();
  return true;
}

void CombineTable::compact() {
  Arena live;
  for (size_t i = 0; i < slots_.count(); ++i) {
    CombineSlot& slot = slots_[i];
    if (slot.key_tag == 0) continue;
    if (slot.key_size > 8) {
      char* bytes = live.allocate(slot.key_size);
      std::memcpy(bytes, slot.key, slot.key_size);
      slot.key = bytes;
    }
    if (slot.value_is_bytes()) {
      CombineValueHead head;
      std::memcpy(&head, slot.value - sizeof head, sizeof head);
      head.capacity = (head.size + 7) / 8 * 8;
      char* bytes = live.allocate(sizeof head + head.capacity);
      std::memcpy(bytes, &head, sizeof head);
      std::memcpy(bytes + sizeof head, slot.value, head.size);
      slot.value = bytes + sizeof head;
    }
  }
  arena_ = std::move(live);
  garbage_ = 0;
}

double CombineTable::combined(double a, double b) const noexcept {
  switch (options_.combine) {
    case Combine::sum: return a + b;
    case Combine::product: return a * b;
    case Combine::min: return least(a, b);
    case Combine::max: return greatest(a, b);
    default: return a;
  }
}

template <typename Op>
bool CombineTable::combine(const Key* keys, const double* numbers, size_t count, Op op) {
  for (size_t i = 0; i < count; ++i) {
    bool fresh = false;
    CombineSlot* slot = locate(keys[i], fresh);
    if (slot == nullptr) [[unlikely]]
      return false;
    slot->number = fresh ? numbers[i] : op(slot->number, numbers[i]);
    slot->tag = tag_of(RowTag::number);
  }
  return true;
}

bool CombineTable::combine(const Key* keys, const double* numbers, size_t count) {
  for (size_t i = 0; i < count; ++i) prefetch(keys[i]);
  switch (options_.combine) {
    case Combine::sum: return combine(keys, numbers, count, [](double a, double b) { return a + b; });
    case Combine::product: return combine(keys, numbers, count, [](double a, double b) { return a * b; });
    case Combine::min: return combine(keys, numbers, count, [](double a, double b) { return least(a, b); });
    case Combine::max: return combine(keys, numbers, count, [](double a, double b) { return greatest(a, b); });
    default: return fail({Code::internal, "numbers were added to a table that does not combine numbers"});
  }
}

bool CombineTable::add_batch(const RowValue* values, const double* numbers, size_t count) {
  Key keys[kBatch];
  for (size_t done = 0; done < count;) {
    const size_t n = std::min(kBatch, count - done);
    for (size_t i = 0; i < n; ++i) {
      if (!make_key(values[done + i], keys[i])) return false;
    }
    if (!combine(keys, numbers + done, n)) return false;
    done += n;
  }
  return true;
}

bool CombineTable::add_first(const RowValue& key, const RowValue& value) {
  bool fresh = false;
  CombineSlot* slot = find_or_insert(key, fresh);
  return slot != nullptr && (!fresh || set_value(*slot, value));
}

/// Writes the row's comparable bytes into row_.
void CombineTable::write_comparable(const RowValue& first, const RowValue* second) {
  row_.clear();
  RowWriter(row_).value(as_key(first), second != nullptr);
  if (second != nullptr) RowWriter(row_).value(as_key(*second));
}

std::string_view CombineTable::comparable(const RowReader::Row& row) {
  if (!is_negative_zero(row.first) && !(row.pair && is_negative_zero(row.second))) return row.bytes();
  write_comparable(row.first, row.pair ? &row.second : nullptr);
  return row_;
}

bool CombineTable::add_whole(std::string_view row) {
  if (row.size() > UINT32_MAX) return fail({Code::bad_argument, "a row is longer than 4 GiB"});
  if (full_ && !spill()) return false;
  bool fresh = false;
  Key key;
  key.set(row, kRowKey, row_hash(row));
  return locate(key, fresh) != nullptr;
}

bool CombineTable::make_pair(const RowValue& first, const RowValue* second, Key& key, double& number) {
  if (!make_key(first, key)) return false;
  if (second == nullptr || second->kind() != RowTag::number) {
    return fail({Code::bad_argument, std::string(name_of(options_.combine)) + " needs numbers, not " +
                                         (second != nullptr ? describe(*second) : "rows without a value") +
                                         ", for the key " + describe(first)});
  }
  number = second->number;
  return true;
}

bool CombineTable::add_pairs(RowReader& reader) {
  Key keys[kBatch];
  double numbers[kBatch];
  RowReader::Row row;
  for (;;) {
    size_t n = 0;
    for (; n < kBatch && reader.next(row); ++n) {
      if (!make_pair(row.first, row.pair ? &row.second : nullptr, keys[n], numbers[n])) return false;
    }
    if (n == 0) return true;
    if (!combine(keys, numbers, n)) return false;
  }
}

bool CombineTable::script_cannot() {
  return fail({Code::internal, "rows were added to a table whose combiner is a script"});
}

bool CombineTable::add_rows(std::string_view rows) {
  RowReader reader(rows);
  RowReader::Row row;
  switch (options_.combine) {
    case Combine::script: return script_cannot();
    case Combine::first:
      while (reader.next(row)) {
        if (!add_first(row.first, row.pair ? row.second : RowValue{})) return false;
      }
      break;
    case Combine::row:
      while (reader.next(row)) {
        const RowValue* second = row.pair ? &row.second : nullptr;
        if (has_table(row.first, second)) return fail(check_comparable(row.first, second).error());
        if (!add_whole(comparable(row))) return false;
      }
      break;
    default:
      if (!add_pairs(reader)) return false;
  }
  return reader.ok() || fail({Code::bad_data, "a block of rows is broken"});
}

bool CombineTable::add_rows(const RowBatch& batch) {
  const auto second = [&](uint32_t i) { return batch.pair[i] != 0 ? &batch.second[i] : nullptr; };
  if (options_.combine == Combine::script) return script_cannot();
  if (numbers()) {
    Key keys[kBatch];
    double numbers[kBatch];
    for (uint32_t done = 0; done < batch.count;) {
      size_t n = 0;
      for (; n < kBatch && done < batch.count; ++n, ++done) {
        if (!make_pair(batch.first[done], second(done), keys[n], numbers[n])) return false;
      }
      if (!combine(keys, numbers, n)) return false;
    }
    return true;
  }
  for (uint32_t i = 0; i < batch.count; ++i) {
    const RowValue* value = second(i);
    if (options_.combine == Combine::first) {
      if (!add_first(batch.first[i], value != nullptr ? *value : RowValue{})) return false;
      continue;
    }
    if (has_table(batch.first[i], value)) return fail(check_comparable(batch.first[i], value).error());
    write_comparable(batch.first[i], value);
    if (!add_whole(row_)) return false;
  }
  return true;
}

}  // namespace actorhost
