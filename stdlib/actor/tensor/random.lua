--- Random tensors. An element is a function of (seed, stream, element number) alone, by Philox4x32-10 (Salmon et al.,
--- SC 2011). It is the same on every machine, for any number of threads, and whether elements are drawn at once or in
--- parts. The streams of a seed have no element in common, so each rank uses its own stream.
---
---     local random = tensor.random { seed = actor.seed, stream = actor.id }
---     local x = tensor.normal({ 128, 784 }, { rng = random })       -- each call continues after the previous one
---     local k = tensor.poisson(100, 4, { seed = 1 })                -- elements 1 to 100 of seed 1
---
--- The options of all functions name the source of elements: `rng`, a generator of tensor.random (a generator of
--- actor.rng gives the seed of a new generator), or `seed` and `stream`. The default is the VM's generator, seeded by
--- the run's seed.
local ffi = require("ffi")
local check = require("actor.check")
local enum = require("actor.enum")
local rng = require("actor.rng")
local util = require("actor.util")
local base = require("actor.tensor.base")
local api = require("actor.ffi")("linalg")

local methods = base.methods
local M = {}

local distributions = enum("AH_DISTRIBUTION", "uniform normal exponential gamma poisson bernoulli integers")
local max_poisson_mean = 1e9
local most = 2 ^ 52            -- whole numbers are drawn as float64
-- The range of whole numbers that an element type holds; none for bool.
local holds = {
  float32 = { -2 ^ 24, 2 ^ 24 }, float64 = { -most, most }, int32 = { -2 ^ 31, 2 ^ 31 - 1 }, int64 = { -most, most },
  uint8 = { 0, 255 }, bool = { 1, 0 },
}

---@class actor.Random a generator of tensor.random
---@field seed integer 64 bits
---@field stream integer
---@field drawn integer how many elements have been drawn
local Random = ffi.metatype("ah_random", {
  __tostring = function(r)
    return ("random(seed %s, stream %d, %s drawn)"):format(tostring(r.seed):gsub("ULL", ""), r.stream,
      (tostring(r.drawn):gsub("ULL", "")))
  end,
})

---The common options of the functions that draw.
---@class actor.random.Source
---@field rng? actor.Random|actor.Rng the source of elements: the next elements of a generator
---@field seed? integer the source: the elements of this seed, from the first
---@field stream? integer the stream of the seed, default 0
---@field dtype? actor.Dtype element type of the result: float32 (default) or float64; for whole numbers "int64"
---  (default) or another type that holds them

local function new_random(seed, stream, drawn, fn)
  if not (ffi.istype("uint64_t", seed) or ffi.istype("int64_t", seed)) then check.integer(seed, "seed", fn, 0, 2 ^ 53) end
  check.integer(stream, "stream", fn, 0, 2 ^ 32 - 1)
  check.integer(drawn, "drawn", fn, 0, 2 ^ 53)
  return Random(seed, drawn, stream)
end

---Makes a generator of random tensors, for the option `rng` of the functions that draw.
---```lua
---local generator = actor.tensor.random { seed = 1 }
---local first, second = actor.tensor.normal(2, { rng = generator }), actor.tensor.normal(2, { rng = generator })
---print(first:equal(second))  --> false
---```
---@param options {seed: integer, stream?: integer, drawn?: integer} `seed` from 0, may be a 64-bit cdata; `stream`
---  0 .. 2^32 - 1, default 0; `drawn`: number of elements to skip, default 0
---@return actor.Random
function M.random(options)
  local fn = "tensor.random"
  check.options(options, { seed = "number|cdata", stream = "number?", drawn = "number?" }, fn)
  return new_random(options.seed, options.stream or 0, options.drawn or 0, fn)
end

local default

-- The generator selected by the options.
local function generator(options, fn)
  local from = options.rng
  if from ~= nil then
    if options.seed ~= nil then check.fail("bad argument to %s: 'rng' and 'seed' exclude each other", fn) end
    if options.stream ~= nil then check.fail("bad argument to %s: 'rng' and 'stream' exclude each other", fn) end
    if ffi.istype(Random, from) then return from end
    if not ffi.istype("struct ah_rng", from) then
      check.wrong("rng", fn, "a generator of tensor.random or actor.rng", from)
    end
    return Random(from:below(2 ^ 53), 0, 0)
  end
  if options.seed ~= nil then return new_random(options.seed, options.stream or 0, 0, fn) end
  if options.stream ~= nil then
    check.fail("bad argument 'stream' to %s: a stream belongs to a seed; give 'seed' too", fn)
  end
  default = default or Random(math.random(0, 2 ^ 31 - 1), 0, 0)
  return default
end

-- Checks the options of a function that draws: the common options and its own.
local function checked(options, own, fn)
  options = options or {}
  local known = { dtype = "string?", rng = "cdata?", seed = "number|cdata?", stream = "number?" }
  check.options(options, util.merged(known, own), fn)
  return options
end

local function drawn(name, shape, options, dtype, a, b)
  local fn = "tensor." .. name
  local from = generator(options, fn)
  local out = base.allocate(base.shape(shape, fn), dtype, fn)
  base.expect(api.draw(out, from, distributions[name], a, b), fn)
  return out
end

local function real_type(options, fn)
  return base.dtype(options.dtype, base.dtypes.float32, fn, true)
end

-- The element type of whole numbers from `low` to `high`, by default int64.
local function whole(options, low, high, fn)
  local code = base.dtype(options.dtype, base.dtypes.int64, fn)
  local range = holds[base.dtype_names[code]]
  if low < range[1] or high > range[2] then
    check.fail("bad argument 'dtype' to %s: %s does not hold all whole numbers from %.0f to %.0f; use 'int64'", fn,
      base.dtype_names[code], low, high)
  end
  return code
end

local function finite(value, name, fn, low, high)
  check.number(value, name, fn, low, high)
  if value - value ~= 0 then check.wrong(name, fn, "a finite number", value) end
end

---A tensor of random elements, uniform in [low, high), by default [0, 1).
---```lua
---local t = actor.tensor.uniform({ 100 }, { seed = 1, low = -1, high = 1 })
---print(t:min() >= -1, t:max() < 1)  --> true true
---```
---@param shape integer|integer[]
---@param options? actor.random.Source|{low?: number, high?: number}
---@return actor.Tensor
function M.uniform(shape, options)
  local fn = "tensor.uniform"
  options = checked(options, { low = "number?", high = "number?" }, fn)
  local low, high = options.low or 0, options.high or 1
  finite(low, "low", fn)
  finite(high, "high", fn, low)
  return drawn("uniform", shape, options, real_type(options, fn), low, high)
end

---A tensor of random elements of a normal distribution, by default with mean 0 and standard deviation 1.
---```lua
---print(math.abs(actor.tensor.normal({ 10000 }, { seed = 1, mean = 5 }):mean() - 5) < 0.1)  --> true
---```
---@param shape integer|integer[]
---@param options? actor.random.Source|{mean?: number, std?: number}
---@return actor.Tensor
function M.normal(shape, options)
  local fn = "tensor.normal"
  options = checked(options, { mean = "number?", std = "number?" }, fn)
  local mean, std = options.mean or 0, options.std or 1
  finite(mean, "mean", fn)
  finite(std, "std", fn, 0)
  return drawn("normal", shape, options, real_type(options, fn), mean, std)
end

---A tensor of random elements of an exponential distribution.
---```lua
---print(actor.tensor.exponential({ 100 }, { seed = 1, mean = 2 }):min() >= 0)  --> true
---```
---@param shape integer|integer[]
---@param options? actor.random.Source|{mean?: number} `mean` default 1
---@return actor.Tensor
function M.exponential(shape, options)
  local fn = "tensor.exponential"
  options = checked(options, { mean = "number?" }, fn)
  local mean = options.mean or 1
  finite(mean, "mean", fn, 0)
  return drawn("exponential", shape, options, real_type(options, fn), mean, 0)
end

---A tensor of random elements of a gamma distribution with mean alpha * scale and variance alpha * scale^2.
---```lua
---print(actor.tensor.gamma({ 100 }, 2, { seed = 1 }):min() > 0)  --> true
---```
---@param shape integer|integer[]
---@param alpha number the shape parameter, above 0
---@param options? actor.random.Source|{scale?: number} `scale` default 1
---@return actor.Tensor
function M.gamma(shape, alpha, options)
  local fn = "tensor.gamma"
  options = checked(options, { scale = "number?" }, fn)
  local scale = options.scale or 1
  finite(alpha, "alpha", fn, 0)
  if alpha == 0 then check.wrong("alpha", fn, "a number above 0", alpha) end
  finite(scale, "scale", fn, 0)
  return drawn("gamma", shape, options, real_type(options, fn), alpha, scale)
end

---A tensor of random whole numbers of a Poisson distribution.
---```lua
---print(actor.tensor.poisson({ 3 }, 4, { seed = 1 }).dtype)  --> int64
---```
---@param shape integer|integer[]
---@param mean number 0 .. 1e9
---@param options? actor.random.Source `dtype` default "int64", as NumPy's
---@return actor.Tensor
function M.poisson(shape, mean, options)
  local fn = "tensor.poisson"
  options = checked(options, {}, fn)
  check.number(mean, "mean", fn, 0, max_poisson_mean)
  return drawn("poisson", shape, options, whole(options, 0, mean + 20 * math.sqrt(mean), fn), mean, 0)
end

---A tensor of ones, each with probability p, and zeros.
---```lua
---local mask = actor.tensor.bernoulli({ 1000 }, 0.3, { seed = 1, dtype = "bool" })
---print(math.abs(mask:sum() - 300) < 60)  --> true
---```
---@param shape integer|integer[]
---@param p number 0 .. 1
---@param options? actor.random.Source `dtype` any, default "float32", as PyTorch's, for products; "bool" makes a mask
---@return actor.Tensor
function M.bernoulli(shape, p, options)
  local fn = "tensor.bernoulli"
  options = checked(options, {}, fn)
  check.number(p, "p", fn, 0, 1)
  return drawn("bernoulli", shape, options, base.dtype(options.dtype, base.dtypes.float32, fn), p, 0)
end

---A tensor of random whole numbers from `low` to `high`, all equally likely.
---```lua
---local dice = actor.tensor.integers({ 100 }, 1, 6, { seed = 1 })
---print(dice:min(), dice:max())  --> 1 6
---```
---@param shape integer|integer[]
---@param low integer
---@param high integer at least `low`; both from -2^52 to 2^52
---@param options? actor.random.Source `dtype` default "int64", as NumPy's
---@return actor.Tensor
function M.integers(shape, low, high, options)
  local fn = "tensor.integers"
  options = checked(options, {}, fn)
  check.integer(low, "low", fn, -most, most)
  check.integer(high, "high", fn, low, most)
  return drawn("integers", shape, options, whole(options, low, high, fn), low, high)
end

-- `count` distinct positions of 1 .. n in random order.
local function order(n, count, options, fn)
  local out = base.allocate({ count }, whole(options, 0, n, fn), fn)
  base.finish(api.draw_order(out, generator(options, fn), n), fn)
  return out
end

-- The number of rows of a population: the number itself, or a tensor's rows.
local function rows_of(population, fn)
  if base.is_tensor(population) then
    if population.ndim_ == 0 then
      check.fail("bad argument 'population' to %s: a tensor without dimensions has no rows", fn)
    end
    return tonumber(population.extent_[0])
  end
  if type(population) ~= "number" then check.wrong("population", fn, "a tensor or how many", population) end
  check.integer(population, "population", fn, 0, 2 ^ 31)
  return population
end

local function no_dtype(population, options, fn)
  if options.dtype ~= nil and base.is_tensor(population) then
    check.fail("bad argument 'dtype' to %s: the result has the element type of 'population'", fn)
  end
end

local function permuted(population, options, fn)
  options = checked(options, {}, fn)
  local n = rows_of(population, fn)
  no_dtype(population, options, fn)
  local places = order(n, n, options, fn)
  return base.is_tensor(population) and methods.take(population, places) or places
end

---Puts 1 .. n, or the rows of a tensor, in random order.
---```lua
---print(actor.tensor.permutation(5, { seed = 1 }):sort())  --> tensor([1, 2, 3, 4, 5], int64)
---```
---@param population integer|actor.Tensor
---@param options? actor.random.Source `dtype` of positions, default "int64"
---@return actor.Tensor [n] or a copy of the rows
function M.permutation(population, options)
  return permuted(population, options, "tensor.permutation")
end

---Puts the rows of a tensor in random order, in place.
---```lua
---print(actor.tensor.shuffle(actor.tensor.arange(5), { seed = 1 }):sort())
-----> tensor([0., 1., 2., 3., 4.], float32)
---
---```
---@param t actor.Tensor
---@param options? actor.random.Source without `dtype`
---@return actor.Tensor t
function M.shuffle(t, options)
  local fn = "tensor.shuffle"
  base.arg(t, "t", fn)
  return methods.copy_(t, permuted(t, options, fn))
end

-- Weights as float64, checked.
local function weights_of(weights, n, fn)
  if type(weights) == "table" then weights = require("actor.tensor").new(weights, { dtype = "float64" }) end
  base.arg(weights, "weights", fn)
  if weights.ndim_ ~= 1 or weights.extent_[0] ~= n then
    check.fail("bad argument 'weights' to %s: expected one weight for each of %d, got shape %s", fn, n,
      base.shape_text(weights))
  end
  weights = methods.contiguous(methods.to(weights, "float64"))
  for i = 0, n - 1 do
    local w = weights.f64_[i]
    if not (w >= 0 and w < math.huge) then
      check.fail("bad argument 'weights' to %s: expected finite numbers of at least 0, got %s at position %d", fn,
        tostring(w), i + 1)
    end
  end
  if methods.sum(weights) == math.huge then check.fail("bad argument 'weights' to %s: their sum is infinite", fn) end
  return weights
end

---Draws positions of 1 .. n, or rows of a tensor.
---```lua
---print(actor.tensor.choice(10, 3, { seed = 1 }).size)  --> 3
---```
---@param population integer|actor.Tensor n, or the tensor
---@param count integer how many
---@param options? actor.random.Source|{replace?: boolean, weights?: actor.Tensor|number[]}
---  `replace`, default true: draws with replacement; `weights`: relative probabilities; `dtype` of
---  positions, default "int64"
---@return actor.Tensor [count] or [count, ...] rows
function M.choice(population, count, options)
  local fn = "tensor.choice"
  options = checked(options, { replace = "boolean?", weights = "table|cdata?" }, fn)
  local n, replace = rows_of(population, fn), options.replace ~= false
  check.integer(count, "count", fn, 0, replace and base.max_count or n)
  no_dtype(population, options, fn)
  if n == 0 and count > 0 then check.fail("bad argument 'population' to %s: there is nothing to draw from", fn) end
  local places
  if options.weights then
    local weights = weights_of(options.weights, n, fn)
    places = base.allocate({ count }, whole(options, 0, n, fn), fn)
    local status = api.draw_weighted(places, generator(options, fn), weights, replace and 1 or 0)
    if status == ffi.C.AH_TENSOR_SHAPE then
      check.fail("bad argument 'weights' to %s: too few of them are above 0 to draw %d", fn, count)
    end
    base.expect(status, fn)
  elseif replace then
    places = base.allocate({ count }, whole(options, 0, n, fn), fn)
    base.expect(api.draw(places, generator(options, fn), distributions.integers, 1, math.max(n, 1)), fn)
  else
    places = order(n, count, options, fn)
  end
  return base.is_tensor(population) and methods.take(population, places) or places
end

return M
