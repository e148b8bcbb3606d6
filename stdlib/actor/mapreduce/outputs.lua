--- What becomes of a stage's rows, by the kind of its output. Each gives `put`, which gets each row, `open`, which begins a
--- task, `finish`, which ends it, and `sink`, which tells where rows may go that have not been in Lua; the last two may be
--- nil. They get the stage and the state of its loop.
local best_rows = require("actor.mapreduce.best")
local compile = require("actor.mapreduce.compile")
local api = require("actor.ffi")("mapreduce")

local M = {}

local required = compile.required

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

function M.rows() return written(api.rows) end

function M.buckets(stage)
  return written(function() return api.buckets(stage.buckets) end)
end

function M.combine(stage)
  local dataset = stage.output.dataset
  local function make() return api.combine(dataset.native or "", stage.buckets) end
  if dataset.native then return written(make) end
  local put, bind, finish = compile.combiner(dataset.fn)
  return put, function() bind(required(make())) end, finish
end

-- At most one row: what `step` has made of all rows, from what `start` gives; `close` makes the row of that.
function M.folded(stage)
  local put, open = M.rows()
  local output = stage.output
  local start, step, close = output.start, output.step, output.close
  local sum
  return function(a, b) sum = step(sum, a, b) end, function()
    open()
    sum = start()
  end, function()
    local row = sum
    if close then row = close(sum) end
    if row ~= nil then put(row) end
  end
end

-- No rows: each goes to a function.
function M.foreach(stage)
  return stage.output.fn, function() required(api.rows()) end
end

-- The first rows of each task.
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

-- The greatest rows of each task.
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
