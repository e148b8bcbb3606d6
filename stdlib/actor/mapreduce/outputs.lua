--- What becomes of a stage's rows, by the kind of its output. Each gives `put`, which gets each row, `open`, which begins a
--- task, `finish`, which ends it, and `sink`, which tells where rows may go that have not been in Lua; the last two may be
--- nil.
local compile = require("actor.mapreduce.compile")
local api = require("actor.ffi")("mapreduce")

local M = {}

local required, as_value = compile.required, compile.as_value

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

-- One row: how many there were.
function M.count()
  local put, open = M.rows()
  local n = 0
  return function() n = n + 1 end, function()
    open()
    n = 0
  end, function() put(n) end
end

-- At most one row: all rows combined, in order.
function M.reduce(stage)
  local put, open = M.rows()
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

function M.foreach(stage)
  return stage.output.fn, function() required(api.rows()) end
end

return M
