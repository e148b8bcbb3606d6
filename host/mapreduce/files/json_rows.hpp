#pragma once
// Rows from JSON lines (RFC 8259, a value in each line). Arrays and objects are tables, null inside them is nil, and a
// whole number beyond the precision of a double is a 64-bit integer. Blank lines are skipped. Errors name the file and
// the line: malformed or truncated JSON, a duplicate key, null as a whole row, and nesting deeper than 64.

#include <memory>
#include <string>

#include "host/mapreduce/files/text_blocks.hpp"

namespace actorhost {

std::unique_ptr<RowSource> json_rows(std::unique_ptr<TextInput> input, std::string name, SkipRow skip);

}  // namespace actorhost
