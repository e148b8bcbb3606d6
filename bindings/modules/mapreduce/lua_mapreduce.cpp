#include <bit>
#include <memory>
#include <string>

#include "bindings/modules/engine/carried_values.hpp"
#include "bindings/modules/engine/node_modules.hpp"
#include "bindings/modules/mapreduce/mapreduce_api.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/process/process_shared.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/base/out_of_memory.hpp"
#include "host/data/file/object_store.hpp"
#include "host/data/file/url_source.hpp"
#include "host/mapreduce/files/file_list.hpp"
#include "host/mapreduce/tasks/task_client.hpp"

namespace actorhost {

namespace {

constexpr const char* kMapReduceModule = "actor.mapreduce";

/// The map-reduce state of one Vm, which owns it.
class MapReduceState final : private TaskPlace {
 public:
  explicit MapReduceState(NodeContext& context)
      : client(context.node, *context.shared.exchange), streams(static_cast<TaskPlace&>(*this)), node_(context.node) {}
  ~MapReduceState() override;

  TaskClient client;
  std::optional<BlockStore::Attempt> attempt;
  std::optional<SaveFolder> open_save;
  std::optional<EarlierParts> listed_parts;  // of open_save
  ah_mr_streams streams;
  ah_mapreduce_api api = mapreduce_api(streams);
  double began = 0;
  lua_CFunction gmatch = nullptr;

 private:
  Result<std::unique_ptr<RowSource>> needed(uint32_t k, std::optional<uint32_t> bucket) override {
    return client.needed(k, bucket);
  }
  TaskRoom room() override { return {client.service().budget(), client.service().spill(), output()}; }
  const SaveFolder& save() override { return *open_save; }
  const EarlierParts* earlier_parts() override;
  Status check() override { return node_.check(); }
  Log& log() override { return node_.log(); }
  Result<std::unique_ptr<RowSource>> results(std::optional<uint32_t> task) override { return client.results(task); }
  Result<std::unique_ptr<TaskSink>> buckets(uint32_t count) override;
  Result<std::unique_ptr<TaskSink>> combine(Combine combine, uint32_t count) override;
  Result<std::unique_ptr<TaskSink>> combine_here(Combine combine, std::unique_ptr<ScratchRows>& rows) override;
  CombineOptions options(Combine combine);
  BlockSink output();

  Node& node_;
  uint64_t epoch_ = 0;  // of the membership when listed_parts was filled
};

/// A run that ends during a save in an object storage leaves no uploads: this node may end before it receives the
/// action's error. A folder on a disk stays, since another node may just give it its name.
MapReduceState::~MapReduceState() {
  if (!open_save || !is_object_url(open_save->target.string())) return;
  if (node_.cluster().has_failed_everywhere()) abandon_save(*open_save);
}

/// Lists the parts again after each change of the membership: a failed process may have completed some.
const EarlierParts* MapReduceState::earlier_parts() {
  if (!open_save->resume) return nullptr;
  const uint64_t epoch = node_.cluster().epoch();
  if (!listed_parts || epoch != epoch_) listed_parts.emplace(*open_save);
  epoch_ = epoch;
  return &*listed_parts;
}

BlockSink MapReduceState::output() {
  return [this](uint32_t bucket, RowBlock block) { return attempt->append(bucket, std::move(block)); };
}

Result<std::unique_ptr<TaskSink>> MapReduceState::buckets(uint32_t count) {
  MemoryBudget& budget = client.service().budget();
  return std::unique_ptr<TaskSink>(std::make_unique<BucketSink>(count, budget.share(), &budget, output()));
}

CombineOptions MapReduceState::options(Combine combine) {
  MemoryBudget& budget = client.service().budget();
  return {combine, budget.share(), &budget, &client.service().spill()};
}

Result<std::unique_ptr<TaskSink>> MapReduceState::combine(Combine combine, uint32_t count) {
  return std::unique_ptr<TaskSink>(std::make_unique<CombineSink>(options(combine), count, output()));
}

Result<std::unique_ptr<TaskSink>> MapReduceState::combine_here(Combine combine, std::unique_ptr<ScratchRows>& rows) {
  rows = std::make_unique<ScratchRows>(client.service().store());
  return std::unique_ptr<TaskSink>(std::make_unique<CombineSink>(options(combine), 1, rows->sink()));
}

MapReduceState& mapreduce_state(lua_State* L) { return RegistryObject<MapReduceState>::find(L, kMapReduceModule); }

// ---- the plan ----

uint32_t whole_field(lua_State* L, const char* name) { return static_cast<uint32_t>(number_field(L, -1, name)); }

/// Calls `read` for each element of the array field `name` of the table on top, with the element on top.
template <typename Read>
void each_in(lua_State* L, const char* name, Read read) {
  lua_getfield(L, -1, name);
  each_item(L, -1, [&](int /*i*/) { read(); });
  lua_pop(L, 1);
}

PlanStage stage_on_top(lua_State* L) {
  PlanStage stage;
  stage.id = whole_field(L, "id");
  stage.name = text_field(L, -1, "name");
  stage.tasks = whole_field(L, "tasks");
  stage.buckets = whole_field(L, "buckets");
  stage.keep = boolean_field(L, -1, "keep");
  stage.disk = boolean_field(L, -1, "disk");
  each_in(L, "needs", [&] {
    stage.needs.push_back({whole_field(L, "stage"), boolean_field(L, -1, "wide"), whole_field(L, "first")});
  });
  return stage;
}

/// begin(action, {stages = {...}, hash = text})
int begin(lua_State* L) {
  MapReduceState& state = mapreduce_state(L);
  const auto action = static_cast<uint32_t>(check_integer(L, 1, "action", "begin", 0, UINT32_MAX));
  check_table(L, 2, "plan", "begin");
  lua_settop(L, 2);
  Plan plan;
  each_in(L, "stages", [&] { plan.stages.push_back(stage_on_top(L)); });
  each_in(L, "forget", [&] { plan.forget.push_back(static_cast<StageId>(lua_tonumber(L, -1))); });
  plan.hash = std::stoull(text_field(L, 2, "hash"), nullptr, 16);
  expect(L, state.client.begin(action, std::move(plan), user_position(L)));
  return 0;
}

/// next_task() -> stage, task (from 1), attempt; nothing when the action is over
int next_task(lua_State* L) {
  MapReduceState& state = mapreduce_state(L);
  state.attempt.reset();
  state.streams.begin();
  auto order = state.client.next();
  if (!order) raise_error(L, order.error());
  if (!*order) return 0;
  const TaskAttemptId& task = (*order)->task;
  const PlanStage& stage = *state.client.stage(task.stage);
  const BlockPlace place = stage.disk ? BlockPlace::disk : BlockPlace::memory;
  state.attempt.emplace(state.client.service().store().begin(task.stage, task.task, stage.buckets, place));
  state.began = NodeContext::of(L).node.clock().now();
  lua_pushinteger(L, static_cast<lua_Integer>(task.stage));
  lua_pushinteger(L, static_cast<lua_Integer>(task.task) + 1);
  lua_pushinteger(L, static_cast<lua_Integer>(task.attempt));
  return 3;
}

/// finish_output(): the task has put all its rows
int finish_output(lua_State* L) {
  expect(L, mapreduce_state(L).streams.finish());
  return 0;
}

/// done(added): the task has succeeded; `added` holds its accumulators' additions, or nil
int done(lua_State* L) {
  MapReduceState& state = mapreduce_state(L);
  const OutputFigures out = state.attempt->figures();
  state.attempt->commit();
  state.attempt.reset();
  TaskReport report;
  if (!lua_isnoneornil(L, 1)) report.accumulators = Blob::copy_of(check_text(L, 1, "added", "done"));
  report.figures.rows_out = out.rows;
  report.figures.bytes_out = out.bytes;
  report.figures.rows_in = state.streams.rows_in();
  report.figures.bytes_in = state.streams.bytes_in();
  report.figures.skipped = state.streams.skipped();
  report.figures.spilled_bytes = state.client.service().take_spilled();
  report.figures.seconds = NodeContext::of(L).node.clock().now() - state.began;
  expect(L, state.client.done(std::move(report)));
  return 0;
}

/// failed(message)
int failed(lua_State* L) {
  MapReduceState& state = mapreduce_state(L);
  state.attempt.reset();
  const std::string message(check_text(L, 1, "message", "failed"));
  const Error cause = state.streams.failure();
  const auto mentions = [&message](std::string_view what) { return message.find(what) != std::string::npos; };
  // Memory may also run out in a module's function or in Lua itself.
  const bool no_room = (cause.code == Code::full && mentions(cause.message)) || mentions(OutOfMemory::kStart) ||
                       mentions("not enough memory");
  expect(L, state.client.failed({no_room ? Code::full : Code::script, message}));
  return 0;
}

/// results_failed(message) -> whether lost rows caused the failure; the rows are then made again
int results_failed(lua_State* L) {
  MapReduceState& state = mapreduce_state(L);
  const std::string message(check_text(L, 1, "message", "results_failed"));
  const bool lost = state.client.has_lost();
  if (lost) expect(L, state.client.results_failed({Code::peer_lost, message}));
  return push(L, lost);
}

/// has_failed() -> whether the action has ended with an error for all workers
int has_failed(lua_State* L) { return push(L, !mapreduce_state(L).client.outcome().ok); }

/// open_save(save): this node may write parts of the save
int open_save(lua_State* L) {
  MapReduceState& state = mapreduce_state(L);
  state.open_save = mapreduce_files::save_at(L, 1, "open_save");
  state.listed_parts.reset();
  return 0;
}

/// close_save(): the save of open_save is complete
int close_save(lua_State* L) {
  mapreduce_state(L).open_save.reset();
  return 0;
}

/// abandon_save(): removes the save of open_save, whose action has ended with an error for all workers
int abandon_save(lua_State* L) {
  MapReduceState& state = mapreduce_state(L);
  if (state.open_save) actorhost::abandon_save(*state.open_save);
  state.open_save.reset();
  return 0;
}

int finished(lua_State* L) {
  MapReduceState& state = mapreduce_state(L);
  state.streams.begin();
  expect(L, state.client.finished());
  return 0;
}

/// skipped(action): this node joined late and already has the action's value
int skipped(lua_State* L) {
  const auto action = static_cast<uint32_t>(check_integer(L, 1, "action", "skipped", 0, UINT32_MAX));
  expect(L, mapreduce_state(L).client.skipped(action));
  return 0;
}

/// figures() -> {seconds=, stages={{id=, tasks=, ...}, ...}} of the finished action
int figures(lua_State* L) {
  const ActionOutcome& outcome = mapreduce_state(L).client.outcome();
  lua_createtable(L, 0, 2);
  set_field(L, "seconds", outcome.seconds);
  push_list(L, outcome.stages, [L](const StageFigures& stage) {
    lua_createtable(L, 0, 12);
    set_field(L, "id", stage.stage);
    set_field(L, "tasks", stage.tasks);
    set_field(L, "reused", stage.reused);
    set_field(L, "runs", stage.runs);
    set_field(L, "failures", stage.failures);
    set_field(L, "rows_in", stage.figures.rows_in);
    set_field(L, "rows_out", stage.figures.rows_out);
    set_field(L, "bytes_in", stage.figures.bytes_in);
    set_field(L, "bytes_out", stage.figures.bytes_out);
    set_field(L, "spilled", stage.figures.spilled_bytes);
    set_field(L, "skipped", stage.figures.skipped);
    set_field(L, "seconds", stage.last - stage.first);
  });
  lua_setfield(L, -2, "stages");
  return 1;
}

/// accumulated() -> the additions to the tasks' accumulators, in the same order on every node
int accumulated(lua_State* L) {
  const auto& list = mapreduce_state(L).client.outcome().accumulators;
  return push_list(L, list, [L](const Accumulated& one) { push(L, one.bytes.view()); });
}

/// memory() -> bytes available to each node
int memory(lua_State* L) { return push(L, mapreduce_state(L).client.service().budget().each()); }

/// fail(): raises the error of the last failed FFI call
int fail(lua_State* L) { raise_error(L, mapreduce_state(L).streams.failure()); }

// ---- users' functions ----

int append(lua_State*, const void* bytes, size_t size, void* to) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), size);
  return 0;
}

/// clone(fn) -> a function with the same code and its own captured variables, all nil
int clone(lua_State* L) {
  check_function(L, 1, "fn", "clone");
  lua_settop(L, 1);
  std::string code;
  if (lua_dump(L, append, &code) != 0) raise_at_user(L, "a C function cannot be an operation");
  if (luaL_loadbuffer(L, code.data(), code.size(), "=clone") != 0) lua_error(L);
  lua_getfenv(L, 1);
  lua_setfenv(L, -2);
  return 1;
}

/// gmatch_of(iterator) -> text, pattern, for an iterator of string.gmatch before its first call
int gmatch_of(lua_State* L) {
  if (lua_tocfunction(L, 1) != mapreduce_state(L).gmatch) return 0;
  if (lua_getupvalue(L, 1, 1) == nullptr || lua_getupvalue(L, 1, 2) == nullptr || lua_getupvalue(L, 1, 3) == nullptr) {
    return 0;
  }
  // The third upvalue is the position in the text, stored as the bits of a value.
  const bool fresh = lua_type(L, -1) == LUA_TNUMBER && std::bit_cast<uint64_t>(lua_tonumber(L, -1)) == 0;
  lua_pop(L, 1);
  return fresh && lua_type(L, -2) == LUA_TSTRING && lua_type(L, -1) == LUA_TSTRING ? 2 : 0;
}

/// The C function behind string.gmatch's iterators.
lua_CFunction gmatch_function(lua_State* L) {
  lua_getglobal(L, "string");
  lua_getfield(L, -1, "gmatch");
  lua_pushliteral(L, "");
  lua_pushliteral(L, ".");
  lua_call(L, 2, 1);
  const lua_CFunction function = lua_tocfunction(L, -1);
  lua_pop(L, 2);
  return function;
}

// ---- files ----

/// find_files(path, seconds, ca_file or "") -> {{path=, bytes=, compressed=, stream=}, ...}; or nil, message
int find_files(lua_State* L) {
  const RemoteOptions scope({check_number(L, 2, "timeout", "find_files"),
                             [&node = NodeContext::of(L).node] { return node.check(); },
                             std::string(check_text(L, 3, "ca_file", "find_files"))});
  auto files = find_input_files(std::string(check_text(L, 1, "path", "find_files")));
  if (!files) return push_failure(L, files.error());
  return push_list(L, *files, [L](const InputFile& file) {
    lua_createtable(L, 0, 4);
    set_field(L, "path", file.path);
    set_field(L, "bytes", file.bytes);
    set_field(L, "compressed", file.compressed);
    set_field(L, "stream", file.stream);
  });
}

int open_mapreduce(lua_State* L) {
  auto state = std::make_shared<MapReduceState>(NodeContext::of(L));
  state->gmatch = gmatch_function(L);
  Vm::from(L).register_ffi("mapreduce", &state->api);
  RegistryObject<MapReduceState>::store(L, kMapReduceModule, std::move(state));
  static const luaL_Reg kFunctions[] = {
      {"begin", guarded<begin>},
      {"next_task", guarded<next_task>},
      {"finish_output", guarded<finish_output>},
      {"done", guarded<done>},
      {"failed", guarded<failed>},
      {"results_failed", guarded<results_failed>},
      {"has_failed", guarded<has_failed>},
      {"finished", guarded<finished>},
      {"skipped", guarded<skipped>},
      {"accumulated", guarded<accumulated>},
      {"memory", guarded<memory>},
      {"begin_save", guarded<mapreduce_files::begin_save>},
      {"begin_checkpoint", guarded<mapreduce_files::begin_checkpoint>},
      {"open_save", guarded<open_save>},
      {"commit_save", guarded<mapreduce_files::commit_save>},
      {"close_save", guarded<close_save>},
      {"abandon_save", guarded<abandon_save>},
      {"fail", guarded<fail>},
      {"pack", guarded<pack_row>},
      {"unpack", guarded<unpack_row>},
      {"figures", guarded<figures>},
      {"clone", guarded<clone>},
      {"gmatch_of", guarded<gmatch_of>},
      {"find_files", guarded<find_files>},
  };
  return push_functions(L, kFunctions);
}

}  // namespace

void open_mapreduce(Vm& vm) { vm.register_module("actor.c.mapreduce", guarded<open_mapreduce>); }

}  // namespace actorhost
