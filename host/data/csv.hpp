#pragma once
// Tables of numbers in text, plain or compressed: one row a line, as many numbers in each.
//
//   csv  = [ header ] { row }          lines end in LF or CRLF; empty lines are skipped
//   row  = field { delimiter field }   field = [ '"' ] number [ '"' ], blanks around it are skipped
//
// With ' ' as the delimiter fields are separated by any run of blanks and tabs. Any thread; calls block on the disk.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/data/file_reader.hpp"
#include "host/data/matrix.hpp"

namespace actorhost {

struct CsvOptions {
  char delimiter = ',';
  bool header = false;                // the first line holds names
  std::optional<float> missing = {};  // value of empty fields; without it they are errors
  ReadOptions read = {};
};

struct CsvTable {
  std::vector<std::string> names;  // empty without a header
  FloatMatrix values;
};

/// Code::bad_data names file, line, column (1-based, in fields) and the text that is no number.
Result<CsvTable> read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

}  // namespace actorhost
