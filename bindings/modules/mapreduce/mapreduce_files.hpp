#pragma once
// Files of map-reduce for Lua: the file functions of the FFI table "mapreduce", documented in ffi_mapreduce.h, and the
// functions of actor.c.mapreduce that begin and end a save or a checkpoint, documented at their definitions.

#include "bindings/modules/mapreduce/mapreduce_api.hpp"

struct lua_State;

namespace actorhost::mapreduce_files {

ah_mr_source* split(const ah_mr_split* split);
ah_mr_sink* part(const ah_mr_save* save, uint32_t part);
int32_t finish_part(ah_mr_sink* part, ah_mr_part* out);
ah_mr_source* row_file(const char* folder, const char* id, uint32_t part);

int begin_save(lua_State* L);
int begin_checkpoint(lua_State* L);
int commit_save(lua_State* L);
int abandon_save(lua_State* L);

}  // namespace actorhost::mapreduce_files
