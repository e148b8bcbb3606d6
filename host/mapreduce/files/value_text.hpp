#pragma once
// Writes values of rows as text: in lines, in CSV fields, in JSON. Tables are read in the codec's encoding
// (host/wire/value_bytes.hpp), without Lua. Pure functions, thread-safe. Code::bad_data for malformed bytes.
// Code::unsupported for values without a text form: tensors, and in JSON infinities, NaN and bytes that are not UTF-8.
//
// A number is written in the shortest form that reads back as the same number; a whole number below 1e15 has no point.
// In JSON a table with the keys 1..n is an array; every other table is an object with its keys in order.

#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/mapreduce/rows/row.hpp"

namespace actorhost {

/// The readable form: texts unchanged, tables as JSON.
Status append_text(std::string& out, const RowValue& value);

Status append_json(std::string& out, const RowValue& value);

/// Appends fields of RFC 4180, quoted where necessary. Each field follows a `separator`, except the first field of the
/// line (`first` is true before that field). nil is an empty field. With `spread` each element of an array is a field.
Status append_csv(std::string& out, const RowValue& value, char separator, bool& first, bool spread);

/// Whether a value is a table with keys.
bool is_record(const RowValue& value);
/// Appends such a table as a line without its end: the fields of `names`, in that order. Code::bad_argument for a table
/// with another key.
Status append_csv_record(std::string& out, const RowValue& value, char separator,
                         const std::vector<std::string>& names);
/// The header line with the names.
std::string csv_header(const std::vector<std::string>& names, char separator);

}  // namespace actorhost
