#pragma once
// Operations on rows that need no Lua; stdlib/actor/mapreduce/natives.lua names them. Each reads the stream of the
// previous operation.

#include <memory>

#include "host/mapreduce/files/text_input.hpp"
#include "host/mapreduce/rows/stream.hpp"

namespace actorhost {

/// The words of texts, separated by white space as C's isspace defines it. For a file the lines are not cut first: no
/// word spans a line's end. Code::bad_argument for a row other than a text.
std::unique_ptr<RowSource> words_of(std::unique_ptr<RowSource> rows);

enum class LetterCase : uint8_t { lower, upper };
/// Texts in one case, letters of ASCII only.
std::unique_ptr<RowSource> in_case(std::unique_ptr<RowSource> rows, LetterCase letters);

/// Converts texts to numbers as Lua's tonumber does: decimal, hexadecimal, "inf", "nan", with white space around.
/// Numbers stay as they are. Code::bad_argument for other rows and for pairs.
std::unique_ptr<RowSource> as_numbers(std::unique_ptr<RowSource> rows);

/// A pair of each row and the number 1.
std::unique_ptr<RowSource> with_one(std::unique_ptr<RowSource> rows);

}  // namespace actorhost
