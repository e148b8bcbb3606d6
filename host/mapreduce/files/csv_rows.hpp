#pragma once
// Rows from CSV (RFC 4180, or with another separator): an array of its fields for each record, or with names of columns
// a table by name. A record may go over several lines within quotes. A file that is read in parts is cut at line ends.
// Lines end in LF or CRLF; a CR elsewhere, outside of quotes, is an error.
// Quotes that go over the end of a part are an error, never other rows: the task of the part before the cut sees them.
//
// What a field becomes, unless its column's kind says otherwise (`any`):
//
//   in quotes                                a text
//   empty                                    `missing`, or nil, which a table does not hold
//   true, True, TRUE, false, ...             a boolean
//   nan, NaN, inf, Inf, or a number and      a number; but a text where a double does not hold its digits (a long id)
//   nothing else but blanks around it
//   anything else                            a text

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
  std::string missing;                                 // an encoded value (host/wire/value_bytes.hpp); nil without
  bool whole = false;                                  // files are not cut: a part is a whole one
};

/// Whether a field without quotes would be read as something other than a text, so that a text has to be quoted.
bool is_csv_value(std::string_view field);

/// The rows of a part of a file that begins at byte `from`, or of a whole text (0). `start` opens the file from its
/// front, for parts behind it: its first record says how many fields there are, and which. A record with more or fewer
/// fields (but for an empty one at its end), one that does not end, and a field that is not of its column's kind are
/// errors that name the file and the line.
Result<std::unique_ptr<RowSource>> csv_rows(std::unique_ptr<TextInput> input, std::string name, const CsvFormat& format,
                                            std::unique_ptr<TextInput> start, SkipRow skip);

}  // namespace actorhost
