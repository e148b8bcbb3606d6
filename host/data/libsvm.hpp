#pragma once
// Sparse labelled rows in LIBSVM's text format, plain or compressed, read into a dense matrix.
//
//   line = label { index ":" value } [ "#" comment ]     indices rise; "qid:N" is skipped; empty lines too
//
// Any thread; calls block on the disk.

#include <cstddef>
#include <filesystem>
#include <vector>

#include "host/base/result.hpp"
#include "host/data/file_reader.hpp"
#include "host/data/matrix.hpp"

namespace actorhost {

struct LibsvmOptions {
  size_t features = 0;                  // columns of the matrix; 0 takes the largest index that occurs
  bool zero_based = false;              // the first index is 0 instead of 1
  size_t max_bytes = size_t{16} << 30;  // of the dense matrix: one large index would make it huge
  ReadOptions read = {};
};

struct LibsvmData {
  FloatMatrix features;
  FloatMatrix labels;  // n x 1
};

/// Code::bad_data names file, line, column (1-based, in characters) and the text that is wrong.
Result<LibsvmData> read_libsvm(const std::filesystem::path& path, const LibsvmOptions& options = {});

}  // namespace actorhost
