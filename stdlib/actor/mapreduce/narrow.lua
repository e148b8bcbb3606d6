--- Narrow operations: each partition is computed from one partition of the parent. Operations with one function are in
--- dataset.lua.
local check = require("actor.check")
local datasets = require("actor.mapreduce.dataset")
local ffi = require("ffi")
local node = require("actor.c.node")
require("actor.ffi")("mapreduce")

local Dataset = datasets.Dataset

---Makes a row of each element, for rows that are arrays.
---```lua
---print(actor.mapreduce.parallelize({ { 1, 2 }, { 3 } }):flatten():sum())  --> 6
---```
---@return actor.mapreduce.Dataset
function Dataset:flatten()
  if not datasets.is(self) then check.fail("call flatten with a colon: dataset:flatten()") end
  return datasets.new { kind = "narrow", op = "flatten", parents = { self } }
end

---Returns the keys of pairs.
---```lua
---print(unpack(actor.mapreduce.parallelize({ { "b", 1 }, { "a", 2 } }):keys():sort():collect()))  --> a b
---```
---@return actor.mapreduce.Dataset
function Dataset:keys()
  datasets.check(self, "keys")
  return datasets.new { kind = "narrow", op = "keys", parents = { self }, native = "keys" }
end

---Returns the values of pairs.
---```lua
---print(actor.mapreduce.parallelize({ { "b", 1 }, { "a", 2 } }):values():sum())  --> 3
---```
---@return actor.mapreduce.Dataset
function Dataset:values()
  datasets.check(self, "values")
  return datasets.new { kind = "narrow", op = "values", parents = { self }, native = "values" }
end

-- The number of samples among the ancestors of `dataset`; each sample draws its own random numbers.
local function samples_before(dataset)
  local count = 0
  for _, parent in ipairs(dataset.parents) do count = math.max(count, samples_before(parent)) end
  return count + (dataset.op == "sample" and 1 or 0)
end

---Returns a random part of the rows: each row with probability `fraction`, or with `replacement` repeated by a Poisson
---distribution of mean `fraction`. The choice depends on the seed, a row's partition and its place in the partition, so
---it is the same for every number of nodes.
---```lua
---print(actor.mapreduce.range(1, 1000):sample(0.1, { seed = 1 }):count() < 200)  --> true
---```
---@param fraction number at least 0, at most 1 without replacement
---@param options? {seed?: integer, replacement?: boolean} default the run's seed, false
---@return actor.mapreduce.Dataset
function Dataset:sample(fraction, options)
  if not datasets.is(self) then check.fail("call sample with a colon: dataset:sample(...)") end
  options = check.optional_options(options, { seed = "number?", replacement = "boolean?" }, "mapreduce.sample")
  check.number(fraction, "fraction", "mapreduce.sample", 0, not options.replacement and 1 or 1e6)
  local seed = options.seed or node.seed
  check.integer(seed, "seed", "mapreduce.sample", 0, 2 ^ 53)
  local sampler = ffi.new("ah_mr_sampler", {
    fraction = fraction, seed = seed, salt = samples_before(self), replacement = options.replacement and 1 or 0,
  })
  return datasets.new {
    kind = "narrow", op = "sample", native = "sample", parents = { self }, fn = sampler,
    signature = { fraction, seed, options.replacement or false },
  }
end

return Dataset
