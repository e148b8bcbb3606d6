#pragma once
// Rows as pairs: keyed operations treat a row of one table with two elements as a pair. The elements are read from the
// table's encoding (PROTOCOL.md, values), without Lua. Owned and used by the task's thread.

#include <memory>

#include "host/mapreduce/rows/stream.hpp"

namespace actorhost {

/// Splits an encoded table {a, b} into two views. Returns false unless the value is such a table and `a` is a plain
/// value.
bool split_pair(const RowValue& table, RowValue& first, RowValue& second) noexcept;

/// Code::bad_argument: reports that a pair is needed.
Error no_pair(const RowValue& row);

/// Rows as pairs; Code::bad_argument for any other row.
std::unique_ptr<RowSource> pairs_of(std::unique_ptr<RowSource> rows);
/// The keys of pairs.
std::unique_ptr<RowSource> keys_of(std::unique_ptr<RowSource> rows);
/// The values of pairs.
std::unique_ptr<RowSource> values_of(std::unique_ptr<RowSource> rows);

}  // namespace actorhost
