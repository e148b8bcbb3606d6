--- Actions: what runs a pipeline. Every worker enters the same action with the same plan, works on the tasks that the
--- tracker gives it until the action is over, and then has the same result.
local check = require("actor.check")
local codec = require("actor.codec")
local compile = require("actor.mapreduce.compile")
local datasets = require("actor.mapreduce.dataset")
local events = require("actor.events")
local explain = require("actor.mapreduce.explain")
local log = require("actor.log")
local natives = require("actor.mapreduce.natives")
local node = require("actor.c.node")
local plans = require("actor.mapreduce.plan")
local api = require("actor.ffi")("mapreduce")
local c = require("actor.c.mapreduce")

local Dataset = datasets.Dataset

-- ---- a task ----

local function required(pointer)
  if pointer == nil then c.fail() end
  return pointer
end

-- How a task opens its part of a source.
local inputs = {}

function inputs.lines(source, task)
  local split = source.splits[task]
  if not split.from then return required(api.lines_whole(split.path)) end
  return required(api.lines_part(split.path, split.from, split.to))
end

local put_element, bind_element = compile.writer()

function inputs.array(source, task)
  local buffer = required(api.buffer())
  bind_element(buffer)
  local from, to = source.part(task)
  for i = from, to do put_element(source.array[i]) end
  return required(api.buffer_rows(buffer))
end

function inputs.range(source, task)
  local from, to = source.part(task)
  return required(api.range(source.first, source.step, from, to))
end

local function needed_rows() return required(api.needed(0)) end

-- What the tasks before have combined by key, combined once more.
local function combining_input(dataset)
  if dataset.native then
    return function()
      local sink = required(api.combine(dataset.native, 0))
      if api.pour(sink, needed_rows()) < 0 then c.fail() end
      return required(api.combined(sink))
    end
  end
  local put, bind, finish = compile.combiner(dataset.fn)
  local loop = compile.loop({}, put)
  return function()
    local sink = required(api.combine("", 0))
    bind(sink)
    if loop(needed_rows()) < 0 then c.fail() end
    finish()
    return required(api.combined(sink))
  end
end

-- What opens a task's rows, and the function that is still to combine those of equal keys that follow each other: there
-- are some where a table did not fit into memory.
local function input_of(stage)
  local input = stage.input
  if input.kind == "source" then
    local source = input.dataset.source
    return function(task) return inputs[source.kind](source, task) end
  end
  if input.kind == "buckets" and input.dataset.combines then
    return combining_input(input.dataset), not input.dataset.native and input.dataset.fn or nil
  end
  return needed_rows
end

local function as_value(a, b)
  if b ~= nil then return { a, b } end
  return a
end

-- What becomes of a stage's rows: `put` gets each, `open` begins a task, `finish` ends it, `sink` is where rows may go
-- that have not been in Lua.
local outputs = {}

-- Into a sink that `make` opens for each task.
local function written(make)
  local put, bind = compile.writer()
  local present
  local function open()
    present = required(make())
    bind(present)
  end
  return put, open, nil, function() return present end
end

function outputs.rows() return written(api.rows) end

function outputs.buckets(stage)
  return written(function() return api.buckets(stage.buckets) end)
end

function outputs.combine(stage)
  local dataset = stage.output.dataset
  local function make() return api.combine(dataset.native or "", stage.buckets) end
  if dataset.native then return written(make) end
  local put, bind, finish = compile.combiner(dataset.fn)
  return put, function() bind(required(make())) end, finish
end

-- One row: how many there were.
function outputs.count()
  local put, open = outputs.rows()
  local n = 0
  return function() n = n + 1 end, function()
    open()
    n = 0
  end, function() put(n) end
end

-- At most one row: all rows combined, in order.
function outputs.reduce(stage)
  local put, open = outputs.rows()
  local fn, any, value = stage.output.fn, false, nil
  local function take(a, b)
    if any then
      value = fn(value, as_value(a, b))
    else
      any, value = true, as_value(a, b)
    end
  end
  return take, function()
    open()
    any, value = false, nil
  end, function()
    if any then put(value) end
  end
end

function outputs.foreach(stage)
  return stage.output.fn, function() required(api.rows()) end
end

-- How many operations at the beginning of `ops` need no Lua.
local function native_ones(ops)
  for i, op in ipairs(ops) do
    if natives.operations[op.native] ~= op.op then return i - 1 end
  end
  return #ops
end

-- What runs the tasks of `stage` on this node: the operations that need no Lua on the way in, the others as one loop.
local function program_of(stage)
  local input, combine = input_of(stage)
  local put, open, finish, sink = outputs[stage.output.kind](stage)
  local native = combine and 0 or native_ones(stage.ops)
  local rest = {}
  for i = native + 1, #stage.ops do rest[#rest + 1] = stage.ops[i] end
  local loop = compile.loop(rest, put, combine)
  if sink and #rest == 0 and not combine then
    loop = function(source) return api.pour(sink(), source) end
  end
  return function(task)
    local source = input(task)
    for i = 1, native do source = required(api.through(source, stage.ops[i].native)) end
    open()
    if loop(source) < 0 then c.fail() end
    if finish then finish() end
  end
end

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

-- Works until the action is over; then final outputs can be read.
local function work(index, stages, signature)
  local by_id, programs = {}, {}
  for _, stage in ipairs(stages) do by_id[stage.id] = stage end
  c.begin(index, described(stages, signature))
  while true do
    local id, task = c.next_task()
    if not id then return end
    local program = programs[id] or program_of(by_id[id])
    programs[id] = program
    local ok, message = pcall(program, task)
    if ok then c.done() else c.failed(tostring(message)) end
  end
end

-- Runs an action whose value `read` makes of the final stage's rows (a source).
local function act(dataset, name, output, read)
  if not datasets.is(dataset) then check.fail("call %s with a colon: dataset:%s(...)", name, name) end
  if node.role == "server" then check.fail("mapreduce is for workers and this is a parameter server; guard with actor.role") end
  local stages, signature = plans.make(dataset, output, plans.default_partitions())
  local index, replayed, value = events.enter_action("mapreduce." .. name)
  if replayed then return codec.decode(value) end
  work(index, stages, signature)
  dataset.last_run = { name = "mapreduce." .. name, stages = stages, figures = c.figures() }
  local summary = node.rank == 0 and node.flags().progress and explain.summary(dataset.last_run)
  if summary then log.info(summary) end
  local result = read(required(api.results()))
  c.finished()
  node.finish_action(index, codec.encode(result))
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
