#pragma once
// Rows from JSON lines (RFC 8259, a value in each line): arrays and objects are tables, null in them is nil, and a
// whole number that a double does not hold is a 64-bit integer. Blank lines are no rows. What is not JSON, ends too
// early, has a key twice, is null as a whole or is deeper than 64 is an error that names the file and the line.

#include <memory>
#include <string>

#include "host/mapreduce/files/text_blocks.hpp"

namespace actorhost {

std::unique_ptr<RowSource> json_rows(std::unique_ptr<TextInput> input, std::string name, SkipRow skip);

}  // namespace actorhost
