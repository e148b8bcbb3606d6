#pragma once
// Rows from CSV (RFC 4180, or with another separator). A record is an array of its fields, or a table by column
// name. A quoted field may span several lines. A file read in parts is cut at line ends. Lines end in LF or
// CRLF; a CR elsewhere, outside of quotes, is an error. Quotes that span the end of a part are an error, never other
// rows: the task of the part before the cut detects them.
//
// The value of a field, unless its column's kind decides otherwise (`any`):
//
//   in quotes                                a text
//   empty, or a text of `na`                 `missing`, or nil, which a table does not hold
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
  std::vector<std::string> names;                      // the columns' names, replacing the header's
  CsvKind kind = CsvKind::any;                         // of columns that `kinds` does not name
  std::vector<std::pair<std::string, CsvKind>> kinds;  // by name; by number, from 1, where columns have no names
  std::string missing;                                 // an encoded value (host/wire/value_bytes.hpp); empty: nil
  std::vector<std::string> na;                         // unquoted fields with these texts count as empty
  bool whole = false;                                  // files are not cut: a part is a whole file
};

/// Whether an unquoted field would be read as a value other than a text, so that a text must be quoted.
bool is_csv_value(std::string_view field);

/// Reads the rows of a part of a file that begins at byte `from`, or of a whole text (0). For later parts, `start`
/// opens the file at its front: the first record gives the number and the names of the fields. Errors name the file and
/// the line: a record with more or fewer fields (except an empty field at its end), an unfinished record, and a field
/// not of its column's kind.
Result<std::unique_ptr<RowSource>> csv_rows(std::unique_ptr<TextInput> input, std::string name, const CsvFormat& format,
                                            std::unique_ptr<TextInput> start, SkipRow skip);

}  // namespace actorhost
