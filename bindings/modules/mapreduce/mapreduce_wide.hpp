#pragma once
// The functions of the FFI table "mapreduce" for wide operations; documented in ffi_mapreduce.h.

#include "bindings/modules/mapreduce/mapreduce_api.hpp"

namespace actorhost::mapreduce_wide {

ah_mr_source* needed_of(uint32_t k, uint32_t bucket);
ah_mr_sink* keyed(uint32_t buckets);
ah_mr_sink* placed(uint32_t buckets);
int32_t into(ah_mr_sink* sink, uint32_t bucket);
ah_mr_sink* sampled(uint32_t most);
int32_t splitters(ah_mr_source* samples, ah_mr_sink* to, uint32_t ranges, uint32_t descending);
ah_mr_sink* ranges(ah_mr_source* splitters, uint32_t descending);
int32_t put_under(ah_mr_sink* sink, const ah_mr_value* key, const ah_mr_row* row);
ah_mr_sink* sorter(uint32_t order, uint32_t rows, uint32_t parts);
ah_mr_source* sorted(ah_mr_sink* sorter);
ah_mr_source* groups(ah_mr_sink** sorters, uint32_t count);
ah_mr_source* set_of(ah_mr_sink* first, ah_mr_sink* second, uint32_t operation);

}  // namespace actorhost::mapreduce_wide
