--- The fingerprint of a pipeline: a hash that shows a later run of the job whether the pipeline makes the same rows. It
--- covers the operations, the text of their functions (without comments, independent of its place) with captured
--- numbers, texts and booleans, broadcasts, and the input. It does not cover captured tables.
local broadcasts = require("actor.mapreduce.broadcasts")
local codec = require("actor.codec")
local function_texts = require("actor.mapreduce.function_texts")
local functions = require("actor.mapreduce.functions")
local node = require("actor.c.node")

local M = {}

local files = {} -- functions' texts of the job's files; false without a source

local function texts_of(chunk)
  if files[chunk] == nil then
    local text = chunk:sub(1, 1) == "@" and node.find_source(chunk:sub(2))
    files[chunk] = text and function_texts.of(text) or false
  end
  return files[chunk] or {}
end

-- The text of a function; for a function without a source, its place.
local function text_of(fn)
  local info = debug.getinfo(fn, "S")
  local place = info.linedefined .. "-" .. info.lastlinedefined
  return texts_of(info.source)[place] or info.source .. ":" .. place
end

local scalars = { number = true, string = true, boolean = true }

local function mark_of(fn, done)
  if done[fn] then return "again" end
  done[fn] = true
  local out = { text_of(fn) }
  for i = 1, math.huge do
    local name, value = debug.getupvalue(fn, i)
    if not name then return out end
    if scalars[type(value)] then
      out[#out + 1] = { name, type(value), type(value) == "number" and ("%.17g"):format(value) or value }
    elseif broadcasts.is(value) then
      out[#out + 1] = { name, value.hash }
    elseif type(value) == "function" and functions.is_users(value) then
      out[#out + 1] = { name, mark_of(value, done) }
    end
  end
end

local function function_mark(fn)
  if type(fn) ~= "function" then return false end
  if not functions.is_users(fn) then return functions.where(fn) or "C" end
  return mark_of(fn, {})
end

local function dataset_mark(dataset, marks)
  local mark = marks[dataset]
  if mark then return mark end
  local parents = {}
  for i, parent in ipairs(dataset.parents) do parents[i] = dataset_mark(parent, marks) end
  mark = codec.hash {
    dataset.op, dataset.native or function_mark(dataset.fn), function_mark(dataset.merge), function_mark(dataset.prepare),
    dataset.signature or false, parents,
  }
  marks[dataset] = mark
  return mark
end

---The fingerprint of a dataset's rows.
---@param dataset actor.mapreduce.Dataset
---@return string 16 hexadecimal digits
function M.of(dataset) return dataset_mark(dataset, {}) end

return M
