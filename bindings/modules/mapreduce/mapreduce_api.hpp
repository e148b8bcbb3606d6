#pragma once
// The inputs and outputs (streams) of the map-reduce task that a node runs. Lua reads and writes their rows by the FFI
// table of ffi_mapreduce.h. Each Vm has its own table and streams, used on its thread. Reading and writing rows may
// block on the disk and the network.

#include <memory>
#include <optional>
#include <vector>

#include "bindings/modules/mapreduce/ffi_mapreduce.h"
#include "host/base/log.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"
#include "host/mapreduce/rows/flat_table.hpp"
#include "host/mapreduce/rows/short_texts.hpp"
#include "host/mapreduce/rows/stream.hpp"
#include "host/mapreduce/tasks/row_file.hpp"
#include "host/mapreduce/tasks/task_sinks.hpp"

struct lua_State;

namespace actorhost {

class Vm;

/// Memory, spill file and output of a task's rows.
struct TaskRoom {
  MemoryBudget& budget;
  SpillFile& spill;
  BlockSink output;
};

/// The services of the engine for a task's streams.
class TaskPlace : public Interface {
 public:
  /// The rows of the task's k-th dependency. With `bucket`: that bucket of a wide dependency instead of the task's own.
  virtual Result<std::unique_ptr<RowSource>> needed(uint32_t k, std::optional<uint32_t> bucket) = 0;
  /// The results of all tasks, or of one task.
  virtual Result<std::unique_ptr<RowSource>> results(std::optional<uint32_t> task) = 0;
  /// A sink that writes rows into `count` buckets.
  virtual Result<std::unique_ptr<TaskSink>> buckets(uint32_t count) = 0;
  /// A sink that combines the values of each key, and divides the results into buckets.
  virtual Result<std::unique_ptr<TaskSink>> combine(Combine combine, uint32_t buckets) = 0;
  /// A sink that combines the values of each key into `rows`, which the task then reads.
  virtual Result<std::unique_ptr<TaskSink>> combine_here(Combine combine, std::unique_ptr<ScratchRows>& rows) = 0;
  virtual TaskRoom room() = 0;
  /// The save in progress; a task writes a part of it.
  virtual const SaveFolder& save() = 0;
  /// With `resume`, attempts at its parts by an earlier run or a failed process; otherwise nullptr.
  virtual const EarlierParts* earlier_parts() = 0;
  /// An error when the run is over or this node must stop.
  virtual Status check() = 0;
  virtual Log& log() = 0;
};

}  // namespace actorhost

struct ah_mr_source {
  std::unique_ptr<actorhost::RowSource> rows;
  actorhost::RowBatch batch;
  bool own = false;  // rows that the task itself has written, so not counted as input
};

struct ah_mr_sink {
  std::unique_ptr<actorhost::ScratchRows> scratch;  // target of `rows` if the task reads them again
  std::unique_ptr<actorhost::TaskSink> rows;
};

namespace actorhost {

class TaskStreams : private NonCopyable {
 public:
  /// `place` must outlive this object.
  explicit TaskStreams(TaskPlace& place) : place_(place) {}

  /// Begins a task: drops the streams of the previous task.
  void begin();
  /// Finishes the task's output.
  Status finish();
  /// The number of rows that the task has read.
  uint64_t rows_in() const noexcept { return rows_in_; }
  uint64_t bytes_in() const noexcept;
  /// Counts unreadable input that the task skips.
  void skip(const Error& error);
  uint64_t skipped() const noexcept { return skipped_; }
  void count(uint64_t rows) noexcept { rows_in_ += rows; }

  ah_mr_source* add(Result<std::unique_ptr<RowSource>> source);
  /// Adds a source of rows that the task itself has written.
  ah_mr_source* add_own(std::unique_ptr<RowSource> source);
  ah_mr_sink* add(Result<std::unique_ptr<TaskSink>> sink);
  void set_output(ah_mr_sink* sink) { output_ = sink; }
  TaskPlace& place() { return place_; }
  FlatReader& flat() { return flat_; }
  ShortTexts& texts() { return *texts_; }
  /// Memory of the matches whose case was changed, valid until the next such matches.
  std::string& changed_matches() { return changed_matches_; }
  void fail(const Error& error) { failure_ = error; }
  /// The error of the last failed call of the FFI table.
  Error failure() const { return failure_.value_or(Error{Code::bad_argument, "no call has failed"}); }

 private:
  TaskPlace& place_;
  FlatReader flat_;
  const std::unique_ptr<ShortTexts> texts_ = std::make_unique<ShortTexts>();
  std::string changed_matches_;
  std::vector<std::unique_ptr<ah_mr_source>> sources_;
  std::vector<std::unique_ptr<ah_mr_sink>> sinks_;
  ah_mr_sink* output_ = nullptr;
  std::optional<Error> failure_;
  uint64_t rows_in_ = 0;
  uint64_t skipped_ = 0;
};

}  // namespace actorhost

struct ah_mr_streams final : actorhost::TaskStreams {
  using TaskStreams::TaskStreams;
};

namespace actorhost {

/// The FFI table "mapreduce" for these streams.
ah_mapreduce_api mapreduce_api(ah_mr_streams& streams);

/// The table's functions for wide operations; documented in ffi_mapreduce.h.
namespace mapreduce_wide {

ah_mr_source* needed_of(ah_mr_streams* streams, uint32_t k, uint32_t bucket);
ah_mr_sink* keyed(ah_mr_streams* streams, uint32_t buckets);
ah_mr_sink* placed(ah_mr_streams* streams, uint32_t buckets);
int32_t into(ah_mr_streams* streams, ah_mr_sink* sink, uint32_t bucket);
ah_mr_sink* sampled(ah_mr_streams* streams, uint32_t most);
int32_t splitters(ah_mr_streams* streams, ah_mr_source* samples, ah_mr_sink* to, uint32_t ranges, uint32_t descending);
ah_mr_sink* ranges(ah_mr_streams* streams, ah_mr_source* splitters, uint32_t descending);
int32_t put_under(ah_mr_streams* streams, ah_mr_sink* sink, const ah_mr_value* key, const ah_mr_row* row);
ah_mr_sink* sorter(ah_mr_streams* streams, uint32_t order, uint32_t rows, uint32_t parts);
ah_mr_source* sorted(ah_mr_streams* streams, ah_mr_sink* sorter);
ah_mr_source* groups(ah_mr_streams* streams, ah_mr_sink** sorters, uint32_t count);
ah_mr_source* set_of(ah_mr_streams* streams, ah_mr_sink* first, ah_mr_sink* second, uint32_t operation);

}  // namespace mapreduce_wide

/// The table's functions for files, and the functions of actor.c.mapreduce that begin and end a save or a checkpoint,
/// documented at their definitions.
namespace mapreduce_files {

ah_mr_source* split(ah_mr_streams* streams, const ah_mr_split* split);
ah_mr_sink* part(ah_mr_streams* streams, const ah_mr_save* save, uint32_t part);
int32_t part_ready(ah_mr_streams* streams, ah_mr_sink* part);
int32_t finish_part(ah_mr_streams* streams, ah_mr_sink* part, ah_mr_part* out);
ah_mr_source* row_file(ah_mr_streams* streams, const char* folder, const char* id, uint32_t part);

int begin_save(lua_State* L);
int begin_checkpoint(lua_State* L);
int commit_save(lua_State* L);
/// The save of a table of begin_save, an argument of `fn`.
SaveFolder save_at(lua_State* L, int index, const char* fn);

}  // namespace mapreduce_files

}  // namespace actorhost
