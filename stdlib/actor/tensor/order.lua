--- Sorting and searching. NaN is greater than all numbers; sort and argsort put it last in both orders.
local check = require("actor.check")
local base = require("actor.tensor.base")

local api, methods, Tensor = base.api, base.methods, base.new

-- Calls f(u) with the dimension moved to the end, contiguous, and moves the dimension back in the result.
local function at_end(fn, t, dim, f)
  base.arg(t, "t", fn)
  if t.ndim_ == 0 then return methods.reshape(f(methods.reshape(t, 1)), {}) end
  local d = base.dim(t, dim or -1, fn) + 1
  if d == t.ndim_ then return f(methods.contiguous(t)) end
  local result = f(methods.contiguous(methods.transpose(t, d, -1)))
  return methods.contiguous(methods.transpose(result, d, -1))
end

-- A sorted copy along a dimension, or with `positions` the positions that sort the dimension.
local function sorted(fn, t, dim, descending, positions)
  check.optional(descending, "boolean", "descending", fn)
  local order = descending and 1 or 0
  return at_end(fn, t, dim, function(u)
    local out = Tensor()
    base.finish(api.sort(not positions and out or nil, positions and out or nil, u, order), fn, t)
    return out
  end)
end

---Sorts along a dimension.
---```lua
---print(actor.tensor.new({ 3, 1, 2 }):sort())  --> tensor([1., 2., 3.], float32)
---```
---@param dim? integer default the last
---@param descending? boolean
---@return actor.Tensor a copy
function methods.sort(t, dim, descending)
  return sorted("tensor.sort", t, dim, descending, false)
end

---The positions (from 1) that sort a dimension: t:gather(dim, t:argsort(dim)) is t:sort(dim). The sort is stable.
---```lua
---print(actor.tensor.new({ 3, 1, 2 }):argsort())  --> tensor([2, 3, 1], int64)
---```
---@param dim? integer default the last
---@param descending? boolean
---@return actor.Tensor int64, of t's shape
function methods.argsort(t, dim, descending)
  return sorted("tensor.argsort", t, dim, descending, true)
end

---Finds the insertion position of values in a sorted tensor: the position of the first element that is not below the
---value (with `right`, above the value), or n + 1 if no such element exists. t must be sorted.
---```lua
---print(actor.tensor.new({ 1, 3, 5 }):searchsorted(4))  --> 3
---```
---@param values actor.Tensor|number
---@param right? boolean
---@return actor.Tensor|number int64 positions from 1, of the shape of `values`
function methods.searchsorted(t, values, right)
  local fn = "tensor.searchsorted"
  base.arg(t, "t", fn)
  check.optional(right, "boolean", "right", fn)
  if t.ndim_ ~= 1 then check.fail("bad argument 't' to %s: expected 1 dimension, got %s", fn, base.shape_text(t)) end
  local single = not base.is_tensor(values)
  if single then
    check.arg(values, "number", "values", fn)
    values = base.scalar(values, base.is_float(t.type_) and t.type_ or base.dtypes.float64, fn)
  end
  local code = base.common_type(t, values, fn)
  local out = Tensor()
  local status = api.search(out, methods.contiguous(methods.to(t, base.dtype_names[code])),
    methods.contiguous(methods.to(values, base.dtype_names[code])), right and 1 or 0)
  base.finish(status, fn, t, values)
  return single and methods.item(out) or out
end

local unique_options = { counts = "boolean?", inverse = "boolean?" }

-- Bool: whether each element of a sorted vector differs from the previous element. NaN does not differ from NaN.
local function begins(sorted)
  local n = tonumber(sorted.count_)
  local first = base.allocate({ n }, base.dtypes.bool, "tensor.unique")
  methods.fill_(first, true)
  if n > 1 then
    local left, right = methods.narrow(sorted, 1, 1, n - 1), methods.narrow(sorted, 1, 2, n - 1)
    local differ = methods.ne(left, right)
    if base.is_float(sorted.type_) then
      differ = methods.logical_and(differ, methods.logical_not(methods.logical_and(methods.isnan(left),
        methods.isnan(right))))
    end
    methods.copy_(methods.narrow(first, 1, 2, n - 1), differ)
  end
  return first
end

---The distinct elements of a tensor, sorted; all NaN count as equal.
---```lua
---local values, counts = actor.tensor.new({ 2, 1, 2 }):unique { counts = true }
---print(values, counts)  --> tensor([1., 2.], float32) tensor([1, 2], int64)
---```
---@param options? {counts?: boolean, inverse?: boolean}
---@return actor.Tensor values [m]
---@return actor.Tensor? counts [m] int64: number of occurrences of each value in t; with `counts`
---@return actor.Tensor? inverse int64, of t's shape: the position of each element in `values`; with `inverse`
function methods.unique(t, options)
  local fn = "tensor.unique"
  base.arg(t, "t", fn)
  options = check.optional_options(options, unique_options, fn)
  local flat = methods.flatten(t)
  local order = options.inverse and methods.argsort(flat)
  local sorted = order and methods.take(flat, order) or methods.sort(flat)
  local first = begins(sorted)
  local starts = methods.flatten(methods.nonzero(first))
  local values, counts, inverse = methods.take(sorted, starts), nil, nil
  if options.counts then
    counts = base.allocate_like(starts, fn)
    local m, n = tonumber(starts.count_), tonumber(flat.count_)
    if m > 0 then
      methods.set(counts, m, n + 1 - methods.get(starts, m))
      methods.copy_(methods.narrow(counts, 1, 1, m - 1),
        methods.narrow(starts, 1, 2, m - 1) - methods.narrow(starts, 1, 1, m - 1))
    end
  end
  if options.inverse then
    inverse = base.allocate(flat.shape, base.dtypes.int64, fn)
    methods.scatter_(inverse, 1, order, methods.cumsum(first, 1))
    inverse = methods.reshape(inverse, t.shape)
  end
  return values, counts, inverse
end

return methods
