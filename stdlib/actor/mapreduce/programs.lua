--- What the tasks of a stage do on a node.
local compile = require("actor.mapreduce.compile")
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

---What runs the tasks of `stage` on this node: the operations that need no Lua on the way in, the others as one loop.
---@param stage actor.mapreduce.Stage
---@return fun(task: integer)
function M.of(stage)
  local input, combine = inputs.of(stage)
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

return M
