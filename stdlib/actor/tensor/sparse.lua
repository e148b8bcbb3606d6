--- Sparse matrices in compressed sparse rows (CSR), which store only the given elements. Positions count from 1.
---
---     local m = tensor.csr { rows = { 1, 2, 2 }, columns = { 3, 1, 1 }, values = { 5, 1, 2 }, shape = { 2, 3 } }
---     m:matmul(tensor.ones(3))   -- 5, 3
local ffi = require("ffi")
local check = require("actor.check")
local base = require("actor.tensor.base")
local create = require("actor.tensor.create")
local products = require("actor.tensor.products")
local spelling = require("actor.c.names")
local api = require("actor.ffi")("linalg")

local methods, Tensor = base.methods, base.new
local M = {}

---@class actor.Csr a sparse matrix
---@field n integer rows
---@field width integer columns
---@field starts actor.Tensor int64 {n + 1}: row r has the values starts[r] .. starts[r + 1] - 1
---@field columns actor.Tensor int64: the column of each value, from 1, rising within a row
---@field values actor.Tensor float32 or float64
---@operator add(actor.Csr): actor.Csr
---@operator mul(number): actor.Csr
local Csr = {}

local count = ffi.new("int64_t[1]")

---Returns whether the value is a sparse matrix.
---@param value any
---@return boolean
function M.is_csr(value)
  return getmetatable(value) == Csr
end
local is_csr = M.is_csr

---Makes a sparse matrix from its parts, without a check or a copy.
---@param parts {n: integer, width: integer, starts: actor.Tensor, columns: actor.Tensor, values: actor.Tensor}
---@return actor.Csr
function M.adopt(parts)
  return setmetatable(parts, Csr)
end

local function arg(m, name, fn)
  if not is_csr(m) then check.wrong(name, fn, "a sparse matrix (tensor.csr makes one)", m) end
end

-- A matrix for the C side. It does not keep the tensors alive.
local function raw(m)
  return ffi.new("ah_csr", m.n, m.starts.i64_, m.columns.i64_, m.values.data_, m.values.type_)
end

local function whole_tensor(n, fn)
  return base.allocate({ n }, base.dtypes.int64, fn)
end

-- The matrix with these values; values at one place are summed. All arguments are contiguous tensors of one size.
local function gathered(rows, columns, values, n, width, fn)
  local size = tonumber(values.count_)
  local m = M.adopt {
    n = n, width = width, starts = whole_tensor(n + 1, fn), columns = whole_tensor(size, fn),
    values = base.allocate({ size }, values.type_, fn),
  }
  local status = api.csr_gather(count, raw(m), rows, columns, values)
  if status ~= 0 then base.raise(fn, status, values) end
  local left = tonumber(count[0])
  if left < size then
    m.columns = methods.clone(methods.narrow(m.columns, 1, 1, left))
    m.values = methods.clone(methods.narrow(m.values, 1, 1, left))
  end
  base.settle()
  return m
end

-- The positions (from 0) of the first and last value of row r (from 0).
local function span(m, r)
  return tonumber(m.starts.i64_[r]) - 1, tonumber(m.starts.i64_[r + 1]) - 2
end

-- The row of each value.
local function rows_of(m, fn)
  local out = whole_tensor(tonumber(m.values.count_), fn)
  for r = 0, m.n - 1 do
    local from, to = span(m, r)
    for i = from, to do out.i64_[i] = r + 1 end
  end
  return out
end

-- Positions as int64, checked.
local function positions(list, name, limit, size, fn)
  local t = type(list) == "table" and create.new(list, { dtype = "float64" }) or list
  base.arg(t, name, fn)
  if t.type_ == base.dtypes.bool then
    check.fail("bad argument '%s' to %s: expected whole numbers, got a tensor of bool", name, fn)
  end
  if t.ndim_ ~= 1 or (size and t.count_ ~= size) then
    check.fail("bad argument '%s' to %s: expected one position for each of %d values, got shape %s", name, fn, size,
      base.shape_text(t))
  end
  t = methods.contiguous(t)
  for i = 0, tonumber(t.count_) - 1 do
    local x = base.load(t, i)
    if not (x >= 1 and x <= limit and x % 1 == 0) then
      check.fail("bad argument '%s' to %s: expected whole numbers from 1 to %d, got %s at position %d", name, fn, limit,
        tostring(x), i + 1)
    end
  end
  return methods.to(t, "int64")
end

local function from_dense(t, fn)
  products.floating(t, "m", fn)
  if t.ndim_ ~= 2 then
    check.fail("bad argument 'm' to %s: expected 2 dimensions, got shape %s", fn, base.shape_text(t))
  end
  t = methods.contiguous(t)
  local n, width, elements, size = tonumber(t.extent_[0]), tonumber(t.extent_[1]), methods.data(t), 0
  for i = 0, n * width - 1 do
    if elements[i] ~= 0 then size = size + 1 end
  end
  local m = M.adopt {
    n = n, width = width, starts = whole_tensor(n + 1, fn), columns = whole_tensor(size, fn),
    values = base.allocate({ size }, t.type_, fn),
  }
  local starts, columns, values, at = m.starts.i64_, m.columns.i64_, methods.data(m.values), 0
  for r = 0, n - 1 do
    starts[r] = at + 1
    for c = 0, width - 1 do
      local x = elements[r * width + c]
      if x ~= 0 then
        columns[at], values[at] = c + 1, x
        at = at + 1
      end
    end
  end
  starts[n] = at + 1
  return m
end

local coordinates = {
  rows = "table|cdata", columns = "table|cdata", values = "table|cdata", shape = "table", dtype = "string?",
}

---The places and values of a sparse matrix.
---@class actor.csr.Coordinates
---@field rows actor.Tensor|integer[] of each value, from 1
---@field columns actor.Tensor|integer[] of each value, from 1
---@field values actor.Tensor|number[] values at one place are summed
---@field shape integer[] rows and columns of the matrix
---@field dtype? "float32"|"float64" of `values` in a table, default "float32"

---Makes a sparse matrix from a dense matrix, without its zeros, or from values with their rows and columns.
---@param m actor.Tensor|actor.csr.Coordinates
---@return actor.Csr
function M.csr(m)
  local fn = "tensor.csr"
  if base.is_tensor(m) then return from_dense(m, fn) end
  check.options(m, coordinates, fn)
  local shape = base.shape(m.shape, fn)
  if #shape ~= 2 then check.fail("bad argument 'shape' to %s: expected 2 sizes, got %s", fn, base.list_text(shape)) end
  local values = m.values
  if type(values) == "table" then
    values = create.new(values, { dtype = m.dtype })
  elseif m.dtype ~= nil then
    check.fail("bad argument 'dtype' to %s: the matrix has the element type of 'values'", fn)
  end
  products.floating(values, "values", fn)
  if values.ndim_ ~= 1 then
    check.fail("bad argument 'values' to %s: expected 1 dimension, got shape %s", fn, base.shape_text(values))
  end
  local size = tonumber(values.count_)
  return gathered(positions(m.rows, "rows", shape[1], size, fn), positions(m.columns, "columns", shape[2], size, fn),
    methods.contiguous(values), shape[1], shape[2], fn)
end

-- Properties: m.shape and so on.
local properties = {
  shape = function(m) return { m.n, m.width } end,
  dtype = function(m) return m.values.dtype end,
  count = function(m) return m.values.size end,
}

function Csr.__index(m, key)
  local method = rawget(Csr, key)
  if method ~= nil then return method end
  local property = properties[key]
  if property then return property(m) end
  spelling.unknown("csr:", tostring(key), Csr)
end

---Makes a dense tensor of the matrix.
---@return actor.Tensor [n, width]
function Csr:dense()
  arg(self, "m", "csr:dense")
  local out = create.zeros(base.shape(self.shape, "csr:dense", "m"), { dtype = self.dtype })
  local elements, columns, values = methods.data(out), self.columns.i64_, methods.data(self.values)
  for r = 0, self.n - 1 do
    local from, to = span(self, r)
    for i = from, to do elements[r * self.width + columns[i] - 1] = values[i] end
  end
  return out
end

---Transposes the matrix.
---@return actor.Csr [width, n]
function Csr:transpose()
  local fn = "csr:transpose"
  arg(self, "m", fn)
  return gathered(self.columns, rows_of(self, fn), self.values, self.width, self.n, fn)
end

local function misfit(fn, left, right)
  check.fail("bad argument to %s: shapes %s and %s do not fit (columns of the first have to be rows of the second)",
    fn, left, right)
end

local function times(m, b, fn)
  local is_vector = b.ndim_ == 1
  local right = methods.contiguous(is_vector and methods.unsqueeze(b, 2) or b)
  local out = Tensor()
  local status = api.csr_times(out, raw(m), right)
  if status ~= 0 then base.raise(fn, status, right) end
  base.settle()
  return is_vector and methods.squeeze(out, 2) or out
end

---Multiplies the matrix by a dense vector or matrix: m b. For a product from the left use `m:rmatmul(a)`.
---@param b actor.Tensor [width] or [width, k], of m's element type
---@return actor.Tensor [n] or [n, k]
function Csr:matmul(b)
  local fn = "csr:matmul"
  arg(self, "m", fn)
  products.floating(b, "b", fn)
  if b.type_ ~= self.values.type_ then base.raise(fn, 2, self.values, b) end
  if b.ndim_ < 1 or b.ndim_ > 2 or b.extent_[0] ~= self.width then
    misfit(fn, base.list_text(self.shape), base.shape_text(b))
  end
  return times(self, b, fn)
end

---Multiplies a dense vector or matrix by the matrix: a m. Each call transposes the matrix; for many products transpose
---it once, m:transpose():matmul(a:transpose()).
---@param a actor.Tensor [n] or [k, n], of m's element type
---@return actor.Tensor [width] or [k, width]
function Csr:rmatmul(a)
  local fn = "csr:rmatmul"
  arg(self, "m", fn)
  products.floating(a, "a", fn)
  if a.type_ ~= self.values.type_ then base.raise(fn, 2, a, self.values) end
  if a.ndim_ < 1 or a.ndim_ > 2 or a.extent_[a.ndim_ - 1] ~= self.n then
    misfit(fn, base.shape_text(a), base.list_text(self.shape))
  end
  if a.ndim_ == 1 then return times(self:transpose(), a, fn) end
  return methods.contiguous(methods.transpose(times(self:transpose(), methods.transpose(a), fn)))
end

---The rows from `from` to `to`, both included. The result shares the values.
---@param from integer 1 .. n + 1
---@param to? integer from - 1 .. n, default n
---@return actor.Csr
function Csr:rows(from, to)
  local fn = "csr:rows"
  arg(self, "m", fn)
  check.integer(from, "from", fn, 1, self.n + 1)
  if to == nil then to = self.n end
  check.integer(to, "to", fn, from - 1, self.n)
  local first, last = self.starts:get(from), self.starts:get(to + 1)
  return M.adopt {
    n = to - from + 1, width = self.width, starts = methods.narrow(self.starts, 1, from, to - from + 2) - (first - 1),
    columns = methods.narrow(self.columns, 1, first, last - first),
    values = methods.narrow(self.values, 1, first, last - first),
  }
end

---Multiplies all elements by a number.
---@param factor number
---@return actor.Csr of the same places
function Csr:scale(factor)
  arg(self, "m", "csr:scale")
  check.arg(factor, "number", "factor", "csr:scale")
  return M.adopt {
    n = self.n, width = self.width, starts = self.starts, columns = self.columns, values = self.values * factor,
  }
end

local function joined(a, b)
  local out = base.allocate({ a.size + b.size }, a.type_, "csr:add")
  methods.copy_(methods.narrow(out, 1, 1, a.size), a)
  methods.copy_(methods.narrow(out, 1, a.size + 1, b.size), b)
  return out
end

---Adds a sparse matrix of the same shape and element type.
---@param other actor.Csr
---@return actor.Csr with the places of both
function Csr:add(other)
  local fn = "csr:add"
  arg(self, "m", fn)
  arg(other, "other", fn)
  if self.n ~= other.n or self.width ~= other.width then
    check.fail("bad argument to %s: shapes %s and %s do not fit", fn, base.list_text(self.shape),
      base.list_text(other.shape))
  end
  if self.values.type_ ~= other.values.type_ then base.raise(fn, 2, self.values, other.values) end
  return gathered(joined(rows_of(self, fn), rows_of(other, fn)), joined(self.columns, other.columns),
    joined(self.values, other.values), self.n, self.width, fn)
end

local most_shown = 10

-- The size, and the first values with their places.
function Csr.__tostring(m)
  local lines = { ("sparse(%d x %d, %d values, %s)"):format(m.n, m.width, m.count, m.dtype) }
  local starts, columns, values = m.starts.i64_, m.columns.i64_, methods.data(m.values)
  local row = 0
  for i = 0, math.min(m.count, most_shown) - 1 do
    while starts[row + 1] - 1 <= i do row = row + 1 end
    table.insert(lines, ("  (%d, %d)  %.6g"):format(row + 1, tonumber(columns[i]), values[i]))
  end
  if m.count > most_shown then table.insert(lines, "  ...") end
  return table.concat(lines, "\n")
end

function Csr.__mul(a, b)
  if type(a) == "number" then a, b = b, a end
  return a:scale(b)
end

Csr.__add = function(a, b) return Csr.add(a, b) end

return M
