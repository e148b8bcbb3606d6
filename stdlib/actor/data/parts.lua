--- Parts of a set as positions, the same on every node.
local ffi = require("ffi")
local check = require("actor.check")
local base = require("actor.tensor.base")
local planning = require("actor.data.batches")

local floor = math.floor
local M = {}

-- The number of samples, and their positions if `source` is positions of a larger set.
local function samples_of(source, fn)
  if ffi.istype(planning.Positions, source) then return source.n, source end
  local n = source
  if base.is_tensor(source) then
    n = source.ndim_ > 0 and tonumber(source.extent_[0]) or nil
  elseif type(source) == "table" or ffi.istype("ah_rows", source) then
    n = source.n
  end
  if type(n) ~= "number" then check.wrong("source", fn, "a number of samples, a set, rows, a tensor or positions", source) end
  check.integer(n, "source", fn, 0, 2 ^ 31 - 1)
  return n
end

-- Parts use epoch 0 and batches use epochs from 1, so their orders differ.
local function part(n, of, seed, first, count) return planning.part_of(n, of, seed, 0, first, count) end

local function check_seed(seed, fn)
  if seed ~= nil then check.integer(seed, "seed", fn, 0, 2 ^ 53) end
end

---Returns the positions of one rank's part. The parts of all ranks together contain each sample once; their sizes
---differ by at most one.
---```lua
---local mine = actor.data.split(100, { seed = 1 }) -- this rank's share of 100 samples
---print(mine.n == 100 / actor.size)  --> true
---```
---@param source integer|table|actor.Tensor|actor.data.Positions number of samples, a set (a table with `n`), a tensor
---  of rows, or positions to divide
---@param options? {rank?: integer, size?: integer, seed?: integer} `rank` from 0 and `size`, default this node's and
---  the run's (a server has no rank and uses rank 0's part); `seed`: samples in random order; without it a part is
---  contiguous
---@return actor.data.Positions
function M.split(source, options)
  local fn, actor = "data.split", require("actor")
  options = check.optional_options(options, { rank = "number?", size = "number?", seed = "number?" }, fn)
  local n, of = samples_of(source, fn)
  local size, rank = options.size or actor.size, options.rank or actor.rank or 0
  check.integer(size, "size", fn, 1)
  check.integer(rank, "rank", fn, 0, size - 1)
  check_seed(options.seed, fn)
  local first, last = floor(rank * n / size), floor((rank + 1) * n / size)
  return part(n, of, options.seed, first + 1, last - first)
end

---Divides samples into a part for training and a share held out for validation.
---```lua
---local train, validation = actor.data.holdout(100, { fraction = 0.1, seed = 1 })
---print(train.n, validation.n)  --> 90 10
---```
---@param source integer|table|actor.Tensor|actor.data.Positions as for data.split
---@param options {fraction: number, seed?: integer} `fraction` 0 .. 1 is held out, rounded to a whole number of
---  samples; `seed`: held-out samples are drawn at random; without it they are the last samples
---@return actor.data.Positions train
---@return actor.data.Positions held_out
function M.holdout(source, options)
  local fn = "data.holdout"
  check.options(options, { fraction = "number", seed = "number?" }, fn)
  local n, of = samples_of(source, fn)
  check.number(options.fraction, "fraction", fn, 0, 1)
  check_seed(options.seed, fn)
  local held = floor(n * options.fraction + 0.5)
  return part(n, of, options.seed, 1, n - held), part(n, of, options.seed, n - held + 1, held)
end

return M
