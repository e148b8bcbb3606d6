#pragma once
// Reads labelled rows in LIBSVM's text format, plain or compressed, into a dense or a sparse matrix. Only one piece of
// the text at a time is in memory.
//
//   line = label { index ":" value } [ "#" comment ]
//
// The indices of a line increase. "qid:N", empty lines, and a byte order mark at the front are skipped. Free functions;
// thread-safe; they block on the disk.

#include <cstddef>
#include <filesystem>

#include "host/base/result.hpp"
#include "host/data/content/npy.hpp"
#include "host/data/file/file_reader.hpp"

namespace actorhost {

struct LibsvmOptions {
  size_t features = 0;                  // columns of the matrix; 0 takes the largest index of the file
  bool zero_based = false;              // the first index is 0 instead of 1
  bool sparse = false;                  // a sparse matrix: only the values of the file
  Dtype dtype = Dtype::f32;             // float32 or float64
  size_t max_bytes = size_t{16} << 30;  // limit of the memory: one large index makes a dense matrix huge
  ReadOptions read = {};
};

struct LibsvmData {
  size_t rows = 0;
  size_t width = 0;  // columns
  Tensor features;   // dense: {rows, width}; sparse: the values {cells} of all rows, one row after another
  Tensor labels;     // {rows}
  Tensor columns;    // only sparse: int64 {cells}, the column of each value, from 1, increasing within a row
  Tensor starts;     // only sparse: int64 {rows + 1}; row r has the values starts[r] .. starts[r + 1] - 1, from 1
};

/// Code::bad_data names the file, the line, the column (in bytes, from 1) and the wrong text. A number that the element
/// type cannot hold is such an error too (text_number.hpp).
Result<LibsvmData> read_libsvm(const std::filesystem::path& path, const LibsvmOptions& options = {});

}  // namespace actorhost
