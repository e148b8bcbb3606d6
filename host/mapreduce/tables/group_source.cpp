#include "host/mapreduce/tables/group_source.hpp"

namespace actorhost {

void BatchCopy::begin() {
  bytes_.clear();
  flags_.clear();
}

void BatchCopy::fill(RowBatch& batch) const {
  RowReader reader(bytes_);
  RowReader::Row row;
  while (batch.count < flags_.size() && reader.next(row)) {
    batch.add(row);
    batch.pair[batch.count - 1] = static_cast<uint8_t>(batch.pair[batch.count - 1] | flags_[batch.count - 1]);
  }
}

bool GroupSource::next_row(RowReader::Row& row) {
  for (;;) {
    for (; input_ < count_; ++input_) {
      if (groups_.next_row(input_, row)) return true;
    }
    RowValue key;
    if (!groups_.next_key(key)) return false;
    input_ = 0;
    same_ = false;
  }
}

Status GroupSource::next(RowBatch& batch) {
  batch.count = 0;
  copy_.begin();
  RowReader::Row row;
  while (!copy_.full() && next_row(row)) {
    copy_.add(row.bytes(), static_cast<uint8_t>(input_ << kInputShift | (same_ ? kSameKey : 0)));
    same_ = true;
  }
  copy_.fill(batch);
  return groups_.status();
}

Status SetSource::next(RowBatch& batch) {
  batch.count = 0;
  copy_.begin();
  RowValue key;
  RowReader::Row row;
  while (!copy_.full() && groups_.next_key(key)) {
    const bool first = groups_.next_row(0, row);
    const bool second = groups_.next_row(1, row);
    if (first && second == (operation_ == SetOperation::intersection)) copy_.add(key.text(), 0);
  }
  copy_.fill(batch);
  return groups_.status();
}

}  // namespace actorhost
