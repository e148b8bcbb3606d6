--- Seeded random numbers. A seed and a stream give the same numbers in every VM, on every machine and in C++ (`Rng`).
--- `require "actor.rng"` returns a function: rng(seed, stream) -> generator.
---```lua
---local rng = actor.rng(actor.seed, actor.rank) -- other numbers on each rank
---print(rng:uniform() < 1, rng:int(1, 6) <= 6)  --> true true
---```
local check = require("actor.check")
local ffi = require("ffi")
local core = require("actor.ffi")("core")

---@class actor.Rng
local Rng = {}

---Draws a number uniformly from [low, high), by default [0, 1).
---```lua
---print(("%.4f"):format(actor.rng(1):uniform()))  --> 0.0077
---```
---@param low? number
---@param high? number
---@return number
function Rng:uniform(low, high)
  if low == nil then return core.rng_uniform(self) end
  check.number(low, "low", "rng:uniform")
  check.number(high, "high", "rng:uniform", low)
  return low + (high - low) * core.rng_uniform(self)
end

---Draws a whole number from 0 to bound - 1, each with the same probability.
---```lua
---print(actor.rng(1):below(10))  --> 0
---```
---@param bound number 1 .. 2^53
---@return number
function Rng:below(bound)
  check.integer(bound, "bound", "rng:below", 1, 2 ^ 53)
  return core.rng_below(self, bound)
end

---Draws a whole number from `low` to `high`, each with the same probability. rng:int(high) draws from 1 to `high`, like
---math.random.
---```lua
---print(actor.rng(1):int(1, 6))  --> 1
---```
---@param low number
---@param high? number
---@return number
function Rng:int(low, high)
  if high == nil then low, high = 1, low end
  check.integer(low, "low", "rng:int", -2 ^ 52, 2 ^ 52)
  check.integer(high, "high", "rng:int", low, 2 ^ 52)
  return low + core.rng_below(self, high - low + 1)
end

---Draws from a normal distribution.
---```lua
---print(("%.4f"):format(actor.rng(1):normal(5, 2)))  --> 4.8244
---```
---@param mean? number default 0
---@param deviation? number standard deviation, default 1
---@return number
function Rng:normal(mean, deviation)
  if mean == nil then return core.rng_normal(self) end
  check.number(mean, "mean", "rng:normal")
  check.number(deviation == nil and 1 or deviation, "deviation", "rng:normal", 0)
  return mean + (deviation or 1) * core.rng_normal(self)
end

---Draws from an exponential distribution.
---```lua
---print(("%.4f"):format(actor.rng(1):exponential(3)))  --> 0.0231
---```
---@param mean? number default 1
---@return number
function Rng:exponential(mean)
  if mean == nil then mean = 1 end
  check.number(mean, "mean", "rng:exponential", 0)
  return core.rng_exponential(self, mean)
end

---Draws from a gamma distribution; its mean is shape * scale.
---```lua
---print(("%.4f"):format(actor.rng(1):gamma(2, 3)))  --> 4.6675
---```
---@param shape number above 0
---@param scale? number default 1
---@return number
function Rng:gamma(shape, scale)
  check.number(shape, "shape", "rng:gamma")
  if shape <= 0 then check.wrong("shape", "rng:gamma", "a number above 0", shape) end
  if scale == nil then scale = 1 end
  check.number(scale, "scale", "rng:gamma", 0)
  return core.rng_gamma(self, shape, scale)
end

---Shuffles an array in place and returns it.
---```lua
---print(unpack(actor.rng(1):shuffle { 1, 2, 3, 4 }))  --> 3 4 2 1
---```
---@generic T
---@param array T[]
---@return T[]
function Rng:shuffle(array)
  check.arg(array, "table", "array", "rng:shuffle")
  for i = #array, 2, -1 do
    local j = core.rng_below(self, i) + 1
    array[i], array[j] = array[j], array[i]
  end
  return array
end

---Draws `count` elements of a population without replacement, in random order; all elements if there are fewer. The
---cost depends on `count`, not on the size of the population.
---```lua
---print(unpack(actor.rng(1):sample(100, 3)))  --> 1 59 15
---```
---@param population any[]|number an array, or n for the whole numbers 1 .. n
---@param count number
---@return any[]
function Rng:sample(population, count)
  local array = type(population) == "table" and population or nil
  if not array then check.integer(population, "population", "rng:sample", 0, 2 ^ 53) end
  check.integer(count, "count", "rng:sample", 0)
  local n = array and #array or population
  local moved, out = {}, {}
  for i = 1, math.min(count, n) do
    local j = i + core.rng_below(self, n - i + 1)
    local chosen = moved[j] or j
    moved[j] = moved[i] or i
    out[i] = array and array[chosen] or chosen
  end
  return out
end

Rng.__index = setmetatable(Rng, check.strict("rng:"))
local new = ffi.metatype("struct ah_rng", Rng)

---Makes the generator of a seed and a stream. Different streams are independent.
---@param seed number|integer whole number from 0, or a 64-bit cdata
---@param stream? number|integer default 0
---@return actor.Rng
local function rng(seed, stream)
  if stream == nil then stream = 0 end
  if type(seed) ~= "cdata" then check.integer(seed, "seed", "actor.rng", 0, 2 ^ 53) end
  if type(stream) ~= "cdata" then check.integer(stream, "stream", "actor.rng", 0, 2 ^ 53) end
  local generator = new()
  core.rng_init(generator, seed, stream)
  return generator
end

return rng
