--- What the tasks of a stage do on a node.
local compile = require("actor.mapreduce.compile")
local faults = require("actor.mapreduce.faults")
local inputs = require("actor.mapreduce.inputs")
local natives = require("actor.mapreduce.natives")
local outputs = require("actor.mapreduce.outputs")
local api = require("actor.ffi")("mapreduce")
local c = require("actor.c.mapreduce")

local M = {}

local required = compile.required

-- How many operations at the beginning of `ops` need no Lua.
local function native_ones(ops)
  for i, op in ipairs(ops) do
    if natives.operations[op.native] ~= op.op then return i - 1 end
  end
  return #ops
end

-- `source` through an operation that needs no Lua.
local function natively(source, op, task)
  if op.op == "sample" then return required(api.sample(source, op.fn, task)) end
  return required(api.through(source, op.native))
end

---What runs the tasks of `stage` on this node: the operations that need no Lua on the way in, the others as one loop.
---@param stage actor.mapreduce.Stage
---@return fun(task: integer)
function M.of(stage)
  local input, combine = inputs.of(stage)
  local state = {}
  local put, open, finish, sink = outputs[stage.output.kind](stage, state)
  local native = combine and 0 or native_ones(stage.ops)
  local rest = {}
  for i = native + 1, #stage.ops do rest[#rest + 1] = stage.ops[i] end
  local labels = { put = stage.output.label or stage.output.dataset, combine = stage.input.dataset }
  local loop = compile.loop(rest, put, combine, labels, state)
  if sink and #rest == 0 and not combine then
    loop = function(source) return api.pour(sink(), source) end
  end
  return function(task)
    faults.doing, state.full = stage.input.dataset, nil
    local source = input(task)
    for i = 1, native do source = natively(source, stage.ops[i], task) end
    open(task)
    faults.doing = nil
    if loop(source, task) < 0 then c.fail() end
    faults.doing = labels.put
    if finish then finish() end
    c.finish_output()
  end
end

return M
