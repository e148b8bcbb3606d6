--- How an action runs: every worker enters it with the same plan, works on the tasks that the tracker gives it until the
--- action is over, and then has the same result. What actions there are: actions.lua.
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
      needs = needs,
    }
  end
  return { stages = out, hash = codec.hash(signature) }
end

local within = false -- a function of an operation may be running

-- As xpcall; actions are refused meanwhile, since the process works on one at a time.
local function guarded(fn, handler)
  within = true
  local ok, result = xpcall(fn, handler)
  within = false
  return ok, result
end

-- One task.
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

-- Works on tasks until the action is over.
local function work_on(by_id, made)
  while true do
    local id, task = c.next_task()
    if not id then return end
    made[id] = made[id] or programs.of(by_id[id])
    try(made[id], task)
  end
end

-- Works until the results are there and `read` has made the action's value of them. Where a process is lost with some of
-- them meanwhile, there is work again.
local function work(stages, read)
  local by_id, made = {}, {}
  for _, stage in ipairs(stages) do by_id[stage.id] = stage end
  while true do
    work_on(by_id, made)
    local ok, result = guarded(function() return read(required(api.results())) end, function(message) return message end)
    if ok then return result end
    if not c.results_failed(tostring(result)) then error(result, 0) end
  end
end

---Runs an action whose value `read` makes of the final stage's rows (a source).
---@param dataset actor.mapreduce.Dataset
---@param name string
---@param output table what becomes of the rows
---@param read fun(source: ffi.cdata*): any
---@return any
function M.act(dataset, name, output, read)
  if not datasets.is(dataset) then check.fail("call %s with a colon: dataset:%s(...)", name, name) end
  if node.role == "server" then check.fail("mapreduce is for workers and this is a parameter server; guard with actor.role") end
  if within then
    check.fail("mapreduce.%s: a function of an operation cannot run an action; run it before and let the function capture its result",
      name)
  end
  output.label = { op = name, where = node.position() }
  local stages, signature = plans.make(dataset, output, plans.default_partitions())
  local index, replayed, value = events.enter_action("mapreduce." .. name)
  if replayed then
    local past = compile.from_bytes(value)
    accumulators.count(past.added)
    dataset.last_run = { name = "mapreduce." .. name, stages = stages, figures = past.figures }
    return past.result
  end
  faults.begin_action()
  c.begin(index, described(stages, signature))
  local result = work(stages, read)
  dataset.last_run = { name = "mapreduce." .. name, stages = stages, figures = c.figures() }
  local summary = node.rank == 0 and node.flags().progress and explain.summary(dataset.last_run)
  if summary then log.info(summary) end
  local added = c.accumulated()
  c.finished()
  accumulators.count(added)
  node.finish_action(index, compile.to_bytes({ result = result, added = added, figures = dataset.last_run.figures }))
  return result
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
