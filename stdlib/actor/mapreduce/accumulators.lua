--- Accumulators: sums that tasks add to and every node reads after the action, `mr.accumulator(0)`. The additions of a
--- task travel with its report and count once, however often the task ran.
local check = require("actor.check")
local compile = require("actor.mapreduce.compile")
local rounds = require("actor.console.rounds")
local util = require("actor.util")

local M = {}

local made, newest = {}, 0 -- by number: in order of definition, the same on every node
local adding -- additions of the present task, by number

---@class actor.mapreduce.Accumulator
---@field private number integer
---@field private sum any
---@field private combine fun(a: any, b: any): any
---@field private unit? number of a counter: the addition of `add()`
local Accumulator = check.class("accumulator:", "unit")

local function plus(a, b) return a + b end

---Makes an accumulator that begins with `zero`. Functions of operations add to it; the script reads it after actions.
---```lua
---local odd = actor.mapreduce.accumulator(0)
---actor.mapreduce.range(1, 9):foreach(function(n) if n % 2 == 1 then odd:add(1) end end)
---print(odd:value())  --> 5
---```
---@param zero any
---@param combine? fun(a: any, b: any): any default a + b; associative and commutative
---@return actor.mapreduce.Accumulator
function M.new(zero, combine)
  check.optional(combine, "function", "combine", "mapreduce.accumulator")
  if zero == nil then check.wrong("zero", "mapreduce.accumulator", "a value", zero) end
  if not combine and type(zero) ~= "number" then
    check.fail("mapreduce.accumulator: a zero of type %s needs a function that combines two values", type(zero))
  end
  newest = rounds.after(newest)
  local new = setmetatable({ number = newest, sum = zero, combine = combine or plus }, Accumulator)
  made[new.number] = new
  return new
end

---Makes a counter: an accumulator of numbers that begins with 0. Its `add()` adds 1. Functions of operations count with
---it, since a captured variable cannot count over all tasks: each task has its own copy.
---```lua
---local bad = actor.mapreduce.counter()
---local rows = actor.mapreduce.parallelize({ "1", "x", "3" }):filter(function(line)
---  if not tonumber(line) then bad:add() end
---  return tonumber(line)
---end):count()
---print(rows, bad:value())  --> 2 1
---```
---@return actor.mapreduce.Accumulator
function M.counter()
  local counter = M.new(0)
  counter.unit = 1
  return counter
end

---Adds `x` to the sum. For functions of operations.
---```lua
---local lines = actor.mapreduce.accumulator(0)
---actor.mapreduce.range(1, 3):foreach(function() lines:add(1) end)
---print(lines:value())  --> 3
---```
---@param x? any of a counter a number, default 1
function Accumulator:add(x)
  if not adding then check.fail("accumulators are added to by functions of operations, while an action runs") end
  if x == nil then x = self.unit end
  if x == nil then check.wrong("x", "accumulator:add", "a value", x) end
  if self.unit and type(x) ~= "number" then check.wrong("x", "counter:add", "a number", x) end
  local before = adding[self.number]
  if before == nil then adding[self.number] = x else adding[self.number] = self.combine(before, x) end
end

---Returns the sum of `zero` and the additions of all finished actions. For the script only: a function of an operation
---knows only its own task.
---```lua
---local greatest = actor.mapreduce.accumulator(0, math.max)
---actor.mapreduce.range(1, 30):foreach(function(n) greatest:add(n) end)
---print(greatest:value())  --> 30
---```
---@return any
function Accumulator:value()
  if adding then check.fail("the value of an accumulator is known after the action") end
  return self.sum
end
Accumulator.get = Accumulator.value

function Accumulator:__tostring() return ("accumulator (%s)"):format(tostring(self.sum)) end

---Begins a task's sums.
function M.begin_task() adding = {} end

---Ends a task's sums, whether the task has succeeded or not.
function M.end_task() adding = nil end

---Returns the additions of the present task as text; nil without additions.
---@return string?
function M.added()
  if not next(adding) then return nil end
  return compile.to_bytes(adding)
end

---Counts the additions of an action's tasks.
---@param texts string[] results of `added`, in the same order on every node
function M.count(texts)
  for _, bytes in ipairs(texts) do
    for number, x in util.pairs(compile.from_bytes(bytes)) do
      local one = made[number]
      one.sum = one.combine(one.sum, x)
    end
  end
end

return M
