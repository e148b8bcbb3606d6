#include "host/mapreduce/tasks/task_sinks.hpp"

#include <atomic>
#include <utility>

#include "host/mapreduce/rows/key.hpp"
#include "host/mapreduce/rows/value_hash.hpp"

namespace actorhost {

namespace {

constexpr StageId kScratchStage = 0xffffffffU;  // no plan has a stage of this number

}  // namespace

Status BucketSink::put(const RowValue& first, const RowValue* second) {
  const size_t size = written_size(first) + (second != nullptr ? written_size(*second) : 0);
  uint32_t bucket = 0;
  if (blocks_.buckets() > 1) {
    bucket = bucket_of(is_key(first) ? key_hash(first) : value_hash({first.bytes, first.size}), blocks_.buckets());
  }
  char* at = blocks_.room(bucket, size);
  if (at == nullptr) return blocks_.status();
  at = write_value(at, first, second != nullptr);
  if (second != nullptr) write_value(at, *second, false);
  blocks_.added(bucket, size);
  return {};
}

Status TaskSink::pour(RowSource& source, RowBatch& batch, uint64_t& rows) {
  auto* blocks = takes_blocks() ? dynamic_cast<BlockSource*>(&source) : nullptr;
  while (blocks != nullptr) {
    RowBlock block;
    AH_TRY(blocks->next_block(block));
    if (block.rows == 0) return {};
    rows += block.rows;
    AH_TRY(put_block(std::move(block)));
  }
  for (;;) {
    AH_TRY(source.next(batch));
    if (batch.count == 0) return {};
    rows += batch.count;
    AH_TRY(put(batch));
  }
}

Status CombineSink::put(const RowValue& first, const RowValue* second) {
  if (rows_) {
    key_bytes_.clear();
    RowWriter writer(key_bytes_);
    writer.value(first, second != nullptr);
    if (second != nullptr) writer.value(*second);
    return table_.add_rows(key_bytes_) ? Status() : table_.status();
  }
  if (!numbers_) return Error{Code::bad_argument, "rows of this table are combined by the caller"};
  if (second == nullptr || second->kind() != RowTag::number) {
    return Error{Code::bad_argument, "the value " + (second != nullptr ? describe(*second) : "nil") + " of key " +
                                         describe(first) + " is no number"};
  }
  return table_.add(first, second->number) ? Status() : table_.status();
}

size_t CombineSink::take(const RowValue& key) {
  keys_[taken_] = key;
  offsets_[taken_] = key_bytes_.size();
  if (is_bytes(key.kind())) key_bytes_.append(key.bytes, key.size);
  return ++taken_;
}

CombineSlot** CombineSink::locate() {
  for (size_t i = 0; i < taken_; ++i) {  // the bytes do not move any more
    if (is_bytes(keys_[i].kind())) keys_[i].bytes = key_bytes_.data() + offsets_[i];
  }
  const size_t count = std::exchange(taken_, 0);
  const bool found = table_.find_batch(keys_.data(), count, slots_.data());
  key_bytes_.clear();
  return found ? slots_.data() : nullptr;
}

// ---- rows put aside ----

class ScratchRows::Source final : public BlockSource {
 public:
  explicit Source(std::unique_ptr<ScratchRows> rows)
      : rows_(std::move(rows)), blocks_(rows_->store_.blocks(rows_->id_).value_or(0)) {}
  Status next_block(RowBlock& block) override {
    block = {};
    if (at_ == blocks_) return {};
    AH_LET(block, rows_->store_.block(rows_->id_, at_++));
    return {};
  }

 private:
  std::unique_ptr<ScratchRows> rows_;
  size_t blocks_;
  size_t at_ = 0;
};

ScratchRows::ScratchRows(BlockStore& store) : store_(store) {
  static std::atomic<uint32_t> made{0};
  id_ = {kScratchStage, made++, 0};
  attempt_.emplace(store_.begin(id_.stage, id_.task, 1));
}

ScratchRows::~ScratchRows() {
  attempt_.reset();
  store_.forget(id_.stage, id_.task);
}

BlockSink ScratchRows::sink() {
  return [this](uint32_t bucket, RowBlock block) { return attempt_->append(bucket, std::move(block)); };
}

std::unique_ptr<RowSource> ScratchRows::read(std::unique_ptr<ScratchRows> rows) {
  rows->attempt_->commit();
  rows->attempt_.reset();
  return std::make_unique<Source>(std::move(rows));
}

}  // namespace actorhost
