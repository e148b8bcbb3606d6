#include "host/mapreduce/rows/stream.hpp"

namespace actorhost {

Status BlockSource::next(RowBatch& batch) {
  batch.count = 0;
  RowReader::Row row;
  for (;;) {
    while (batch.count < kBatchRows && reader_.next(row)) batch.add(row);
    if (batch.count > 0) return {};
    if (!reader_.ok()) return Error{Code::bad_data, "a block of rows is damaged"};
    AH_TRY(next_block(block_));
    if (block_.rows == 0) return {};
    reader_ = RowReader(block_.bytes.view());
  }
}

}  // namespace actorhost
