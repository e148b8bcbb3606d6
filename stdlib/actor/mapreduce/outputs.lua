--- Outputs of a stage's rows, by kind. Each function gets the stage and the state of its loop. It returns `put`, which
--- takes each row, and `open(task)`, which begins a task. Some kinds also return `finish`, which ends the task, `sink`,
--- which returns the sink for rows that need no Lua, and whether those rows must be pairs.
local best_rows = require("actor.mapreduce.best")
local compile = require("actor.mapreduce.compile")
local api = require("actor.ffi")("mapreduce")

local M = {}

local required, as_pair, some = compile.required, compile.as_pair, compile.some

---Writes rows into a sink that `make` opens for each task.
---@param make fun(task: integer): ffi.cdata*
function M.written(make)
  local put, bind = compile.writer()
  local present
  local function open(task)
    present = required(make(task))
    bind(present)
  end
  return put, open, nil, function() return present end
end

---Writes pairs into a sink that `make` opens for each task.
---@param make fun(task: integer): ffi.cdata*
function M.written_pairs(make)
  local put, open, finish, sink = M.written(make)
  local function put_pair(key, value)
    if value == nil then key, value = as_pair(key, value) end
    put(key, value)
  end
  return put_pair, open, finish, sink, true
end

function M.rows()
  return M.written(function() return api.rows(api.streams) end)
end

-- Distributes rows by their first value.
function M.buckets(stage)
  return M.written(function() return api.buckets(api.streams, stage.buckets) end)
end

-- Distributes pairs by key.
function M.keyed(stage)
  return M.written_pairs(function() return api.keyed(api.streams, stage.buckets) end)
end

-- Combines pairs by key.
function M.combine(stage)
  local dataset = stage.output.dataset
  local function make() return api.combine(api.streams, dataset.native or "", stage.buckets) end
  if dataset.native then return M.written_pairs(make) end
  local put, bind, finish = compile.combiner(dataset.fn, {
    first = dataset.initial, merge = dataset.merge, objects = dataset.objects,
  })
  return put, function() bind(required(make())) end, finish
end

-- Removes duplicate rows.
function M.distinct(stage)
  return M.written(function() return api.combine(api.streams, "row", stage.buckets) end)
end

-- Puts all rows of a task into one bucket; neighbouring tasks share a bucket.
function M.merged(stage)
  return M.written(function(task)
    local sink = required(api.placed(api.streams, stage.buckets))
    api.into(api.streams, sink, math.floor((task - 1) * stage.buckets / stage.tasks))
    return sink
  end)
end

-- Puts all rows into bucket 0, which every later task reads.
function M.shared(stage)
  return M.written(function() return api.placed(api.streams, stage.buckets) end)
end

-- Makes at most one row: `step` folds all rows into a state from `start`; `close` turns the state into the row.
function M.folded(stage)
  local put, open = M.rows()
  local output = stage.output
  local start, step, close = output.start, output.step, output.close
  local sum
  return function(a, b) sum = some(step(sum, a, b)) end, function()
    open()
    sum = start()
  end, function()
    local row = sum
    if close then row = close(sum) end
    if row ~= nil then put(row) end
  end
end

-- Passes each row to a function, and makes no rows.
function M.foreach(stage)
  return stage.output.fn, function() required(api.rows(api.streams)) end
end

-- Keeps the first rows of each task.
function M.first(stage, state)
  local put, open = M.rows()
  local most, n = stage.output.most, 0
  return function(a, b)
    if n == most then return end
    n = n + 1
    put(a, b)
    state.full = n == most
  end, function()
    open()
    n = 0
  end
end

-- Keeps the greatest rows of each task.
function M.top(stage)
  local put, open = M.rows()
  local output, best = stage.output, nil
  return function(a, b) best.put(a, b) end, function()
    open()
    best = best_rows.of(output.most, output.key_of)
  end, function()
    for _, row in ipairs(best.rows()) do put(row.a, row.b) end
  end
end

return M
