--- Small synthetic sets. A seed gives the same numbers on every machine.
local check = require("actor.check")
local base = require("actor.tensor.base")
local rng = require("actor.rng")

local float32 = base.dtypes.float32

local M = {}

---Generates points around class centres: x = centre of its class + spread * normal.
---```lua
---local set = actor.data.blobs { n = 100, classes = 3, seed = 1 }
---print(unpack(set.x.shape))  --> 100 2
---```
---@param options {n: integer, classes?: integer, dims?: integer, spread?: number, seed?: integer} defaults 3 classes, 2
---  dimensions, spread 1 (centres are in -10 .. 10), seed 1
---@return {x: actor.Tensor, labels: actor.Tensor, n: integer} x {n, dims}, labels {n} with classes from 1
function M.blobs(options)
  local fn = "data.blobs"
  check.options(options, { n = "number", classes = "number?", dims = "number?", spread = "number?", seed = "number?" }, fn)
  local n, classes, dims, spread = options.n, options.classes or 3, options.dims or 2, options.spread or 1
  check.integer(n, "n", fn, 1)
  check.integer(classes, "classes", fn, 1)
  check.integer(dims, "dims", fn, 1)
  check.number(spread, "spread", fn, 0)
  local random, centres = rng(options.seed or 1), {}
  for i = 1, classes * dims do centres[i] = random:uniform(-10, 10) end
  local x, labels = base.allocate({ n, dims }, float32, fn), base.allocate({ n }, float32, fn)
  for i = 0, n - 1 do
    local class = random:below(classes)
    labels.f32_[i] = class + 1
    for d = 0, dims - 1 do x.f32_[i * dims + d] = centres[class * dims + d + 1] + spread * random:normal() end
  end
  return { x = x, labels = labels, n = n }
end

---Generates the data of a linear model: y = x . weights + bias + noise * normal, x standard normal.
---```lua
---local set = actor.data.regression { n = 100, dims = 2, noise = 0, seed = 1 }
---print((set.x:matmul(set.weights) + set.bias - set.y):abs():max() < 1e-4)  --> true
---```
---@param options {n: integer, dims?: integer, noise?: number, seed?: integer} defaults 10 dimensions, noise 0.1, seed 1
---@return {x: actor.Tensor, y: actor.Tensor, weights: actor.Tensor, bias: number, n: integer} x {n, dims}, y {n}
function M.regression(options)
  local fn = "data.regression"
  check.options(options, { n = "number", dims = "number?", noise = "number?", seed = "number?" }, fn)
  local n, dims, noise = options.n, options.dims or 10, options.noise or 0.1
  check.integer(n, "n", fn, 1)
  check.integer(dims, "dims", fn, 1)
  check.number(noise, "noise", fn, 0)
  local random = rng(options.seed or 1)
  local weights = base.allocate({ dims }, float32, fn)
  for d = 0, dims - 1 do weights.f32_[d] = random:normal() end
  local bias = random:normal()
  local x, y = base.allocate({ n, dims }, float32, fn), base.allocate({ n }, float32, fn)
  for i = 0, n - 1 do
    local sum = bias + noise * random:normal()
    for d = 0, dims - 1 do
      local value = random:normal()
      x.f32_[i * dims + d] = value
      sum = sum + x.f32_[i * dims + d] * weights.f32_[d]
    end
    y.f32_[i] = sum
  end
  return { x = x, y = y, weights = weights, bias = bias, n = n }
end

---Generates points of classes with linear boundaries: x is standard normal, and its class has the largest score,
---x . weights + bias + noise * normal.
---```lua
---local set = actor.data.classification { n = 100, classes = 4, dims = 3, seed = 1 }
---print(set.labels:max() <= 4)  --> true
---```
---@param options {n: integer, classes?: integer, dims?: integer, noise?: number, seed?: integer} defaults 2 classes, 10
---  dimensions, noise 0, seed 1
---@return {x: actor.Tensor, labels: actor.Tensor, weights: actor.Tensor, bias: actor.Tensor, n: integer} x {n, dims},
---  labels {n} with classes from 1, weights {dims, classes}, bias {classes}
function M.classification(options)
  local fn = "data.classification"
  check.options(options, { n = "number", classes = "number?", dims = "number?", noise = "number?", seed = "number?" }, fn)
  local n, classes, dims, noise = options.n, options.classes or 2, options.dims or 10, options.noise or 0
  check.integer(n, "n", fn, 1)
  check.integer(classes, "classes", fn, 1)
  check.integer(dims, "dims", fn, 1)
  check.number(noise, "noise", fn, 0)
  local random = rng(options.seed or 1)
  local weights, bias = base.allocate({ dims, classes }, float32, fn), base.allocate({ classes }, float32, fn)
  for i = 0, dims * classes - 1 do weights.f32_[i] = random:normal() end
  for class = 0, classes - 1 do bias.f32_[class] = random:normal() end
  local x, labels = base.allocate({ n, dims }, float32, fn), base.allocate({ n }, float32, fn)
  for i = 0, n - 1 do
    for d = 0, dims - 1 do x.f32_[i * dims + d] = random:normal() end
    local best, highest = 1, -math.huge
    for class = 0, classes - 1 do
      local score = bias.f32_[class] + noise * random:normal()
      for d = 0, dims - 1 do score = score + x.f32_[i * dims + d] * weights.f32_[d * classes + class] end
      if score > highest then best, highest = class + 1, score end
    end
    labels.f32_[i] = best
  end
  return { x = x, labels = labels, weights = weights, bias = bias, n = n }
end

---Generates known entries of a matrix of low rank, for matrix factorisation: value = left[row] . right[column] + noise
---* normal. The factors' elements are normal with variance 1 / sqrt(rank), so that values have variance 1.
---```lua
---local set = actor.data.low_rank { rows = 10, columns = 10, rank = 2, density = 0.5, seed = 1 }
---print(unpack(set.left.shape))  --> 10 2
---```
---@param options {rows: integer, columns: integer, rank?: integer, density?: number, noise?: number, seed?: integer}
---  defaults rank 2, density 1 (the share of known entries), noise 0, seed 1
---@return {row: actor.Tensor, column: actor.Tensor, value: actor.Tensor, left: actor.Tensor, right: actor.Tensor, n: integer}
---  row, column (float64, from 1) and value of each known entry, row by row; left {rows, rank}, right {columns, rank}
function M.low_rank(options)
  local fn = "data.low_rank"
  check.options(options, {
    rows = "number", columns = "number", rank = "number?", density = "number?", noise = "number?", seed = "number?",
  }, fn)
  local rows, columns, rank = options.rows, options.columns, options.rank or 2
  local density, noise = options.density or 1, options.noise or 0
  check.integer(rows, "rows", fn, 1)
  check.integer(columns, "columns", fn, 1)
  check.integer(rank, "rank", fn, 1)
  check.number(density, "density", fn, 0, 1)
  check.number(noise, "noise", fn, 0)
  local random, scale = rng(options.seed or 1), math.sqrt(1 / math.sqrt(rank))
  local left, right = base.allocate({ rows, rank }, float32, fn), base.allocate({ columns, rank }, float32, fn)
  for i = 0, rows * rank - 1 do left.f32_[i] = scale * random:normal() end
  for i = 0, columns * rank - 1 do right.f32_[i] = scale * random:normal() end
  local at, n = {}, 0
  for place = 0, rows * columns - 1 do
    if density == 1 or random:uniform() < density then
      n = n + 1
      at[n] = place
    end
  end
  local row, column, value = base.allocate({ n }, base.dtypes.float64, fn), base.allocate({ n }, base.dtypes.float64, fn), base.allocate({ n }, float32, fn)
  for i = 0, n - 1 do
    local r = math.floor(at[i + 1] / columns)
    local k = at[i + 1] - r * columns
    local sum = noise * random:normal()
    for d = 0, rank - 1 do sum = sum + left.f32_[r * rank + d] * right.f32_[k * rank + d] end
    row.f64_[i], column.f64_[i], value.f32_[i] = r + 1, k + 1, sum
  end
  return { row = row, column = column, value = value, left = left, right = right, n = n }
end

return M
