--- Actions: what runs a pipeline. Every worker enters the same action with the same plan, works on the tasks that the
--- tracker gives it until the action is over, and then has the same result.
local check = require("actor.check")
local codec = require("actor.codec")
local compile = require("actor.mapreduce.compile")
local datasets = require("actor.mapreduce.dataset")
local events = require("actor.events")
local explain = require("actor.mapreduce.explain")
local log = require("actor.log")
local node = require("actor.c.node")
local plans = require("actor.mapreduce.plan")
local programs = require("actor.mapreduce.programs")
local api = require("actor.ffi")("mapreduce")
local c = require("actor.c.mapreduce")

local Dataset = datasets.Dataset

local required, as_value = compile.required, compile.as_value

-- ---- an action ----

local function described(stages, signature)
  local out = {}
  for i, stage in ipairs(stages) do
    local needs = {}
    for k, need in ipairs(stage.needs) do needs[k] = { stage = need.stage.id, wide = need.wide } end
    out[i] = {
      id = stage.id, name = stage.name, tasks = stage.tasks, buckets = stage.buckets, keep = stage.keep or false,
      needs = needs,
    }
  end
  return { stages = out, hash = codec.hash(signature) }
end

-- Works on tasks until the action is over.
local function work_on(by_id, made)
  while true do
    local id, task = c.next_task()
    if not id then return end
    local program = made[id] or programs.of(by_id[id])
    made[id] = program
    local ok, message = pcall(program, task)
    if ok then ok, message = pcall(c.done) end
    if not ok then c.failed(tostring(message)) end
  end
end

-- Works until the results are there and `read` has made the action's value of them. Where a process is lost with some of
-- them meanwhile, there is work again.
local function work(stages, read)
  local by_id, made = {}, {}
  for _, stage in ipairs(stages) do by_id[stage.id] = stage end
  while true do
    work_on(by_id, made)
    local ok, result = pcall(function() return read(required(api.results())) end)
    if ok then return result end
    if not c.results_failed(tostring(result)) then error(result, 0) end
  end
end

-- Runs an action whose value `read` makes of the final stage's rows (a source).
local function act(dataset, name, output, read)
  if not datasets.is(dataset) then check.fail("call %s with a colon: dataset:%s(...)", name, name) end
  if node.role == "server" then check.fail("mapreduce is for workers and this is a parameter server; guard with actor.role") end
  local stages, signature = plans.make(dataset, output, plans.default_partitions())
  local index, replayed, value = events.enter_action("mapreduce." .. name)
  if replayed then return compile.from_bytes(value) end
  c.begin(index, described(stages, signature))
  local result = work(stages, read)
  dataset.last_run = { name = "mapreduce." .. name, stages = stages, figures = c.figures() }
  local summary = node.rank == 0 and node.flags().progress and explain.summary(dataset.last_run)
  if summary then log.info(summary) end
  c.finished()
  node.finish_action(index, compile.to_bytes(result))
  return result
end

local function read_all(source)
  local out, n = {}, 0
  local loop = compile.loop({}, function(a, b)
    n = n + 1
    out[n] = as_value(a, b)
  end)
  if loop(source) < 0 then c.fail() end
  return out
end

---All rows, in order of partitions; a pair is {k, v}.
---@return any[]
function Dataset:collect()
  return act(self, "collect", { kind = "rows" }, read_all)
end

---How many rows there are.
---@return integer
function Dataset:count()
  return act(self, "count", { kind = "count" }, function(source)
    local sum = 0
    for _, n in ipairs(read_all(source)) do sum = sum + n end
    return sum
  end)
end

---All rows combined by `fn(a, b)`, which has to be associative; within partitions first, in order. nil without rows.
---@param fn fun(a: any, b: any): any
---@return any
function Dataset:reduce(fn)
  check.arg(fn, "function", "fn", "mapreduce.reduce")
  return act(self, "reduce", { kind = "reduce", fn = fn }, function(source)
    local value
    for i, part in ipairs(read_all(source)) do
      if i == 1 then value = part else value = fn(value, part) end
    end
    return value
  end)
end

---Calls `fn` with each row, on whichever node has it.
---@param fn fun(a: any, b: any)
function Dataset:foreach(fn)
  check.arg(fn, "function", "fn", "mapreduce.foreach")
  act(self, "foreach", { kind = "foreach", fn = fn }, function() return nil end)
end

return Dataset
