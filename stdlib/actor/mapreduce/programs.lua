--- Programs: run the tasks of a stage on a node.
local compile = require("actor.mapreduce.compile")
local faults = require("actor.mapreduce.faults")
local inputs = require("actor.mapreduce.inputs")
local natives = require("actor.mapreduce.natives")
local outputs = require("actor.mapreduce.outputs")
local util = require("actor.util")
local api = require("actor.ffi")("mapreduce")
local c = require("actor.c.mapreduce")

local M = {}

local required = compile.required

-- Whether the rows are in Lua anyway. (Only Lua finds the two elements of a table with tensors.)
local function is_array(input) return input.kind == "source" and input.dataset.source.kind == "array" end

local splits_tables = { keys = true, values = true }

-- The number of leading operations in `ops` that need no Lua.
local function native_ones(input, ops)
  for i, op in ipairs(ops) do
    if natives.operations[op.native] ~= op.op or (splits_tables[op.op] and is_array(input)) then return i - 1 end
  end
  return #ops
end

-- For rows of a range or an array, which a loop of `ops` can read by itself: the kind of the loop, and a function that
-- opens a task. Returns nil for other rows.
local function counted(input, ops)
  local source = input.kind == "source" and input.dataset.source
  if not source or not compile.counts(ops) then return nil end
  if source.kind == "range" then
    return "range", function(task)
      local from, to = source.part(task)
      return compile.range(source.first, source.step, from, to - 1)
    end
  elseif source.kind == "array" then
    return "array", function(task) return compile.array(source.array, source.part(task)) end
  end
end

-- Appends an operation that needs no Lua to `source`.
local function natively(source, op, task)
  if op.op == "sample" then return required(api.sample(api.streams, source, op.fn, task)) end
  return required(api.through(api.streams, source, op.native))
end

-- Returns a function that runs a task from its rows to its output: first the operations that need no Lua, then the
-- others in a loop.
local function runner(stage, input, k, ops, output)
  local open_rows, combine = inputs.of(input, stage, k)
  local native = combine and 0 or native_ones(input, ops)
  local rest = {}
  for i = native + 1, #ops do rest[#rest + 1] = ops[i] end
  local labels = { put = stage.output.label or stage.output.dataset, combine = input.dataset }
  local poured = output.sink and #rest == 0 and not combine and not (output.of_pairs and is_array(input))
  local kind, open_counted
  if not poured and native == 0 then kind, open_counted = counted(input, rest) end
  open_rows = open_counted or open_rows
  local loop = not poured and compile.loop(rest, output.put, combine, labels, output.state, kind)
  return function(task, own)
    faults.doing, output.state.full = labels.put, nil
    local finished = output.state.finished
    if finished and finished(task) then return c.finish_output() end
    faults.doing = input.dataset
    local source = open_rows(own)
    for i = 1, native do source = natively(source, ops[i], task) end
    output.open(task)
    if poured then
      faults.doing = labels.put
      if output.of_pairs then source = required(api.through(api.streams, source, "pairs")) end
      if api.pour(api.streams, output.sink(), source) < 0 then c.fail() end
    else
      faults.doing = nil
      if loop(source, task) < 0 then c.fail() end
    end
    faults.doing = labels.put
    if output.finish then output.finish() end
    c.finish_output()
  end
end

-- A runner for each branch of a union.
local function branched(stage, output)
  local branches = {}
  for i, branch in ipairs(stage.input.branches) do
    local ops = util.joined(branch.ops, stage.ops)
    branches[i] = { first = branch.first, run = runner(stage, branch.input, branch.need, ops, output) }
  end
  return function(task)
    local i = #branches
    while branches[i].first >= task do i = i - 1 end
    branches[i].run(task, task - branches[i].first)
  end
end

-- The program of a stage with a function of its own.
local function of_its_own(stage)
  local run = stage.program(stage)
  return function(task)
    faults.doing = stage.input.dataset
    run(task)
    c.finish_output()
  end
end

---A function that runs the tasks of `stage` on this node.
---@param stage actor.mapreduce.Stage
---@return fun(task: integer)
function M.of(stage)
  if stage.program then return of_its_own(stage) end
  local output = { state = {} }
  output.put, output.open, output.finish, output.sink, output.of_pairs = outputs[stage.output.kind](stage, output.state)
  if stage.input.branches then return branched(stage, output) end
  local run = runner(stage, stage.input, 0, stage.ops, output)
  return function(task) run(task, task) end
end

return M
