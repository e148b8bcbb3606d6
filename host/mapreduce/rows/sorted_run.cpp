#include "host/mapreduce/rows/sorted_run.hpp"

#include <algorithm>

namespace actorhost {

RunSizes RunSizes::of(size_t memory) {
  // A merge holds one block of each run; a few dozen runs at once merge most data in one pass.
  const size_t block = std::clamp(memory / 64, size_t{4} << 10, kBlockBytes);
  return {block, std::max(memory / (2 * block), size_t{4})};
}

bool RunReader::next_block(RowReader::Row& row) {
  do {
    if (!status_.ok()) return false;
    if (!reader_.ok()) {
      status_ = Error{Code::bad_data, "spilled rows are broken"};
      return false;
    }
    if (run_.empty()) return false;
    auto block = run_.take();
    if (!block) {
      status_ = std::move(block).error();
      return false;
    }
    block_ = *std::move(block);
    reader_ = RowReader(block_.bytes.view());
  } while (!reader_.next(row));
  return true;
}

}  // namespace actorhost
