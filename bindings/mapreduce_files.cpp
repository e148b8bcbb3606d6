#include "bindings/mapreduce_files.hpp"

#include <string>

#include "bindings/lua_support.hpp"
#include "host/mapreduce/file_sink.hpp"

namespace actorhost::mapreduce_files {

namespace {

void set_text(lua_State* L, const char* name, const std::string& text) {
  lua_pushlstring(L, text.data(), text.size());
  lua_setfield(L, -2, name);
}

void set_number(lua_State* L, const char* name, uint64_t number) {
  lua_pushnumber(L, static_cast<lua_Number>(number));
  lua_setfield(L, -2, name);
}

std::string text_field(lua_State* L, int table, const char* name) {
  lua_getfield(L, table, name);
  size_t size = 0;
  const char* text = lua_tolstring(L, -1, &size);
  std::string value(text != nullptr ? text : "", size);
  lua_pop(L, 1);
  return value;
}

/// The table that begin_save gave.
SaveFolder folder_at(lua_State* L, int index) {
  check_table(L, index, "save", "commit_save");
  lua_getfield(L, index, "overwrite");
  const bool overwrite = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  return {text_field(L, index, "target"), text_field(L, index, "staging"), text_field(L, index, "id"), overwrite};
}

}  // namespace

ah_mr_sink* part(const ah_mr_save* save, uint32_t part) {
  const SaveFolder folder{save->target, save->staging, save->id, save->overwrite != 0};
  FileOptions options;
  options.format = static_cast<RowFormat>(save->format);
  options.packing = packing_of_name(save->extension);
  options.separator = save->separator;
  options.header = save->header;
  auto sink = FileSink::open(folder, part, options);
  TaskStreams& streams = TaskStreams::of_thread();
  if (!sink) return streams.add(Result<std::unique_ptr<TaskSink>>(sink.error()));
  return streams.add(std::unique_ptr<TaskSink>(*std::move(sink)));
}

int32_t finish_part(ah_mr_sink* part, double* rows_and_bytes) {
  auto& sink = static_cast<FileSink&>(*part->rows);
  if (const Status status = sink.finish(); !status) {
    TaskStreams::of_thread().fail(status.error());
    return -1;
  }
  rows_and_bytes[0] = static_cast<double>(sink.rows());
  rows_and_bytes[1] = static_cast<double>(sink.bytes());
  return 0;
}

/// begin_save(path, overwrite) -> {target=, staging=, id=, overwrite=}; or nil, message
int begin_save(lua_State* L) {
  const std::string path(check_text(L, 1, "path", "begin_save"));
  const bool overwrite = lua_toboolean(L, 2) != 0;
  const auto folder = actorhost::begin_save(path, overwrite);
  if (!folder) return push_failure(L, folder.error());
  lua_createtable(L, 0, 4);
  set_text(L, "target", folder->target.string());
  set_text(L, "staging", folder->staging.string());
  set_text(L, "id", folder->id);
  lua_pushboolean(L, overwrite ? 1 : 0);
  lua_setfield(L, -2, "overwrite");
  return 1;
}

/// commit_save(save, files, rows, bytes) -> {files=, rows=, bytes=}; raises why it is not there
int commit_save(lua_State* L) {
  const SaveFolder folder = folder_at(L, 1);
  const auto whole = [L](int index) { return static_cast<uint64_t>(lua_tonumber(L, index)); };
  const auto figures = actorhost::commit_save(folder, {whole(2), whole(3), whole(4)});
  if (!figures) raise_error(L, figures.error());
  lua_createtable(L, 0, 3);
  set_number(L, "files", figures->files);
  set_number(L, "rows", figures->rows);
  set_number(L, "bytes", figures->bytes);
  return 1;
}

/// abandon_save(save): nothing of it is left
int abandon_save(lua_State* L) {
  actorhost::abandon_save(folder_at(L, 1));
  return 0;
}

}  // namespace actorhost::mapreduce_files
