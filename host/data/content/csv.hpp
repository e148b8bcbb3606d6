#pragma once
// Tables of numbers in text, plain or compressed: one row per line, the same number of fields in each row.
//
//   csv   = [ byte order mark ] { skipped line } [ header ] { row }
//                                                     lines end in LF or CRLF; lines without a field are skipped
//   row   = field { delimiter field } [ delimiter ] [ comment ]
//   field = number | '"' text '"'                     blanks around it are skipped
//
// Quoted text may hold delimiters and line ends; a quote in quoted text is doubled (RFC 4180). With the delimiter ' ',
// any run of blanks and tabs separates fields. Any thread; calls block on the disk.

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/base/result.hpp"
#include "host/data/content/npy.hpp"
#include "host/data/file/file_reader.hpp"

namespace actorhost {

/// A column by its number, from 1, or by its name in the header.
using CsvColumn = std::variant<size_t, std::string>;

struct CsvOptions {
  char delimiter = ',';
  bool header = false;                  // the first line holds names
  std::optional<double> missing = {};   // value of empty fields; without it an empty field is an error
  std::vector<std::string> na = {};     // fields with these texts have the value `missing`, or NaN without it
  size_t skip = 0;                      // lines to skip before the header or the first row, regardless of their content
  char comment = '\0';                  // starts a comment up to the line end, outside of quotes; '\0': none
  std::vector<CsvColumn> columns = {};  // columns to read, in this order; empty: all. Other columns may hold any text
  Dtype dtype = Dtype::f32;             // float32 or float64
  ReadOptions read = {};
};

struct CsvTable {
  std::vector<std::string> names;  // of the columns in `values`; empty without a header
  Tensor values;                   // {rows, columns}
};

/// Code::bad_data names file, line, column (1-based, in fields) and the text, if the text is not a number or the
/// element type cannot hold it (text_number.hpp).
Result<CsvTable> read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

}  // namespace actorhost
