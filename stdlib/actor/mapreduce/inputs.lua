--- Where the rows of a stage's tasks come from: splits of a source, or what tasks before have put out.
local compile = require("actor.mapreduce.compile")
local api = require("actor.ffi")("mapreduce")
local c = require("actor.c.mapreduce")

local M = {}

local required = compile.required

-- How a task opens its part of a source.
local sources = {}

function sources.lines(source, task)
  local split = source.splits[task]
  if not split.from then return required(api.lines_whole(split.path)) end
  return required(api.lines_part(split.path, split.from, split.to))
end

local put_element, bind_element = compile.writer()

function sources.array(source, task)
  local buffer = required(api.buffer())
  bind_element(buffer)
  local from, to = source.part(task)
  for i = from, to do put_element(source.array[i]) end
  return required(api.buffer_rows(buffer))
end

function sources.range(source, task)
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

---What opens a task's rows, and the function that is still to combine those of equal keys that follow each other: there
---are some where a table did not fit into memory.
---@param stage actor.mapreduce.Stage
---@return fun(task: integer): ffi.cdata* source
---@return (fun(a: any, b: any): any)? combine
function M.of(stage)
  local input = stage.input
  if input.kind == "source" then
    local source = input.dataset.source
    return function(task) return sources[source.kind](source, task) end
  end
  if input.kind == "buckets" and input.dataset.combines then
    return combining_input(input.dataset), not input.dataset.native and input.dataset.fn or nil
  end
  return needed_rows
end

return M
