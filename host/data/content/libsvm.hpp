#pragma once
// Sparse labelled rows in LIBSVM's text format, plain or compressed, read into a dense or a sparse matrix. The text is
// read in pieces.
//
//   line = label { index ":" value } [ "#" comment ]     indices increase; skipped: "qid:N", empty lines and a byte
//                                                        order mark at the front
//
// Any thread; calls block on the disk.

#include <cstddef>
#include <filesystem>

#include "host/base/result.hpp"
#include "host/data/content/npy.hpp"
#include "host/data/file/file_reader.hpp"

namespace actorhost {

struct LibsvmOptions {
  size_t features = 0;                  // columns of the matrix; 0 takes the largest index of the file
  bool zero_based = false;              // the first index is 0 instead of 1
  bool sparse = false;                  // only the values of the file, no dense matrix
  Dtype dtype = Dtype::f32;             // float32 or float64
  size_t max_bytes = size_t{16} << 30;  // of all data in memory at once: one large index makes a huge matrix
  ReadOptions read = {};
};

struct LibsvmData {
  size_t rows = 0;
  size_t width = 0;  // columns
  Tensor features;   // {rows, width}; with `sparse` the values {cells} of all rows, one row after another
  Tensor labels;     // {rows}
  Tensor columns;    // sparse: int64 {cells}, the column of each value from 1, increasing within a row
  Tensor starts;     // sparse: int64 {rows + 1}, row r has the values starts[r] .. starts[r + 1] - 1, from 1
};

/// Code::bad_data names file, line, column (1-based, in characters) and the wrong text, also for a number that the
/// element type cannot hold (text_number.hpp).
Result<LibsvmData> read_libsvm(const std::filesystem::path& path, const LibsvmOptions& options = {});

}  // namespace actorhost
