--- `mr.apply`: a stage defined by the user, with named inputs and named outputs. Task i gets partition i of each input.
--- The stage makes one dataset; each row carries the number of its output. Each output is a filter of that dataset.
local check = require("actor.check")
local compile = require("actor.mapreduce.compile")
local datasets = require("actor.mapreduce.dataset")
local functions = require("actor.mapreduce.functions")
local readers = require("actor.mapreduce.readers")
local util = require("actor.util")
local api = require("actor.ffi")("mapreduce")

local M = {}

local required = compile.required

-- Turns a reader's puller into an iterator for `for`.
local function rows_of(pull)
  return function()
    local there, a, b = pull()
    if not there then return nil end
    if a == nil and b ~= nil then error("pairs whose key is nil cannot be iterated over", 0) end
    return a, b
  end
end

-- Calls `take` with each row of a function's result: an array, an iterator or nothing.
local function each_of(rows, what, take)
  if rows == nil then return end
  if type(rows) == "function" then
    for a, b, c in rows do
      if c ~= nil then error(what .. " gave three values, and a row is a value or a pair (a table holds several)", 0) end
      take(a, b)
    end
  elseif type(rows) == "table" then
    local n = compile.length(rows)
    for i = 1, n do
      if rows[i] == nil then compile.no_array(n) end
      take(rows[i])
    end
  else
    error(("%s has to be an array or an iterator, got a %s"):format(what, type(rows)), 0)
  end
end

-- The rows of output number i in the common dataset: pairs with a negative number.
local function named(i, rest)
  return function(a, b)
    if b ~= nil then rest(-i, { a, b }) else rest(i, a) end
  end
end

-- Returns a function that opens the inputs of a task, calls the user's function and passes its rows on.
local function open(dataset)
  local sources, task = {}, nil
  local names, outputs, fn = dataset.names, dataset.outputs, dataset.fn
  local reader = {}
  function reader.read(_, rest)
    local inputs = {}
    for i, name in ipairs(names) do inputs[name] = rows_of(readers.puller(sources[i])) end
    local result = fn(inputs, task)
    if not outputs then
      each_of(result, "what it returns", rest)
      return 0
    end
    if type(result) ~= "table" then error("it has to return a table of outputs, got a " .. type(result), 0) end
    for name in pairs(result) do
      if not dataset.numbers[name] then error(("it returned '%s', which is no output"):format(tostring(name)), 0) end
    end
    for i, name in ipairs(outputs) do each_of(result[name], "output '" .. name .. "'", named(i, rest)) end
    return 0
  end
  return function(number)
    task = number
    for i in ipairs(names) do sources[i] = required(api.needed(api.streams, i - 1)) end
    return sources[1]
  end, reader
end

local function plan(planner, dataset)
  local needs = {}
  for i, parent in ipairs(dataset.parents) do
    local stage = planner:rows(parent)
    needs[i] = { stage = stage, wide = false }
    if stage.tasks ~= needs[1].stage.tasks then
      check.fail("mapreduce.apply: input '%s' has %d partitions and '%s' %d; coalesce or shuffle them to as many",
        dataset.names[1], needs[1].stage.tasks, dataset.names[i], stage.tasks)
    end
  end
  local input = { kind = "own", dataset = dataset, open = function() return open(dataset) end }
  return planner:stage { tasks = needs[1].stage.tasks, input = input, needs = needs }
end

local function check_outputs(outputs)
  check.optional(outputs, "table", "outputs", "mapreduce.apply")
  local numbers = {}
  for i, name in ipairs(outputs or {}) do
    if type(name) ~= "string" then check.wrong("outputs", "mapreduce.apply", "names", name) end
    if numbers[name] then check.fail("mapreduce.apply: output '%s' is named twice", name) end
    numbers[name] = i
  end
  if outputs and #outputs == 0 then check.fail("mapreduce.apply: 'outputs' names none") end
  return numbers
end

---Makes a stage of your own. `fn(inputs, i)` gets a table with an iterator over partition i of each input, by name. It
---returns a table with the rows of each output, by name: an array or an iterator. A pair arrives as two values. All
---inputs need the same number of partitions.
---```lua
---local mr = actor.mapreduce
---local halves = mr.apply(function(inputs)
---  local even, odd = {}, {}
---  for n in inputs.numbers do table.insert(n % 2 == 0 and even or odd, n) end
---  return { even = even, odd = odd }
---end, { numbers = mr.range(1, 10) }, { "even", "odd" })
---print(halves.even:sum(), halves.odd:sum())  --> 30 25
---```
---@param fn fun(inputs: table<string, fun(): any, any>, partition: integer): any
---@param inputs table<string, actor.mapreduce.Dataset>
---@param outputs? string[] names of the outputs; without names `fn` returns rows, and apply one dataset
---@return table<string, actor.mapreduce.Dataset>|actor.mapreduce.Dataset
function M.apply(fn, inputs, outputs)
  fn = functions.given(fn, "fn", "apply")
  check.arg(inputs, "table", "inputs", "mapreduce.apply")
  local names, parents = {}, {}
  for name, dataset in util.pairs(inputs) do
    if not datasets.is(dataset) then check.wrong("inputs." .. tostring(name), "mapreduce.apply", "a dataset", dataset) end
    names[#names + 1], parents[#parents + 1] = name, dataset
  end
  if #names == 0 then check.fail("mapreduce.apply: 'inputs' names none") end
  local numbers = check_outputs(outputs)
  local all = datasets.new {
    kind = "wide", op = "apply", parents = parents, plan = plan, fn = functions.freeze(fn), names = names,
    outputs = outputs, numbers = numbers, signature = { names, outputs or false },
  }
  if not outputs then return all end
  local out = {}
  for i, name in ipairs(outputs) do
    out[name] = datasets.new { kind = "narrow", op = "output", shown = "apply", parents = { all }, fn = i, signature = name }
  end
  return out
end

return M
