--- Runs actions: every worker enters an action with the same plan, works on the tasks that the tracker assigns to it
--- until the action ends, and returns the same result. The actions are in actions.lua.
local accumulators = require("actor.mapreduce.accumulators")
local check = require("actor.check")
local codec = require("actor.codec")
local compile = require("actor.mapreduce.compile")
local datasets = require("actor.mapreduce.dataset")
local events = require("actor.events")
local explain = require("actor.mapreduce.explain")
local faults = require("actor.mapreduce.faults")
local log = require("actor.log")
local node = require("actor.c.node")
local plans = require("actor.mapreduce.plan")
local programs = require("actor.mapreduce.programs")
local releases = require("actor.mapreduce.releases")
local rounds = require("actor.console.rounds")
local api = require("actor.ffi")("mapreduce")
local c = require("actor.c.mapreduce")

local M = {}

local required, as_value = compile.required, compile.as_value

-- ---- an action ----

local function described(stages, signature)
  local out = {}
  for i, stage in ipairs(stages) do
    local needs = {}
    for k, need in ipairs(stage.needs) do needs[k] = { stage = need.stage.id, wide = need.wide, first = need.first or 0 } end
    out[i] = {
      id = stage.id, name = stage.name, tasks = stage.tasks, buckets = stage.buckets, keep = stage.keep or false,
      disk = stage.disk or false, needs = needs,
    }
  end
  return { stages = out, forget = releases.take(), hash = signature }
end

local within = false -- rounds.restarts() while a function of an operation may be running

-- Like xpcall, but refuses actions meanwhile, since a process runs one action at a time.
local function guarded(fn, handler)
  within = rounds.restarts()
  local ok, result = xpcall(fn, handler)
  within = false
  return ok, result
end

-- Runs a task.
local function try(program, task)
  faults.doing = nil
  accumulators.begin_task()
  local ok, result = guarded(function()
    program(task)
    return accumulators.added()
  end, faults.explain)
  accumulators.end_task()
  if ok then ok, result = pcall(c.done, result) end
  if not ok then c.failed(tostring(result)) end
end

---@class actor.mapreduce.Action an action that this node has entered
---@field index integer its number
---@field stages actor.mapreduce.Stage[]
---@field programs table<integer, fun(task: integer)> by stage, for stages that have run here
---@field by_id table<integer, actor.mapreduce.Stage>

---@param index integer
---@param stages actor.mapreduce.Stage[]
---@param signature string the plan's hash
---@return actor.mapreduce.Action
local function begin(index, stages, signature)
  faults.begin_action()
  c.begin(index, described(stages, signature))
  local action = { index = index, stages = stages, programs = {}, by_id = {} }
  for _, stage in ipairs(stages) do action.by_id[stage.id] = stage end
  return action
end

-- Works on tasks until the action ends.
local function work_on(action)
  local made = action.programs
  while true do
    local id, task = c.next_task()
    if not id then return end
    made[id] = made[id] or programs.of(action.by_id[id])
    try(made[id], task)
  end
end

local function as_it_is(message) return message end

-- Returns the value of `read`, which reads the results. If a process with some of them fails meanwhile, works on tasks
-- again.
local function with_results(action, read)
  while true do
    local ok, result = guarded(read, as_it_is)
    if ok then return result end
    if not c.results_failed(tostring(result)) then error(result, 0) end
    work_on(action)
  end
end

-- Checks the preconditions of an action before it is planned.
local function check_place(dataset, name)
  if not datasets.is(dataset) then check.fail("call %s with a colon: dataset:%s(...)", name, name) end
  if node.in_chunk then
    check.fail("mapreduce.%s needs all nodes, and a chunk on nodes of a running job runs on its own; start `actorhost repl` "
      .. "for a cluster whose nodes run each chunk together", name)
  end
  if within == rounds.restarts() then
    check.fail("mapreduce.%s: a function of an operation cannot run an action; run it before and let the function capture its result",
      name)
  end
end

local function plan(dataset, name, output)
  releases.collect_if_due(c.memory() * node.size)
  output.label = { op = name, where = node.position() }
  local stages, signature = plans.make(dataset, output, plans.default_partitions())
  return stages, codec.hash(signature)
end

-- Enters action `name`. Returns its recorded bytes if the action has ended already. For a server it always has, since
-- servers join late.
local function enter(name)
  local index, replayed, bytes = events.enter_action("mapreduce." .. name)
  if not replayed then events.check_worker("mapreduce." .. name) end
  return index, replayed and bytes or nil
end

local figure_names = {
  "id", "tasks", "reused", "runs", "failures", "rows_in", "rows_out", "bytes_in", "bytes_out", "spilled", "skipped", "seconds",
}

-- Removes the names from figures, since they would be most of an action's record; `named` restores them.
local function bare(figures)
  local out = { figures.seconds }
  for _, stage in ipairs(figures.stages) do
    for _, name in ipairs(figure_names) do out[#out + 1] = stage[name] end
  end
  return out
end

local function named(list)
  local stages = {}
  for i = 2, #list, #figure_names do
    local stage = {}
    for k, name in ipairs(figure_names) do stage[name] = list[i + k - 1] end
    stages[#stages + 1] = stage
  end
  return { seconds = list[1], stages = stages }
end

-- Returns the record of an action, or raises its error. A worker that enters after the end of the action must have the
-- same plan, unless it has joined late and catches up: its plan may depend on the present number of workers.
local function past_of(bytes, signature)
  local past = compile.from_bytes(bytes)
  if past.failed then node.raise_again(past.failed, past.code) end
  if past.plan.hash ~= signature and node.founder then
    check.fail("nodes disagree on what to compute: rank %d at %s, rank %d at %s; every worker must define the same datasets "
      .. "from the same functions and values, in the same order (the order of pairs() differs between nodes: use actor.pairs)",
      past.plan.rank, past.plan.where, node.rank, node.position())
  end
  past.figures = past.figures and named(past.figures)
  return past
end

-- Identifies the plan of an action, for `past_of`.
local function plan_mark(signature) return { hash = signature, rank = node.rank, where = node.position() } end

-- Runs an action. Its error is recorded, too: a script may catch the error and continue, and servers, which join late,
-- must then get the same error.
local function recorded_if_failed(index, fn)
  local ok, result = pcall(fn)
  if ok then return result end
  local text = tostring(result)
  node.finish_action(index, compile.to_bytes({ failed = text, code = node.error_code(text) }))
  error(result, 0)
end

-- Counts the retained rows of a run.
local function count_retained(run)
  for i, stage in ipairs(run.stages) do
    local figures = run.figures.stages[i]
    if stage.keep and not stage.disk and figures.reused == 0 then releases.count(figures.bytes_out) end
  end
end

-- Records that this node has the action's value without taking part in the action.
local function skip(index)
  if node.role ~= "server" then c.skipped(index) end
end

-- Works on an action until it ends; returns its value.
local function run_through(dataset, name, index, stages, signature, read)
  local action = begin(index, stages, signature)
  work_on(action)
  local result = with_results(action, function() return read(required(api.results(api.streams))) end)
  dataset.last_run = { name = "mapreduce." .. name, stages = stages, figures = c.figures() }
  count_retained(dataset.last_run)
  local summary = node.rank == 0 and node.flags().progress and explain.summary(dataset.last_run)
  if summary then log.info(summary) end
  local added = c.accumulated()
  c.finished()
  accumulators.count(added)
  node.finish_action(index, compile.to_bytes({
    result = result, added = added, figures = bare(dataset.last_run.figures), plan = plan_mark(signature),
  }))
  return result
end

---Runs an action; `read` computes its value from the final stage's rows (a source).
---@param dataset actor.mapreduce.Dataset
---@param name string
---@param output table the output of the final stage
---@param read fun(source: ffi.cdata*): any
---@return any
function M.act(dataset, name, output, read)
  check_place(dataset, name)
  local stages, signature = plan(dataset, name, output)
  local index, recorded = enter(name)
  if recorded then
    skip(index)
    local past = past_of(recorded, signature)
    accumulators.count(past.added)
    dataset.last_run = { name = "mapreduce." .. name, stages = stages, figures = past.figures }
    return past.result
  end
  return recorded_if_failed(index, function() return run_through(dataset, name, index, stages, signature, read) end)
end

---@class actor.mapreduce.Held the rows of a dataset, readable a partition at a time until `release`
---@field partitions integer
---@field read fun(partition: integer, fn: fun(source: ffi.cdata*): any): any partition 1, 2, ...; lost rows are made again
---@field release fun()

---Runs an action that computes the rows of a dataset and leaves them where they are.
---@param dataset actor.mapreduce.Dataset
---@param name string
---@param output table of kind "rows", with the other fields that must be the same on every node
---@return actor.mapreduce.Held
function M.hold(dataset, name, output)
  check_place(dataset, name)
  local stages, signature = plan(dataset, name, output)
  local index, recorded = enter(name)
  local held = { partitions = stages[#stages].tasks }
  local action
  local function open()
    action = begin(index, stages, signature)
    work_on(action)
  end
  if not recorded then
    recorded_if_failed(index, open)
    accumulators.count(c.accumulated())
    count_retained({ stages = stages, figures = c.figures() })
    node.finish_action(index, compile.to_bytes({ added = c.accumulated(), plan = plan_mark(signature) }))
  else
    local ok, past = pcall(past_of, recorded, signature)
    if not ok then
      skip(index)
      error(past, 0)
    end
    accumulators.count(past.added)
  end
  function held.read(partition, fn)
    if not action then open() end -- this node has joined late
    return with_results(action, function() return fn(required(api.results_of(api.streams, partition - 1))) end)
  end
  function held.release()
    if action then c.finished() else skip(index) end
  end
  return held
end

---The rows of a source as an array; pairs as tables.
---@param source ffi.cdata*
---@return any[]
function M.read_all(source)
  local out, n = {}, 0
  local loop = compile.loop({}, function(a, b)
    n = n + 1
    out[n] = as_value(a, b)
  end)
  if loop(source) < 0 then c.fail() end
  return out
end

return M
