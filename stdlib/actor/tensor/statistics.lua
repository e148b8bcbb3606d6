--- Statistics and running sums. Like reductions they give a tensor along a dimension; without a dimension they give a
--- number, of all elements. Whole numbers are computed in float64, with results in float32 tensors.
local check = require("actor.check")
local base = require("actor.tensor.base")
local over = require("actor.tensor.math").over

local api, methods, Tensor, C = base.api, base.methods, base.new, require("ffi").C
local floor = math.floor

-- Calls f(u, dim) as `over` does, with integer tensors converted to float64.
local function over_floats(fn, t, dim, keepdim, f)
  base.arg(t, "t", fn)
  if base.is_float(t.type_) then return over(fn, t, dim, keepdim, f) end
  local result = over(fn, methods.to(t, "float64"), dim, keepdim, f)
  return base.is_tensor(result) and methods.to(result, "float32") or result
end

local function variance(fn, t, dim, keepdim, ddof)
  ddof = ddof or 0
  check.number(ddof, "ddof", fn)
  return over_floats(fn, t, dim, keepdim, function(u, last)
    local apart = u - methods.mean(u, last, true)
    local n = tonumber(u.extent_[last - 1])
    return methods.sum(methods.square(apart), last) / math.max(n - ddof, 0)
  end)
end

---The variance: the mean squared difference of the elements from their mean.
---```lua
---print(actor.tensor.new({ 1, 2, 3, 4 }):var())  --> 1.25
---```
---@param dim? integer|integer[]
---@param keepdim? boolean
---@param ddof? number the divisor of the sum of squares is the number of elements minus ddof, at least 0; default
---  0; 1 for a sample
---@return actor.Tensor|number
function methods.var(t, dim, keepdim, ddof) return variance("tensor.var", t, dim, keepdim, ddof) end

---The standard deviation, the square root of the variance.
---```lua
---print(("%.3f"):format(actor.tensor.new({ 1, 2, 3, 4 }):std()))  --> 1.118
---```
---@param dim? integer|integer[]
---@param keepdim? boolean
---@param ddof? number as for `var`
---@return actor.Tensor|number
function methods.std(t, dim, keepdim, ddof)
  local square = variance("tensor.std", t, dim, keepdim, ddof)
  return base.is_tensor(square) and methods.sqrt(square) or math.sqrt(square)
end

local function quantile(fn, t, q, dim, keepdim)
  return over_floats(fn, t, dim, keepdim, function(u, last)
    local n = tonumber(u.extent_[last - 1])
    if n == 0 then check.fail("bad argument 't' to %s: there are no elements in %s", fn, base.shape_text(t)) end
    local sorted = methods.sort(u, last)
    local at = q * (n - 1)
    local low = floor(at)
    local below = methods.select(sorted, last, low + 1)
    local result = at == low and methods.clone(below)
      or below + (methods.select(sorted, last, low + 2) - below) * (at - low)
    local greatest = methods.select(sorted, last, n)  -- NaN where an element is NaN
    return methods.where(methods.isnan(greatest), greatest, result)
  end)
end

---The quantile q, linearly interpolated between elements. NaN where an element is NaN.
---```lua
---print(actor.tensor.new({ 1, 2, 3, 4 }):quantile(0.5))  --> 2.5
---```
---@param q number 0 .. 1
---@param dim? integer|integer[]
---@param keepdim? boolean
---@return actor.Tensor|number
function methods.quantile(t, q, dim, keepdim)
  check.number(q, "q", "tensor.quantile", 0, 1)
  return quantile("tensor.quantile", t, q, dim, keepdim)
end

---The median: the middle element, or the mean of the two middle elements. NaN where an element is NaN.
---```lua
---print(actor.tensor.new({ { 3, 1, 2 }, { 9, 7, 8 } }):median(2))  --> tensor([2., 8.], float32)
---```
---@param dim? integer|integer[]
---@param keepdim? boolean
---@return actor.Tensor|number
function methods.median(t, dim, keepdim) return quantile("tensor.median", t, 0.5, dim, keepdim) end

local function running(fn, product, t, dim)
  base.arg(t, "t", fn)
  if dim == nil then t, dim = methods.flatten(t), 1 end
  local out = Tensor()
  base.finish(api.running(out, t, base.dim(t, dim, fn), product), fn, t)
  return out
end

---Running sums along a dimension; int64 for whole numbers.
---```lua
---print(actor.tensor.new({ 1, 2, 3 }):cumsum())  --> tensor([1., 3., 6.], float32)
---```
---@param dim? integer without it, the elements count as one row
---@return actor.Tensor
function methods.cumsum(t, dim) return running("tensor.cumsum", 0, t, dim) end

---Running products along a dimension; int64 for whole numbers.
---```lua
---print(actor.tensor.new({ 1, 2, 3 }):cumprod())  --> tensor([1., 2., 6.], float32)
---```
---@param dim? integer without it, the elements count as one row
---@return actor.Tensor
function methods.cumprod(t, dim) return running("tensor.cumprod", 1, t, dim) end

---The difference of each element along a dimension and the previous element.
---```lua
---print(actor.tensor.new({ 1, 4, 9 }):diff())  --> tensor([3., 5.], float32)
---```
---@param dim? integer default the last
---@param order? integer how often; default 1
---@return actor.Tensor with `order` positions fewer in that dimension
function methods.diff(t, dim, order)
  local fn = "tensor.diff"
  base.arg(t, "t", fn)
  local d = base.dim(t, dim or -1, fn) + 1
  order = order or 1
  check.integer(order, "order", fn, 0)
  local size = tonumber(t.extent_[d - 1])
  if order >= size and order > 0 then t, order = methods.narrow(t, d, 1, math.min(size, 1)), 1 end
  for _ = 1, order do
    local n = tonumber(t.extent_[d - 1])
    if n == 0 then break end
    local late, early = methods.narrow(t, d, 2, n - 1), methods.narrow(t, d, 1, n - 1)
    t = t.type_ == base.dtypes.bool and methods.ne(late, early) or late - early
  end
  return t
end

---Counts the occurrences of each whole number 1, 2, ... in a tensor, or with `weights` sums their weights.
---```lua
---print(actor.tensor.new({ 1, 2, 2 }):bincount())  --> tensor([1, 2], int64)
---```
---@param options? {least?: integer, weights?: actor.Tensor} `least`: minimum number of elements of the result
---@return actor.Tensor [n] int64, or of the element type of the weights; n is the greatest number of t
function methods.bincount(t, options)
  local fn = "tensor.bincount"
  base.arg(t, "t", fn)
  options = check.optional_options(options, { least = "number?", weights = "cdata?" }, fn)
  if options.least then check.integer(options.least, "least", fn, 0, base.max_count) end
  if t.ndim_ ~= 1 then check.fail("bad argument 't' to %s: expected 1 dimension, got %s", fn, base.shape_text(t)) end
  local n = options.least or 0
  if t.count_ > 0 then
    if base.is_float(t.type_) and not methods.equal(t, methods.floor(t)) then
      check.fail("bad argument 't' to %s: expected whole numbers from 1, got a fraction or NaN", fn)
    end
    local least, most = methods.min(t), methods.max(t)
    if type(least) ~= "number" or least < 1 then
      check.fail("bad argument 't' to %s: expected whole numbers from 1, got %s", fn, tostring(least))
    end
    n = math.max(n, tonumber(most))
  end
  local weights = options.weights
  if weights == nil then
    weights = base.allocate(t.shape, base.dtypes.int64, fn)
    api.fill(weights, 1)
  else
    base.arg(weights, "weights", fn)
    if not base.same_shape(weights, t) then base.raise(fn, C.AH_TENSOR_SHAPE, t, weights) end
  end
  local out = base.allocate(base.shape({ n }, fn, "t"), weights.type_, fn)
  api.fill(out, 0)
  return methods.index_add_(out, t, weights)
end

local histogram_options = { low = "number?", high = "number?", weights = "cdata?" }

---Counts the elements in each of `bins` intervals of equal length from `low` to `high`. The last interval includes its
---upper end. Elements outside and NaN are not counted.
---```lua
---local counts, edges = actor.tensor.new({ 1, 2, 2, 9 }):histogram(2)
---print(counts)  --> tensor([3, 1], int64)
---```
---@param bins integer|actor.Tensor number of intervals, or their rising edges [bins + 1]
---@param options? {low?: number, high?: number, weights?: actor.Tensor} default the least and greatest element
---@return actor.Tensor counts [bins] int64, or the sums of the weights
---@return actor.Tensor edges [bins + 1]
function methods.histogram(t, bins, options)
  local fn = "tensor.histogram"
  base.arg(t, "t", fn)
  t = methods.flatten(base.is_float(t.type_) and t or methods.to(t, "float32"))
  options = check.optional_options(options, histogram_options, fn)
  local edges = bins
  if not base.is_tensor(bins) then
    check.integer(bins, "bins", fn, 1, base.max_count - 1)
    local none = t.count_ == 0
    local low = options.low or none and 0 or methods.min(t)
    local high = options.high or none and 1 or methods.max(t)
    if not (low <= high and high - low < math.huge) then
      local subject = options.low and options.high and "'low' and 'high'" or "the elements"
      check.fail("bad argument to %s: %s range from %s to %s; give 'low' and 'high', finite and rising", fn, subject,
        tostring(low), tostring(high))
    end
    if low == high then low, high = low - 0.5, high + 0.5 end
    edges = require("actor.tensor.create").linspace(low, high, bins + 1, { dtype = base.dtype_names[t.type_] })
  elseif edges.ndim_ ~= 1 or edges.count_ < 2 then
    check.fail("bad argument 'bins' to %s: expected at least 2 edges in 1 dimension, got %s", fn, base.shape_text(edges))
  end
  local n = tonumber(edges.count_) - 1
  local last = methods.get(edges, n + 1)
  local bin = methods.searchsorted(edges, t, true) - 1
  bin = methods.where(methods.eq(t, last), n, bin)
  local inside = methods.logical_and(methods.ge(bin, 1), methods.le(bin, n))
  local weights = options.weights
  if weights ~= nil then
    base.arg(weights, "weights", fn)
    weights = methods.masked(methods.flatten(weights), inside)
  end
  return methods.bincount(methods.masked(bin, inside), { least = n, weights = weights }), edges
end

return methods
