#pragma once
// Tables of numbers in text, plain or compressed: one row a line, as many numbers in each.
//
//   csv   = [ byte order mark ] { skipped line } [ header ] { row }
//                                                     lines end in LF or CRLF; lines without a field are skipped
//   row   = field { delimiter field } [ delimiter ] [ comment ]
//   field = number | '"' text '"'                     blanks around it are skipped
//
// Quoted text may hold delimiters and ends of lines; a quote within is written twice (RFC 4180). With ' ' as the
// delimiter fields are separated by any run of blanks and tabs. Any thread; calls block on the disk.

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/base/result.hpp"
#include "host/data/file_reader.hpp"
#include "host/data/npy.hpp"

namespace actorhost {

/// By number, from 1, or by its name in the header.
using CsvColumn = std::variant<size_t, std::string>;

struct CsvOptions {
  char delimiter = ',';
  bool header = false;                  // the first line holds names
  std::optional<double> missing = {};   // value of empty fields; without it they are errors
  size_t skip = 0;                      // lines before the header or the first row, whatever is in them
  char comment = '\0';                  // what begins with it, outside of quotes, is skipped up to the end of its line
  std::vector<CsvColumn> columns = {};  // those that are read, in this order; none: all. The others may hold any text
  Dtype dtype = Dtype::f32;             // float32 or float64
  ReadOptions read = {};
};

struct CsvTable {
  std::vector<std::string> names;  // of the columns that were read; empty without a header
  Tensor values;                   // {rows, columns}
};

/// Code::bad_data names file, line, column (1-based, in fields) and the text that is no number, or not one that the
/// element type can hold (text_number.hpp).
Result<CsvTable> read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

}  // namespace actorhost
