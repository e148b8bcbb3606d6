#pragma once
// Rows as pairs: a row that is one table of two elements counts as a pair in keyed operations. What is in such a table
// is read from its encoding (PROTOCOL.md, values), without Lua. Owned and used by the task's thread.

#include <memory>

#include "host/mapreduce/rows/stream.hpp"

namespace actorhost {

/// The two elements of an encoded table {a, b}, of which the first is a plain value, as views into it. False for
/// everything else.
bool split_pair(const RowValue& table, RowValue& first, RowValue& second) noexcept;

/// Code::bad_argument that says that a pair is needed.
Error no_pair(const RowValue& row);

/// Rows as pairs; Code::bad_argument for one that is none.
std::unique_ptr<RowSource> pairs_of(std::unique_ptr<RowSource> rows);
/// Of pairs, the keys.
std::unique_ptr<RowSource> keys_of(std::unique_ptr<RowSource> rows);
/// Of pairs, the values.
std::unique_ptr<RowSource> values_of(std::unique_ptr<RowSource> rows);

}  // namespace actorhost
