#pragma once
// Operations on rows that need no Lua: what stdlib/actor/mapreduce/natives.lua names. Each takes the stream before it.

#include <memory>

#include "host/mapreduce/files/text_input.hpp"
#include "host/mapreduce/rows/stream.hpp"

namespace actorhost {

/// The words of texts, cut at white space as C's isspace has it. A file's lines are not even looked for: no word goes
/// over a line's end. Code::bad_argument for a row that is no text.
std::unique_ptr<RowSource> words_of(std::unique_ptr<RowSource> rows);

enum class LetterCase : uint8_t { lower, upper };
/// Texts in one case, letters of ASCII only.
std::unique_ptr<RowSource> in_case(std::unique_ptr<RowSource> rows, LetterCase letters);

/// Texts as the numbers that Lua's tonumber makes of them: decimal, hexadecimal, "inf", "nan", with white space around;
/// numbers as they are. Code::bad_argument for a row that is none, and for a pair.
std::unique_ptr<RowSource> as_numbers(std::unique_ptr<RowSource> rows);

/// A pair of each row and the number 1.
std::unique_ptr<RowSource> with_one(std::unique_ptr<RowSource> rows);

}  // namespace actorhost
