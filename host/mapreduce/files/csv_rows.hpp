#pragma once
// Rows from CSV (RFC 4180, or with another separator): an array of its fields for each record, or with names of columns
// a table by name. A record may go over lines within quotes. A file that is read in parts is cut at line ends, so
// quotes must not go over a part's end; that is an error, never other rows, since of two parts that meet the first one
// sees it.
//
// A field is, unless its column's kind says otherwise (`any`): in quotes a text; empty `missing`, or nil, which a table
// has not; `true` and `false` (also True, TRUE, ...) a boolean; `nan`, `NaN`, `inf`, `Inf` and what is a number as a
// whole, with blanks around it, a number, but for one whose digits a double does not hold, such as a long id; else a
// text.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/mapreduce/files/text_blocks.hpp"

namespace actorhost {

enum class CsvKind : uint8_t { any, text, number, boolean };

struct CsvFormat {
  char separator = ',';
  bool header = false;                                 // the first record has the columns' names
  std::vector<std::string> names;                      // given for the columns, instead of the header's if there is one
  CsvKind kind = CsvKind::any;                         // of columns that are not in `kinds`
  std::vector<std::pair<std::string, CsvKind>> kinds;  // by name; by number, from 1, where columns have no names
  std::string missing;                                 // an encoded value (value_writer.hpp); nil without
  bool whole = false;                                  // files are not cut: a part is a whole one
};

/// Whether a field without quotes is something else than a text: what has to be quoted to stay one.
bool is_csv_value(std::string_view field);

/// The rows of a part of a file that begins at byte `from`, or of a whole text (0). `start` opens the file from its
/// front, for parts behind it: its first record says how many fields there are, and which. A record with more or fewer
/// fields (but for an empty one at its end), one that does not end, and a field that is not of its column's kind are
/// errors that name the file and the line.
Result<std::unique_ptr<RowSource>> csv_rows(std::unique_ptr<TextInput> input, std::string name, const CsvFormat& format,
                                            std::unique_ptr<TextInput> start, SkipRow skip);

}  // namespace actorhost
