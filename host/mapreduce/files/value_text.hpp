#pragma once
// Values of rows as text: in lines, in CSV fields, in JSON. Tables are read as the codec writes them
// (host/wire/value_bytes.hpp), without Lua. Pure functions, any thread; Code::bad_data for bytes that are no value,
// Code::unsupported for what has no text: tensors, and in JSON infinities, NaN and bytes that are not UTF-8.
//
// Numbers are written in the shortest way that reads back as the same number, whole ones below 1e15 without a point. In
// JSON a table with the keys 1..n is an array, every other one an object with its keys in order.

#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/mapreduce/rows/row.hpp"

namespace actorhost {

/// As people read it: texts as they are, tables as JSON.
Status append_text(std::string& out, const RowValue& value);

Status append_json(std::string& out, const RowValue& value);

/// As fields of RFC 4180, each with `separator` before it but for the line's first (`first` says whether that is still
/// to come): quoted where it has to be. nil is an empty one; with `spread` an array is as many as it has elements.
Status append_csv(std::string& out, const RowValue& value, char separator, bool& first, bool spread);

/// Whether a value is a table with keys.
bool is_record(const RowValue& value);
/// Such a table as a line, without its end: the fields of `names`, in that order. Code::bad_argument for one that has
/// another key.
Status append_csv_record(std::string& out, const RowValue& value, char separator,
                         const std::vector<std::string>& names);
/// The line of names that a file begins with.
std::string csv_header(const std::vector<std::string>& names, char separator);

}  // namespace actorhost
