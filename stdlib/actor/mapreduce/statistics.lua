--- Actions on numeric rows: variance, standard deviation and histogram. Tasks summarise the partitions in parallel. The
--- summaries are combined in the order of the partitions, so a result has the same bits for every number of nodes.
local actions = require("actor.mapreduce.actions")
local check = require("actor.check")
local datasets = require("actor.mapreduce.dataset")
local util = require("actor.util")

local Dataset = datasets.Dataset

-- ---- variance ----

-- The moments of some rows are {count, first row, mean, sum of squared distances from the mean}. The mean and the sum
-- are of row - first row, so large rows that are close together lose no digits. `add` adds a row by Welford's method;
-- `together` combines the moments of two partitions by the method of Chan, Golub and LeVeque.
local function add(moments, x)
  local n, first = moments[1] + 1, moments[2] or x
  local apart = x - first - moments[3]
  local mean = moments[3] + apart / n
  moments[1], moments[2], moments[3], moments[4] = n, first, mean, moments[4] + apart * (x - first - mean)
  return moments
end

local function together(a, b)
  if a[1] == 0 then return b end
  if b[1] == 0 then return a end
  local n, apart = a[1] + b[1], b[2] - a[2] + (b[3] - a[3])
  return { n, a[2], a[3] + apart * b[1] / n, a[4] + b[4] + apart * apart * (a[1] * b[1] / n) }
end

local function none() return { 0, false, 0, 0 } end

local function variance(self, name, options)
  options = check.optional_options(options, { sample = "boolean?" }, "mapreduce." .. name)
  local check_row = actions.check_number(name)
  local function step(moments, a, b)
    check_row(a, b)
    return add(moments, a)
  end
  local output = { start = none, step = step, signature = options.sample or false }
  return actions.folded(self, name, output, function(parts)
    local all = none()
    for _, part in ipairs(parts) do all = together(all, part) end
    local n = options.sample and all[1] - 1 or all[1]
    if n > 0 then return all[4] / n end
  end)
end

---Returns the variance of numeric rows: the mean squared distance from their mean. With `sample` the rows are a sample
---and the result estimates the variance of the whole: the sum is divided by the number of rows less one. Returns nil
---without rows, and for a sample of one row; NaN if a row is NaN or infinite.
---```lua
---print(actor.mapreduce.parallelize({ 1, 2, 3, 4 }):variance())  --> 1.25
---```
---@param options? {sample?: boolean} default false, as in Spark and NumPy
---@return number?
function Dataset:variance(options) return variance(self, "variance", options) end

---Returns the standard deviation of numeric rows: the square root of `variance`.
---```lua
---print(("%.3f"):format(actor.mapreduce.parallelize({ 1, 2, 3, 4 }):stdev { sample = true }))  --> 1.291
---```
---@param options? {sample?: boolean} default false, as in Spark and NumPy; pandas has the default true
---@return number?
function Dataset:stdev(options)
  local squared = variance(self, "stdev", options)
  return squared and math.sqrt(squared)
end

-- ---- histogram ----

-- The least and the greatest row, as an array; false without rows.
local function extremes(self)
  local check_row = actions.check_number("histogram")
  local function step(range, a, b)
    check_row(a, b)
    if a - a ~= 0 then error("histogram needs edges where numbers are not finite, got " .. tostring(a), 0) end
    range[1], range[2] = math.min(range[1] or a, a), math.max(range[2] or a, a)
    return range
  end
  return actions.folded(self, "histogram", { start = function() return {} end, step = step }, function(parts)
    local low, high
    for _, part in ipairs(parts) do
      if part[1] then low, high = math.min(low or part[1], part[1]), math.max(high or part[2], part[2]) end
    end
    return low and { low, high } or false
  end)
end

local function check_edges(edges)
  for i = 1, math.max(2, #edges) do
    local edge = edges[i]
    if type(edge) ~= "number" or edge ~= edge or (i > 1 and edge <= edges[i - 1]) then
      check.wrong("buckets", "mapreduce.histogram", "a number of buckets or at least two edges, each greater than the one before",
        edges, (" whose edge %d is %s"):format(i, tostring(edge)))
    end
  end
end

-- The edges of buckets of equal width; the edges of one bucket if all numbers are the same.
local function edges_between(low, high, buckets)
  if low == high then return { low, high } end
  local edges, span = {}, high - low
  local fits = span * buckets < math.huge
  for i = 0, buckets do
    edges[i + 1] = fits and low + i * span / buckets or low * (1 - i / buckets) + high * (i / buckets)
  end
  edges[buckets + 1] = high
  return edges
end

-- The bucket of a number between the first and the last edge. The last bucket includes its upper edge.
local function bucket_of(edges, x)
  local low, high = 1, #edges
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if x < edges[middle] then high = middle else low = middle end
  end
  return low
end

---Counts numeric rows in buckets. `buckets` is either a number of buckets or an array of edges. A number of buckets
---divides the range from the least row to the greatest into buckets of equal width (one bucket if all rows are the
---same); the rows must be finite, and without rows the result is nil. Edges are in ascending order: {0, 10, 100} makes
---the buckets 0 <= x < 10 and 10 <= x <= 100. Only the last bucket includes its upper edge. Numbers beyond the edges,
---and NaN, are not counted.
---```lua
---local edges, counts = actor.mapreduce.parallelize({ 1, 2, 2, 9 }):histogram(2)
---print(edges[2], counts[1], counts[2])  --> 5 3 1
---```
---@param buckets integer|number[]
---@return number[]? edges one more than the number of buckets
---@return integer[]? counts
function Dataset:histogram(buckets)
  datasets.check(self, "histogram")
  local edges = buckets
  if type(buckets) == "table" then
    check_edges(buckets)
  else
    check.integer(buckets, "buckets", "mapreduce.histogram", 1, 1e6)
    local range = extremes(self)
    if not range then return nil end
    edges = edges_between(range[1], range[2], buckets)
  end
  local count, low, high = #edges - 1, edges[1], edges[#edges]
  local check_row = actions.check_number("histogram")
  local function start()
    local counts = {}
    for i = 1, count do counts[i] = 0 end
    return counts
  end
  local function step(counts, a, b)
    check_row(a, b)
    if a >= low and a <= high then
      local i = bucket_of(edges, a)
      counts[i] = counts[i] + 1
    end
    return counts
  end
  local counts = actions.folded(self, "histogram", { start = start, step = step, signature = edges }, function(parts)
    local all = start()
    for _, part in ipairs(parts) do
      for i = 1, count do all[i] = all[i] + part[i] end
    end
    return all
  end)
  return util.joined(edges), counts
end

return Dataset
