#pragma once
// Sparse labelled rows in LIBSVM's text format, plain or compressed, read into a dense matrix or kept sparse. The text
// is read piece by piece.
//
//   line = label { index ":" value } [ "#" comment ]     indices rise; "qid:N" is skipped; empty lines and a byte
//                                                        order mark at the front too
//
// Any thread; calls block on the disk.

#include <cstddef>
#include <filesystem>

#include "host/base/result.hpp"
#include "host/data/file_reader.hpp"
#include "host/data/npy.hpp"

namespace actorhost {

struct LibsvmOptions {
  size_t features = 0;                  // columns of the matrix; 0 takes the largest index that occurs
  bool zero_based = false;              // the first index is 0 instead of 1
  bool sparse = false;                  // only what the file has, no dense matrix
  Dtype dtype = Dtype::f32;             // float32 or float64
  size_t max_bytes = size_t{16} << 30;  // of all that is kept at once: one large index makes a huge matrix
  ReadOptions read = {};
};

struct LibsvmData {
  size_t rows = 0;
  size_t width = 0;  // columns
  Tensor features;   // {rows, width}, or with `sparse` the values {cells} of all rows one after the other
  Tensor labels;     // {rows}
  Tensor columns;    // sparse: int64 {cells}, the column of each value from 1, rising within a row
  Tensor starts;     // sparse: int64 {rows + 1}, row r has the values starts[r] .. starts[r + 1] - 1, from 1
};

/// Code::bad_data names file, line, column (1-based, in characters) and the text that is wrong; a number that the
/// element type cannot hold is (text_number.hpp).
Result<LibsvmData> read_libsvm(const std::filesystem::path& path, const LibsvmOptions& options = {});

}  // namespace actorhost
