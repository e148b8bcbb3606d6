#include <algorithm>
#include <string>
#include <utility>

#include "bindings/modules/mapreduce/mapreduce_api.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/data/content/text_number.hpp"
#include "host/data/file/file_reader.hpp"
#include "host/data/file/files.hpp"
#include "host/data/file/url_source.hpp"
#include "host/mapreduce/files/checkpoint_folder.hpp"
#include "host/mapreduce/files/csv_rows.hpp"
#include "host/mapreduce/files/json_rows.hpp"
#include "host/mapreduce/files/text_input.hpp"
#include "host/mapreduce/tasks/row_file.hpp"

namespace actorhost::mapreduce_files {

SaveFolder save_at(lua_State* L, int index, const char* fn) {
  check_table(L, index, "save", fn);
  return {text_field(L, index, "target"),       text_field(L, index, "staging"),     text_field(L, index, "id"),
          boolean_field(L, index, "overwrite"), text_field(L, index, "fingerprint"), boolean_field(L, index, "resume")};
}

namespace {

void push_folder(lua_State* L, const SaveFolder& folder) {
  lua_createtable(L, 0, 8);
  set_field(L, "target", folder.target.string());
  set_field(L, "staging", folder.staging.string());
  set_field(L, "id", folder.id);
  set_field(L, "fingerprint", folder.fingerprint);
  set_field(L, "overwrite", folder.overwrite);
  set_field(L, "resume", folder.resume);
}

void set_figures(lua_State* L, const SaveFigures& figures) {
  set_field(L, "files", figures.files);
  set_field(L, "rows", figures.rows);
  set_field(L, "bytes", figures.bytes);
}

/// A source that ends without an error at the first unreadable row, and counts this row as skipped.
class SkippingSource final : public RowsThrough {
 public:
  SkippingSource(std::unique_ptr<RowSource> rows, TaskStreams& streams)
      : RowsThrough(std::move(rows)), streams_(streams) {}
  Status next(RowBatch& batch) override {
    batch.count = 0;
    if (ended_) return {};
    Status status = rows_->next(batch);
    if (status.ok() || !may_skip(status.error())) return status;
    streams_.skip(status.error());
    batch.count = 0;
    ended_ = true;
    return {};
  }

  static bool may_skip(const Error& error) { return error.code == Code::io || error.code == Code::bad_data; }

 private:
  TaskStreams& streams_;
  bool ended_ = false;
};

class EmptySource final : public RowSource {
 public:
  Status next(RowBatch& batch) override {
    batch.count = 0;
    return {};
  }
};

/// One pair: the path and the file's content.
class WholeFile final : public RowSource {
 public:
  WholeFile(std::string path, uint64_t most)
      : path_(std::move(path)), most_(most), remote_options_(actorhost::remote_options()) {}
  Status next(RowBatch& batch) override {
    batch.count = 0;
    if (std::exchange(read_, true)) return {};
    const RemoteOptions scope(remote_options_);
    auto content = read_file(path_, {most_});
    if (!content) return content.error();
    content_ = *std::move(content);
    const auto text = [](std::string_view bytes) {
      RowValue value;
      value.tag = static_cast<uint32_t>(RowTag::text);
      value.bytes = bytes.data();
      value.size = bytes.size();
      return value;
    };
    batch.add(text(path_));
    batch.second[0] = text(without_mark(content_.view()));
    batch.pair[0] = 1;
    return {};
  }
  uint64_t bytes_read() const noexcept override { return content_.size(); }

 private:
  const std::string path_;
  const uint64_t most_;
  const HttpOptions remote_options_;
  Blob content_;
  bool read_ = false;
};

Status check_size(const ah_mr_split& split) {
  if (split.size < 0 || is_remote(split.path)) return {};
  AH_LET(auto opened, open_for_reading(split.path));
  const auto planned = static_cast<uint64_t>(split.size);
  return opened.size == planned ? Status() : changed_file(split.path, planned, opened.size);
}

CsvFormat csv_format(const ah_mr_csv& csv, bool whole) {
  CsvFormat format;
  format.separator = csv.separator;
  format.header = csv.header != 0;
  format.names.assign(csv.names, csv.names + csv.names_count);
  format.kind = static_cast<CsvKind>(csv.kind);
  for (uint32_t i = 0; i < csv.kinds_count; ++i) {
    format.kinds.emplace_back(csv.typed[i], static_cast<CsvKind>(csv.kinds[i]));
  }
  format.missing.assign(csv.missing.bytes, static_cast<size_t>(csv.missing.size));
  format.na.assign(csv.na, csv.na + csv.na_count);
  format.whole = whole;
  return format;
}

constexpr uint64_t kHeaderBytes = uint64_t{64} << 10;  // of a remote file, read for the names of its columns

uint64_t whole(double bytes) { return static_cast<uint64_t>(bytes); }

/// The lines of the split's file that begin between two offsets. `wanted`: of a remote file, the end of the bytes that
/// are requested first.
Result<std::unique_ptr<TextInput>> part_of(const ah_mr_split& split, uint64_t begin, uint64_t end, uint64_t wanted) {
  const std::string path = split.path;
  const uint64_t size = whole(split.size);
  if (!is_remote(path)) return TextInput::open_part(path, begin, end, size);
  AH_LET(auto source, url_source(path, {begin > 0 ? begin - 1 : 0, std::min(wanted, size), size}));
  return TextInput::over_part(std::move(source), shown_url(path), begin, end, size);
}

/// The lines of `input`, called `name` in messages, as rows of the split's format.
Result<std::unique_ptr<RowSource>> rows_of(const ah_mr_split& split, Result<std::unique_ptr<TextInput>> input,
                                           const std::string& name, TaskStreams& streams) {
  if (!input) return input.error();
  if (static_cast<RowFormat>(split.format) == RowFormat::text)
    return std::unique_ptr<RowSource>(std::make_unique<LineSource>(std::move(*input)));
  SkipRow skip;
  if (split.skip != 0) {
    skip = [&streams](const Error& error) {
      if (!SkippingSource::may_skip(error)) return false;
      streams.skip(error);
      return true;
    };
  }
  if (static_cast<RowFormat>(split.format) == RowFormat::jsonl)
    return json_rows(std::move(*input), name, std::move(skip));
  std::unique_ptr<TextInput> start;
  if (split.kind == AH_MR_SPLIT_PART && split.from > 0) {
    AH_LET(start, part_of(split, 0, whole(split.size), kHeaderBytes));
  }
  const bool is_whole = split.kind != AH_MR_SPLIT_PART || (split.from <= 0 && split.to >= split.size);
  return csv_rows(std::move(*input), name, csv_format(*split.csv, is_whole), std::move(start), std::move(skip));
}

Result<std::unique_ptr<RowSource>> fetched(const ah_mr_split& split, TaskStreams& streams) {
  HttpRange all;
  if (split.size >= 0) all.planned = whole(split.size);
  AH_LET(auto packed, url_source(split.path, all));
  auto content = open_source(std::move(packed), shown_url(split.path), {UINT64_MAX});
  if (!content) return content.error();
  return rows_of(split, TextInput::over(*std::move(content)), shown_url(split.path), streams);
}

Result<std::unique_ptr<RowSource>> opened(const ah_mr_split& split, TaskStreams& streams) {
  const RemoteOptions scope(
      {split.seconds, [&streams] { return streams.place().check(); }, split.ca_file != nullptr ? split.ca_file : ""});
  switch (split.kind) {
    case AH_MR_SPLIT_PART: {
      auto part = part_of(split, whole(split.from), whole(split.to), whole(split.to));
      return rows_of(split, std::move(part), split.path, streams);
    }
    case AH_MR_SPLIT_URL: return fetched(split, streams);
    default: AH_TRY(check_size(split)); break;
  }
  if (split.kind == AH_MR_SPLIT_WHOLE) {
    if (is_remote(split.path)) return fetched(split, streams);
    return rows_of(split, TextInput::open_whole(split.path), split.path, streams);
  }
  return std::unique_ptr<RowSource>(std::make_unique<WholeFile>(split.path, streams.place().room().budget.each()));
}

}  // namespace

ah_mr_source* split(ah_mr_streams* streams, const ah_mr_split* split) {
  auto rows = opened(*split, *streams);
  if (split->skip == 0) return streams->add(std::move(rows));
  if (!rows && !SkippingSource::may_skip(rows.error())) return streams->add(std::move(rows));
  if (!rows) {
    streams->skip(rows.error());
    return streams->add(std::unique_ptr<RowSource>(std::make_unique<EmptySource>()));
  }
  return streams->add(std::unique_ptr<RowSource>(std::make_unique<SkippingSource>(*std::move(rows), *streams)));
}

ah_mr_sink* part(ah_mr_streams* streams, const ah_mr_save* save, uint32_t part) {
  TaskPlace& place = streams->place();
  HttpOptions options_of_uploads;
  options_of_uploads.check = [&place] { return place.check(); };
  const RemoteOptions scope(std::move(options_of_uploads));
  const auto add = [streams](auto sink) {
    if (!sink) return streams->add(Result<std::unique_ptr<TaskSink>>(sink.error()));
    return streams->add(std::unique_ptr<TaskSink>(*std::move(sink)));
  };
  if (static_cast<RowFormat>(save->format) == RowFormat::rows) {
    return add(RowFileSink::open(place.save(), part, &place.room().budget, place.earlier_parts()));
  }
  FileOptions options;
  options.format = static_cast<RowFormat>(save->format);
  options.packing = packing_of_name(save->extension);
  options.separator = save->separator;
  options.names.assign(save->names, save->names + save->names_count);
  return add(FileSink::open(place.save(), part, options));
}

int32_t part_ready(ah_mr_streams* /*streams*/, ah_mr_sink* part) {
  return static_cast<PartSink&>(*part->rows).ready() ? 1 : 0;
}

int32_t finish_part(ah_mr_streams* streams, ah_mr_sink* part, ah_mr_part* out) {
  auto& sink = static_cast<PartSink&>(*part->rows);
  if (const Status status = sink.finish(); !status) {
    streams->fail(status.error());
    return -1;
  }
  const SavedPart saved = sink.saved();
  if (saved.name.size() >= sizeof out->name) {
    streams->fail({Code::io, saved.name + ": the name of this upload is too long"});
    return -1;
  }
  std::snprintf(out->name, sizeof out->name, "%s", saved.name.c_str());
  out->rows = static_cast<double>(saved.rows);
  out->bytes = static_cast<double>(saved.bytes);
  return 0;
}

ah_mr_source* row_file(ah_mr_streams* streams, const char* folder, const char* id, uint32_t part) {
  auto rows = open_row_file(folder, id, part);
  if (!rows) return streams->add(Result<std::unique_ptr<RowSource>>(rows.error()));
  return streams->add(std::unique_ptr<RowSource>(*std::move(rows)));
}

/// The id of the next save. It is not random: if rows are lost, another worker begins the save again while the other
/// workers may already use the id.
std::string save_id(lua_State* L) {
  const NodeContext& context = NodeContext::of(L);
  return context.options.run_key + "-" + std::to_string(context.node.actions());
}

/// Options for an object storage: a wait ends when the run ends.
HttpOptions until_failure(lua_State* L) {
  HttpOptions options;
  options.check = [&node = NodeContext::of(L).node] { return node.check(); };
  return options;
}

/// begin_save(path, overwrite) -> {target=, staging=, id=, overwrite=}; or nil, message
int begin_save(lua_State* L) {
  const std::string path(check_text(L, 1, "path", "begin_save"));
  const bool overwrite = lua_toboolean(L, 2) != 0;
  const RemoteOptions scope(until_failure(L));
  const auto folder = actorhost::begin_save(path, overwrite, save_id(L));
  if (!folder) return push_failure(L, folder.error());
  push_folder(L, *folder);
  return 1;
}

/// begin_checkpoint(path, fingerprint, overwrite, resume, parts) -> as begin_save for a new checkpoint, with continues=
/// (an earlier run has begun it) and other= (a folder of other parts, or ""); with {files=, rows=, bytes=} for an
/// existing checkpoint; or nil, message
int begin_checkpoint(lua_State* L) {
  const std::string path(check_text(L, 1, "path", "begin_checkpoint"));
  const std::string fingerprint(check_text(L, 2, "fingerprint", "begin_checkpoint"));
  const CheckpointOptions options{lua_toboolean(L, 3) != 0, lua_toboolean(L, 4) != 0,
                                  std::string(check_text(L, 5, "parts", "begin_checkpoint"))};
  const auto start = actorhost::begin_checkpoint(path, fingerprint, options, save_id(L));
  if (!start) return push_failure(L, start.error());
  push_folder(L, start->save);
  set_field(L, "continues", start->continues);
  set_field(L, "other", start->other.string());
  if (start->ready) set_figures(L, *start->ready);
  return 1;
}

/// commit_save(save, {{name, rows, bytes}, ...}) -> {files=, rows=, bytes=}; raises on failure
int commit_save(lua_State* L) {
  const SaveFolder folder = save_at(L, 1, "commit_save");
  check_table(L, 2, "parts", "commit_save");
  std::vector<SavedPart> parts;
  each_item(L, 2, [&](int /*i*/) {
    for (int field = 1; field <= 3; ++field) lua_rawgeti(L, -field, field);
    parts.push_back(
        {lua_tostring(L, -3), static_cast<uint64_t>(lua_tonumber(L, -2)), static_cast<uint64_t>(lua_tonumber(L, -1))});
    lua_pop(L, 3);
  });
  const RemoteOptions scope(until_failure(L));
  const auto figures = actorhost::commit_save(folder, parts);
  if (!figures) raise_error(L, figures.error());
  lua_createtable(L, 0, 3);
  set_figures(L, *figures);
  return 1;
}

}  // namespace actorhost::mapreduce_files
