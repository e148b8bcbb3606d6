--- Linear algebra: decompositions of matrices, and the functions based on them. The last two dimensions are a matrix;
--- the dimensions before them are a batch, whose matrices are processed independently. A result of one number a matrix
--- is a Lua number for a single matrix and a tensor for a batch. Computations use float64; results have the operand's
--- element type. Results have the same bits on every x86-64 machine and for every number of threads. There is no `eig`,
--- because eigenvalues of nonsymmetric matrices are complex numbers, which tensors do not support.
local ffi = require("ffi")
local check = require("actor.check")
local base = require("actor.tensor.base")
local create = require("actor.tensor.create")
local products = require("actor.tensor.products")
local api = require("actor.ffi")("linalg")

local methods, Tensor, C = base.methods, base.new, ffi.C

local fault = ffi.new("ah_linalg_fault")
local precision = { float32 = 2 ^ -23, float64 = 2 ^ -52 }  -- distance from 1 to the next number

-- The name of a matrix in an error: "matrix 3" of the batch, or "the matrix".
local function matrix_text(a)
  if a.ndim_ == 2 then return "the matrix" end
  return ("matrix %d"):format(tonumber(fault.matrix) + 1)
end

-- Ends an operation on `a`: raises the error of a status other than 0.
local function finish(status, fn, a)
  if status < C.AH_LINALG_FAULT then return base.finish(status, fn, a) end
  local obstacle, name, pivot = status - C.AH_LINALG_FAULT, matrix_text(a), tonumber(fault.pivot) + 1
  if obstacle == C.AH_OBSTACLE_NOT_FINITE then check.fail("%s: %s has an element that is NaN or infinite", fn, name) end
  if obstacle == C.AH_OBSTACLE_SINGULAR then check.fail("%s: %s is singular: pivot %d is 0", fn, name, pivot) end
  if obstacle == C.AH_OBSTACLE_NOT_DEFINITE then
    check.fail("%s: %s is not positive definite: pivot %d is %.6g", fn, name, pivot, fault.value)
  end
  check.fail("%s: the iteration for %s did not converge", fn, name)
end

-- Checks that t has matrices and returns it in row-major order.
local function matrices(t, name, fn)
  products.floating(t, name, fn)
  if t.ndim_ < 2 then
    check.fail("bad argument '%s' to %s: expected matrices, of at least 2 dimensions, got shape %s", name, fn,
      base.shape_text(t))
  end
  return methods.contiguous(t)
end

local function square(t, name, fn)
  t = matrices(t, name, fn)
  if t.extent_[t.ndim_ - 1] ~= t.extent_[t.ndim_ - 2] then
    check.fail("bad argument '%s' to %s: expected square matrices, got shape %s", name, fn, base.shape_text(t))
  end
  return t
end

-- A number for a tensor without dimensions, else the tensor.
local function number_or_tensor(t) return t.ndim_ == 0 and methods.item(t) or t end

-- The matrices of t, broadcast to a batch of shape `lead`, in row-major order.
local function stretched(t, lead)
  local shape, groups = {}, {}
  for d = 1, #lead do
    local from = d - #lead + t.ndim_ - 2
    shape[d] = lead[d]
    groups[d] = from > 0 and { from } or {}
  end
  for i = 1, 2 do
    local d = t.ndim_ - 2 + i
    table.insert(shape, tonumber(t.extent_[d - 1]))
    table.insert(groups, { d })
  end
  local view = products.arranged(t, groups)
  if base.list_text(shape) == base.shape_text(view) then return methods.contiguous(view) end
  return methods.copy_(base.allocate(shape, t.type_, "tensor.solve"), view)
end

-- Checks the operands of a x = b. Returns a and b as matrices with equal row counts in one batch, and whether b is a
-- vector.
local function equations(a, b, fn)
  products.pair_of(a, b, fn)
  a = matrices(a, "a", fn)
  local is_vector = b.ndim_ == 1
  if is_vector then b = methods.unsqueeze(b, 2) end
  local function fail()
    check.fail("bad argument to %s: shapes %s and %s do not fit (a [..., m, n] and b [m] or [..., m, k], batches equal "
      .. "or 1)", fn, base.shape_text(a), base.shape_text(is_vector and methods.squeeze(b, 2) or b))
  end
  if b.ndim_ < 2 or b.extent_[b.ndim_ - 2] ~= a.extent_[a.ndim_ - 2] then fail() end
  local lead = {}
  for d = 1, math.max(a.ndim_, b.ndim_) - 2 do
    local da, db = d - math.max(b.ndim_ - a.ndim_, 0), d - math.max(a.ndim_ - b.ndim_, 0)
    local n, m = da > 0 and tonumber(a.extent_[da - 1]) or 1, db > 0 and tonumber(b.extent_[db - 1]) or 1
    if n ~= m and n ~= 1 and m ~= 1 then fail() end
    lead[d] = n == 1 and m or n
  end
  return stretched(a, lead), stretched(b, lead), is_vector
end

---Solves a x = b. A singular matrix is an error with the number of its first zero pivot.
---```lua
---local a = actor.tensor.new { { 2, 0 }, { 0, 4 } }
---print(a:solve(actor.tensor.new { 2, 2 }))  --> tensor([1. , 0.5], float32)
---```
---@param b actor.Tensor [n] or [..., n, k], of a's element type
---@return actor.Tensor x as b, of the batch of both
function methods.solve(a, b)
  local fn = "tensor.solve"
  square(a, "a", fn)
  local m, right, is_vector = equations(a, b, fn)
  local x = Tensor()
  finish(api.solve(fault, x, m, right), fn, m)
  return is_vector and methods.squeeze(x, -1) or x
end

-- Unit matrices of the shape and type of t.
local function unit_like(t)
  local n = tonumber(t.extent_[t.ndim_ - 1])
  local out = base.allocate(t.shape, t.type_, "tensor.eye")
  return methods.copy_(out, create.eye(n, { dtype = t.dtype }))
end

---The inverse of square matrices. A singular matrix is an error with the number of its first zero pivot.
---```lua
---print(actor.tensor.new({ { 2, 0 }, { 0, 4 } }):inverse())
---
---
-----> tensor([[0.5 , 0.  ],
----->         [0.  , 0.25]], float32)
---```
---@return actor.Tensor [..., n, n]
function methods.inverse(t)
  local fn = "tensor.inverse"
  local a, x = square(t, "t", fn), Tensor()
  finish(api.solve(fault, x, a, unit_like(a)), fn, a)
  return x
end

---The decomposition t = p l u by elimination with row exchanges.
---```lua
---local p, l, u = actor.tensor.new({ { 0, 1 }, { 2, 3 } }):lu()
---print(u)
---
---
-----> tensor([[2., 3.],
----->         [0., 1.]], float32)
---```
---@return actor.Tensor p [..., m, m] a permutation of rows
---@return actor.Tensor l [..., m, k] lower triangular with ones on the diagonal; k is the smaller of m and n
---@return actor.Tensor u [..., k, n] upper triangular
function methods.lu(t)
  local fn = "tensor.lu"
  local a, p, l, u = matrices(t, "t", fn), Tensor(), Tensor(), Tensor()
  finish(api.lu(fault, p, l, u, a), fn, a)
  return p, l, u
end

---The factor of a symmetric positive definite matrix, t = l l^T. Elements above the diagonal of t are ignored. A matrix
---that is not positive definite is an error with the number of the pivot.
---```lua
---print(actor.tensor.new({ { 4, 2 }, { 2, 2 } }):cholesky())
---
---
-----> tensor([[2., 0.],
----->         [1., 1.]], float32)
---```
---@return actor.Tensor l [..., n, n] lower triangular
function methods.cholesky(t)
  local fn = "tensor.cholesky"
  local a, l = square(t, "t", fn), Tensor()
  finish(api.cholesky(fault, l, a), fn, a)
  return l
end

---The decomposition t = q r, where q has orthonormal columns and r is upper triangular.
---```lua
---local a = actor.tensor.normal({ 3, 2 }, { seed = 1 })
---local q, r = a:qr()
---print(q:matmul(r):allclose(a, { atol = 1e-5 }))  --> true
---```
---@param options? {full?: boolean} `full`: q is square, of m columns, instead of k
---@return actor.Tensor q [..., m, k], k is the smaller of m and n
---@return actor.Tensor r [..., k, n]
function methods.qr(t, options)
  local fn = "tensor.qr"
  local a, q, r = matrices(t, "t", fn), Tensor(), Tensor()
  options = check.optional_options(options, { full = "boolean?" }, fn)
  finish(api.qr(fault, q, r, a, options.full and 1 or 0), fn, a)
  return q, r
end

-- u, s and vt, or only s.
local function singular(t, fn, full, vectors)
  local a, s = matrices(t, "t", fn), Tensor()
  local u, vt
  if vectors then u, vt = Tensor(), Tensor() end
  finish(api.svd(fault, u, s, vt, a, full and 1 or 0), fn, a)
  if vectors then return u, s, vt end
  return s
end

---The singular value decomposition t = u diag(s) vt.
---```lua
---local u, s, vt = actor.tensor.new({ { 3, 0 }, { 0, 4 } }):svd()
---print(s)  --> tensor([4., 3.], float32)
---```
---@param options? {full?: boolean, vectors?: boolean} `full`: u and vt are square; `vectors` false: only s is returned
---@return actor.Tensor u [..., m, k] with orthonormal columns; k is the smaller of m and n
---@return actor.Tensor s [..., k] falling, at least 0
---@return actor.Tensor vt [..., k, n] with orthonormal rows
function methods.svd(t, options)
  local fn = "tensor.svd"
  options = check.optional_options(options, { full = "boolean?", vectors = "boolean?" }, fn)
  return singular(t, fn, options.full, options.vectors ~= false)
end

---The eigenvalues and eigenvectors of symmetric matrices: t v = v diag(w). Elements above the diagonal are ignored.
---```lua
---local w, v = actor.tensor.new({ { 2, 0 }, { 0, 1 } }):eigh()
---print(w)  --> tensor([1., 2.], float32)
---```
---@param options? {vectors?: boolean} `vectors` false: only w is returned
---@return actor.Tensor w [..., n] rising
---@return actor.Tensor v [..., n, n] whose columns are orthonormal
function methods.eigh(t, options)
  local fn = "tensor.eigh"
  local a, w = square(t, "t", fn), Tensor()
  options = check.optional_options(options, { vectors = "boolean?" }, fn)
  local v
  if options.vectors ~= false then v = Tensor() end
  finish(api.eigh(fault, w, v, a), fn, a)
  return w, v
end

-- The determinant, its sign and the logarithm of its magnitude.
local function determinant(t, fn)
  local a, det, sign, log = square(t, "t", fn), Tensor(), Tensor(), Tensor()
  finish(api.determinant(fault, det, sign, log, a), fn, a)
  return det, sign, log
end

---The determinant of square matrices.
---```lua
---print(actor.tensor.new({ { 2, 0 }, { 0, 4 } }):det())  --> 8
---```
---@return number|actor.Tensor a number, or [...] for a batch
function methods.det(t) return number_or_tensor((determinant(t, "tensor.det"))) end

---Sign and logarithm of the magnitude of the determinant, which does not overflow: det = sign * exp(log).
---```lua
---local sign, log = actor.tensor.new({ { -2, 0 }, { 0, 1 } }):slogdet()
---print(sign, ("%.3f"):format(log))  --> -1 0.693
---```
---@return number|actor.Tensor sign -1, 0 or 1
---@return number|actor.Tensor log -inf where the determinant is 0
function methods.slogdet(t)
  local _, sign, log = determinant(t, "tensor.slogdet")
  return number_or_tensor(sign), number_or_tensor(log)
end

-- 1 for each nonzero singular value, else 0, in s's type. A value is nonzero above `tolerance` times the largest value.
-- The default tolerance is the precision of the element type times the larger side.
local function counting(t, s, tolerance)
  local m, n = tonumber(t.extent_[t.ndim_ - 2]), tonumber(t.extent_[t.ndim_ - 1])
  if s.count_ == 0 then return s end
  tolerance = tolerance or math.max(m, n) * precision[t.dtype]
  return methods.to(methods.gt(s, methods.mul(methods.max(s, -1, true), tolerance)), s.dtype)
end

local function check_tolerance(options, fn)
  options = check.optional_options(options, { tolerance = "number?" }, fn)
  if options.tolerance ~= nil then check.number(options.tolerance, "tolerance", fn, 0) end
  return options.tolerance
end

---The rank of matrices: the number of singular values above `tolerance` times the largest.
---```lua
---print(actor.tensor.ones({ 3, 3 }):matrix_rank())  --> 1
---```
---@param options? {tolerance?: number} default the larger side times the precision of the element type
---@return number|actor.Tensor
function methods.matrix_rank(t, options)
  local fn = "tensor.matrix_rank"
  local tolerance = check_tolerance(options, fn)
  local s = singular(t, fn)
  return number_or_tensor(methods.sum(counting(t, s, tolerance), -1))
end

-- u, s, vt, and 1 / s, with 0 where s counts as 0.
local function inverted(t, fn, tolerance)
  local u, s, vt = singular(t, fn, false, true)
  local counts = counting(t, s, tolerance)
  -- Where a value counts as 0, the division is 0 / 1.
  local inverse = methods.div(counts, methods.add(methods.mul(s, counts), methods.sub(1, counts)))
  return u, s, vt, inverse, counts
end

---The pseudo-inverse (Moore, Penrose) of matrices. Singular values up to `tolerance` times the largest count as 0.
---```lua
---print(unpack(actor.tensor.ones({ 3, 2 }):pinv().shape))  --> 2 3
---```
---@param options? {tolerance?: number} default the larger side times the precision of the element type
---@return actor.Tensor [..., n, m]
function methods.pinv(t, options)
  local fn = "tensor.pinv"
  local u, _, vt, inverse = inverted(t, fn, check_tolerance(options, fn))
  return methods.matmul(methods.mul(methods.transpose(vt), methods.unsqueeze(inverse, -2)), methods.transpose(u))
end

---The least squares solution: x minimises |a x - b|; among several minima, x has the least |x|. Singular values up to
---`tolerance` times the largest count as 0.
---```lua
---local a = actor.tensor.new { { 1, 0 }, { 1, 1 }, { 1, 2 } }
---local x = a:lstsq(actor.tensor.new { 1, 3, 5 }) -- the line 1 + 2 t
---print(x:round())  --> tensor([1., 2.], float32)
---```
---@param b actor.Tensor [m] or [..., m, k], of a's element type
---@param options? {tolerance?: number} default the larger side times the precision of the element type
---@return actor.Tensor x [n] or [..., n, k]
---@return actor.Tensor residuals sums of squares of a x - b, [...] or [..., k]
---@return number|actor.Tensor rank of a
---@return actor.Tensor s singular values of a
function methods.lstsq(a, b, options)
  local fn = "tensor.lstsq"
  local tolerance = check_tolerance(options, fn)
  local m, right, is_vector = equations(a, b, fn)
  local u, s, vt, inverse, counts = inverted(m, fn, tolerance)
  local scaled = methods.mul(methods.matmul(methods.transpose(u), right), methods.unsqueeze(inverse, -1))
  local x = methods.matmul(methods.transpose(vt), scaled)
  local residuals = methods.sum(methods.square(methods.sub(methods.matmul(m, x), right)), -2)
  if is_vector then x, residuals = methods.squeeze(x, -1), methods.squeeze(residuals, -1) end
  return x, residuals, number_or_tensor(methods.sum(counts, -1)), s
end

-- The greatest element along the last dimension; 0 for an empty dimension.
local function greatest(t)
  if t.extent_[t.ndim_ - 1] == 0 then return methods.sum(t, -1) end
  return methods.max(t, -1)
end

local norms = {
  fro = function(t)
    local shape = t.shape
    local n = table.remove(shape)
    shape[#shape] = shape[#shape] * n
    return methods.norm(methods.reshape(t, shape), -1)
  end,
  nuc = function(t, fn) return methods.sum(singular(t, fn), -1) end,
  [1] = function(t) return greatest(methods.sum(methods.abs(t), -2)) end,
  [2] = function(t, fn) return greatest(singular(t, fn)) end,
  [math.huge] = function(t) return greatest(methods.sum(methods.abs(t), -1)) end,
}

---A norm of matrices. For norms of vectors use `t:norm`.
---```lua
---print(actor.tensor.new({ { 3, 0 }, { 0, 4 } }):matrix_norm())  --> 5
---```
---@param kind? "fro"|"nuc"|1|2|number "fro" (the default): the root of the sum of squares; "nuc": the sum of the
---  singular values; 1: the greatest sum of a column's magnitudes; 2: the greatest singular value; math.huge: as 1, for
---  rows
---@return number|actor.Tensor
function methods.matrix_norm(t, kind)
  local fn = "tensor.matrix_norm"
  local a = matrices(t, "t", fn)
  local norm = norms[kind == nil and "fro" or kind]
  if not norm then check.wrong("kind", fn, "'fro', 'nuc', 1, 2 or math.huge", kind) end
  return number_or_tensor(norm(a, fn))
end

---The condition number of matrices: the norm times the norm of the inverse. Its logarithm to base 10 is about the
---number of digits that solving loses.
---```lua
---print(actor.tensor.eye(3):cond())  --> 1
---```
---@param kind? "fro"|1|2|number which norm, default 2, from the singular values: infinite for a singular matrix. With
---  another norm a singular matrix is an error
---@return number|actor.Tensor
function methods.cond(t, kind)
  local fn = "tensor.cond"
  local a = matrices(t, "t", fn)
  if kind ~= nil and kind ~= 2 then
    square(a, "t", fn)
    if not norms[kind] then check.wrong("kind", fn, "'fro', 'nuc', 1, 2 or math.huge", kind) end
    return methods.matrix_norm(a, kind) * methods.matrix_norm(methods.inverse(a), kind)
  end
  if a.extent_[a.ndim_ - 1] == 0 or a.extent_[a.ndim_ - 2] == 0 then
    check.fail("bad argument 't' to %s: an empty matrix, of shape %s, has no condition", fn, base.shape_text(a))
  end
  local s = singular(a, fn)
  local k = tonumber(s.extent_[s.ndim_ - 1])
  return number_or_tensor(methods.div(methods.select(s, -1, 1), methods.select(s, -1, k)))
end

---Multiplies square matrices n times with themselves. n = 0 gives the unit matrix. A negative n multiplies the inverse;
---a singular matrix is then an error.
---```lua
---print(actor.tensor.new({ { 1, 1 }, { 0, 1 } }):matrix_power(3))
---
---
-----> tensor([[1., 3.],
----->         [0., 1.]], float32)
---```
---@param n integer
---@return actor.Tensor [..., k, k]
function methods.matrix_power(t, n)
  local fn = "tensor.matrix_power"
  local a = square(t, "t", fn)
  check.integer(n, "n", fn, -2 ^ 31, 2 ^ 31)
  if n < 0 then a, n = methods.inverse(a), -n end
  local out = unit_like(a)
  while n > 0 do
    if n % 2 == 1 then out = methods.matmul(out, a) end
    n = math.floor(n / 2)
    if n > 0 then a = methods.matmul(a, a) end
  end
  return out
end

return methods
