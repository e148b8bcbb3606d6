#pragma once
// The rows of a node's present task, as bindings/modules/ffi_mapreduce.h gives them to Lua. One TaskStreams for each
// Vm, used on its thread; the functions of the FFI table find it by that thread.

#include <memory>
#include <optional>
#include <vector>

#include "bindings/modules/ffi_mapreduce.h"
#include "host/base/log.hpp"
#include "host/base/result.hpp"
#include "host/mapreduce/rows/flat_table.hpp"
#include "host/mapreduce/rows/short_texts.hpp"
#include "host/mapreduce/rows/stream.hpp"
#include "host/mapreduce/tasks/task_sinks.hpp"

namespace actorhost {

class Vm;

/// Where a task's rows may lie, and where they go.
struct TaskRoom {
  MemoryBudget& budget;
  SpillFile& spill;
  BlockSink output;
};

/// What the streams of a task need of the engine.
class TaskPlace {
 public:
  TaskPlace() = default;
  TaskPlace(const TaskPlace&) = delete;
  TaskPlace& operator=(const TaskPlace&) = delete;
  virtual ~TaskPlace() = default;
  /// With a bucket: that of a wide dependency instead of the task's own.
  virtual Result<std::unique_ptr<RowSource>> needed(uint32_t k, std::optional<uint32_t> bucket) = 0;
  /// Of all tasks or of one.
  virtual Result<std::unique_ptr<RowSource>> results(std::optional<uint32_t> task) = 0;
  virtual Result<std::unique_ptr<TaskSink>> buckets(uint32_t count) = 0;
  virtual Result<std::unique_ptr<TaskSink>> combine(Combine combine, uint32_t buckets) = 0;
  /// To be combined and read again by the task.
  virtual Result<std::unique_ptr<TaskSink>> combine_here(Combine combine, std::unique_ptr<ScratchRows>& rows) = 0;
  virtual TaskRoom room() = 0;
  /// The error when the run is over or this node is to stop.
  virtual Status check() = 0;
  virtual Log& log() = 0;
};

}  // namespace actorhost

struct ah_mr_source {
  std::unique_ptr<actorhost::RowSource> rows;
  actorhost::RowBatch batch;
  bool own = false;  // rows that the task has put itself, which are counted already
};

struct ah_mr_sink {
  std::unique_ptr<actorhost::ScratchRows> scratch;  // where `rows` goes, when the task reads it again
  std::unique_ptr<actorhost::TaskSink> rows;
};

namespace actorhost {

class TaskStreams {
 public:
  /// Makes it the one that this thread's FFI calls find. `place` must outlive it.
  explicit TaskStreams(TaskPlace& place);
  ~TaskStreams();
  static TaskStreams& of_thread();
  TaskStreams(const TaskStreams&) = delete;
  TaskStreams& operator=(const TaskStreams&) = delete;

  /// The streams of the last task go.
  void begin();
  /// All that the task puts out has been put.
  Status finish();
  /// Rows that the task has read.
  uint64_t rows_in() const noexcept { return rows_in_; }
  uint64_t bytes_in() const noexcept;
  /// Something could not be read and is left out.
  void skip(const Error& error);
  uint64_t skipped() const noexcept { return skipped_; }
  void count(uint64_t rows) noexcept { rows_in_ += rows; }

  ah_mr_source* add(Result<std::unique_ptr<RowSource>> source);
  /// Of rows that the task has put itself.
  ah_mr_source* add_own(std::unique_ptr<RowSource> source);
  ah_mr_sink* add(Result<std::unique_ptr<TaskSink>> sink);
  void set_output(ah_mr_sink* sink) { output_ = sink; }
  TaskPlace& place() { return place_; }
  FlatReader& flat() { return flat_; }
  ShortTexts& texts() { return *texts_; }
  void fail(const Error& error) { failure_ = error; }
  /// Why a call of the FFI table failed.
  Error failure() const { return failure_.value_or(Error{Code::bad_argument, "no call has failed"}); }

 private:
  TaskPlace& place_;
  FlatReader flat_;
  const std::unique_ptr<ShortTexts> texts_ = std::make_unique<ShortTexts>();
  std::vector<std::unique_ptr<ah_mr_source>> sources_;
  std::vector<std::unique_ptr<ah_mr_sink>> sinks_;
  ah_mr_sink* output_ = nullptr;
  std::optional<Error> failure_;
  uint64_t rows_in_ = 0;
  uint64_t skipped_ = 0;
};

/// Registers the FFI table "mapreduce".
void register_mapreduce_api(Vm& vm);

}  // namespace actorhost
