--- Inputs of a stage's tasks: splits of a source, or the outputs of earlier tasks.
local ffi = require("ffi")
local enum = require("actor.enum")
local compile = require("actor.mapreduce.compile")
local api = require("actor.ffi")("mapreduce")
local c = require("actor.c.mapreduce")

local M = {}

local required, C = compile.required, ffi.C

-- How a task opens its part of a source.
local sources = {}

local split_kinds = enum("AH_MR_SPLIT", "part whole url content")
local formats = enum("AH_ROW_FORMAT", "text csv jsonl")
local csv_kinds = enum("AH_CSV_KIND", "any text number boolean")

-- The CSV options of a file as a C struct; the texts that it points to are held beside it.
local function csv_of(csv)
  local names, typed, kinds = csv.names, {}, {}
  for i, column in ipairs(csv.types) do typed[i], kinds[i] = column[1], csv_kinds[column[2]] end
  local anchors = { ffi.new("const char*[?]", #names, names), ffi.new("const char*[?]", #typed, typed), ffi.new("uint8_t[?]", #kinds, kinds),
    ffi.new("const char*[?]", #csv.na, csv.na) }
  return ffi.new("ah_mr_csv", {
    names = anchors[1], typed = anchors[2], kinds = anchors[3], names_count = #names, kinds_count = #typed, kind = csv_kinds[csv.type],
    na = anchors[4], na_count = #csv.na, header = csv.header and 1 or 0, separator = csv.separator:byte(), missing = { bytes = csv.missing, size = #csv.missing },
  }), anchors
end

function sources.files(source, task)
  local split = source.splits[task]
  local csv, anchors
  if source.csv then csv, anchors = csv_of(source.csv) end
  local rows = required(api.split(api.streams, ffi.new("ah_mr_split", {
    path = split.path, kind = split_kinds[split.kind], skip = source.skip and 1 or 0, from = split.from or 0, to = split.to or 0,
    size = split.size or -1, seconds = source.seconds, ca_file = source.ca_file, format = formats[source.format], csv = csv,
  })))
  return rows, anchors
end

local put_element, bind_element = compile.writer()

function sources.array(source, task)
  local buffer = required(api.buffer(api.streams))
  bind_element(buffer)
  local from, to = source.part(task)
  for i = from, to do put_element(source.array[i]) end
  return required(api.buffer_rows(api.streams, buffer))
end

function sources.range(source, task)
  local from, to = source.part(task)
  return required(api.range(api.streams, source.first, source.step, from, to))
end

function sources.checkpoint(source, task)
  return required(api.row_file(api.streams, source.folder, source.id, task - 1))
end

-- By the kind of a stage's `input`. Each returns a function that opens the rows of a task, and optionally the first
-- step of the loop: a function that combines values of adjacent equal keys, or a reader. The input's first need is the
-- k-th (from 0) of the stage.
local kinds = {}

function kinds.source(input)
  local source = input.dataset.source
  return function(task) return sources[source.kind](source, task) end
end

function kinds.rows(_, _, k)
  return function() return required(api.needed(api.streams, k)) end
end

-- Puts all rows of the k-th need into `sink`.
local function pour(sink, k)
  if api.pour(api.streams, sink, required(api.needed(api.streams, k))) < 0 then c.fail() end
end

-- Combines rows natively; merges states if earlier tasks have combined the rows already.
local function combined_natively(native)
  return function()
    local sink = required(api.combine(api.streams, native, 0))
    pour(sink, 0)
    return required(api.combined(api.streams, sink))
  end
end

function kinds.distinct(input) return combined_natively("row") end

function kinds.combined(input, stage)
  local dataset = input.dataset
  if dataset.native then return combined_natively(dataset.native) end
  -- Rows that did not move have not been combined yet.
  local fresh = not stage.needs[1].wide
  local _, bind, finish, put = compile.combiner(fresh and dataset.fn or dataset.merge or dataset.fn, {
    first = fresh and dataset.initial or nil, merge = dataset.merge, objects = fresh and dataset.objects, own = true,
  })
  local loop = compile.raw_loop(put, { put = dataset })
  return function()
    local sink = required(api.combine(api.streams, "", 0))
    bind(sink)
    if loop(required(api.needed(api.streams, 0))) < 0 then c.fail() end
    finish()
    return required(api.combined(api.streams, sink))
  end, dataset.merge or dataset.fn
end

local function sorters(stage, rows)
  local count = #stage.needs
  local made = ffi.new("ah_mr_sink*[?]", count)
  for i = 0, count - 1 do
    made[i] = required(api.sorter(api.streams, C.AH_SORT_ORDER_HASH, rows, count))
    pour(made[i], i)
  end
  return made, count
end

function kinds.groups(input, stage)
  return function()
    return required(api.groups(api.streams, sorters(stage, C.AH_MR_SORT_ANY)))
  end, input.dataset.reader()
end

local set_operations = enum("AH_SET_OPERATION", "intersection subtract")

function kinds.set(input, stage)
  return function()
    local made = sorters(stage, C.AH_MR_SORT_WHOLE)
    return required(api.set_of(api.streams, made[0], made[1], set_operations[input.dataset.op]))
  end
end

function kinds.sorted(input)
  local dataset = input.dataset
  return function()
    local order = dataset.descending and C.AH_SORT_ORDER_DESCENDING or C.AH_SORT_ORDER_ASCENDING
    local sorter = required(api.sorter(api.streams, order, dataset.fn and C.AH_MR_SORT_UNDER or C.AH_MR_SORT_ANY, 1))
    pour(sorter, 0)
    return required(api.sorted(api.streams, sorter))
  end
end

-- A reader from the operation itself (ordered.lua): it opens its inputs itself.
function kinds.own(input) return input.open() end

---Returns a function that opens the rows of a task, for a stage or one branch of it.
---@param input table
---@param stage actor.mapreduce.Stage
---@param k integer index of the input's first need in the stage, from 0
---@return fun(task: integer): ffi.cdata* source
---@return (fun(a: any, b: any): any)|{read: function}|nil combine the `combine` argument of compile.loop
function M.of(input, stage, k) return kinds[input.kind](input, stage, k) end

return M
