--- Row-major float32 and float64 tensors of up to 8 dimensions. Positions and dimensions count from 1, negative ones
--- from the end. Views (slice, select, t[i], transpose, view) share elements with the tensor they are made of: what is
--- written through one is seen in the other. Operators and functions make new tensors, functions whose name ends in _
--- write in place. Shapes fit by NumPy's rules: aligned at the last dimension, where sizes are equal or one of them is 1.
---
---     local tensor = require "actor.tensor"
---     local x = tensor.normal({128, 784}, {seed = 1})
---     local y = (x:matmul(w) + b):relu()
---
--- Both operands of an operation have one element type (`t:to` converts). Results do not depend on alignment or the
--- number of threads; products depend on the instruction set (`tensor.isa`), all else but `pow` does not.
local base = require("actor.tensor.base")
local check = require("actor.check")
require("actor.tensor.views")
require("actor.tensor.math")
require("actor.tensor.indexed")
require("actor.tensor.print")
require("actor.tensor.linalg")
local create = require("actor.tensor.create")
local ffi = require("ffi")

---@class actor.Tensor
---@field shape integer[] a new table at each use
---@field dtype "float32"|"float64"
---@field ndim integer
---@field size integer number of elements
---@field add fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor a + b
---@field sub fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor a - b
---@field mul fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor a * b, element by element
---@field div fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor a / b
---@field pow fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor a ^ b
---@field maximum fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor the greater of both
---@field minimum fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor the smaller of both
---@field eq fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor 1 where a = b, else 0
---@field ne fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor 1 where a and b differ, else 0
---@field lt fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor 1 where a < b, else 0
---@field le fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor 1 where a <= b, else 0
---@field gt fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor 1 where a > b, else 0
---@field ge fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor 1 where a >= b, else 0
---@field add_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor add in place, gives t
---@field sub_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor sub in place, gives t
---@field mul_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor mul in place, gives t
---@field div_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor div in place, gives t
---@field pow_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor pow in place, gives t
---@field maximum_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor maximum in place, gives t
---@field minimum_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor minimum in place, gives t
---@field eq_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor eq in place, gives t
---@field ne_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor ne in place, gives t
---@field lt_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor lt in place, gives t
---@field le_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor le in place, gives t
---@field gt_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor gt in place, gives t
---@field ge_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor ge in place, gives t
---@field neg fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor -t
---@field exp fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor e ^ t
---@field log fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor natural logarithm
---@field sqrt fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor square root
---@field tanh fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor hyperbolic tangent
---@field sigmoid fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor 1 / (1 + e ^ -t)
---@field relu fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor t where t > 0, else 0
---@field abs fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor without the sign
---@field square fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor t * t
---@field sign fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor -1, 0 or 1
---@field neg_ fun(t: actor.Tensor): actor.Tensor neg in place, gives t
---@field exp_ fun(t: actor.Tensor): actor.Tensor exp in place, gives t
---@field log_ fun(t: actor.Tensor): actor.Tensor log in place, gives t
---@field sqrt_ fun(t: actor.Tensor): actor.Tensor sqrt in place, gives t
---@field tanh_ fun(t: actor.Tensor): actor.Tensor tanh in place, gives t
---@field sigmoid_ fun(t: actor.Tensor): actor.Tensor sigmoid in place, gives t
---@field relu_ fun(t: actor.Tensor): actor.Tensor relu in place, gives t
---@field abs_ fun(t: actor.Tensor): actor.Tensor abs in place, gives t
---@field square_ fun(t: actor.Tensor): actor.Tensor square in place, gives t
---@field sign_ fun(t: actor.Tensor): actor.Tensor sign in place, gives t
---@field relu_grad fun(g: actor.Tensor, y: actor.Tensor, out?: actor.Tensor): actor.Tensor g where y > 0, else 0
---@field tanh_grad fun(g: actor.Tensor, y: actor.Tensor, out?: actor.Tensor): actor.Tensor g * (1 - y^2)
---@field relu_grad_ fun(g: actor.Tensor, y: actor.Tensor): actor.Tensor relu_grad in place, gives g
---@field tanh_grad_ fun(g: actor.Tensor, y: actor.Tensor): actor.Tensor tanh_grad in place, gives g
---@field sum fun(t: actor.Tensor, dim?: integer, keepdim?: boolean): actor.Tensor|number sum of the elements along `dim`; without `dim` of all, as a number. `keepdim` keeps the dimension, with size 1
---@field mean fun(t: actor.Tensor, dim?: integer, keepdim?: boolean): actor.Tensor|number mean of the elements along `dim`; without `dim` of all, as a number
---@field max fun(t: actor.Tensor, dim?: integer, keepdim?: boolean): actor.Tensor|number greatest element along `dim`; without `dim` of all, as a number
---@field min fun(t: actor.Tensor, dim?: integer, keepdim?: boolean): actor.Tensor|number smallest element along `dim`; without `dim` of all, as a number
---@field norm fun(t: actor.Tensor, dim?: integer, keepdim?: boolean): actor.Tensor|number root of the sum of squares along `dim`; without `dim` of all, as a number
---@operator add(actor.Tensor|number): actor.Tensor
---@operator sub(actor.Tensor|number): actor.Tensor
---@operator mul(actor.Tensor|number): actor.Tensor
---@operator div(actor.Tensor|number): actor.Tensor
---@operator pow(actor.Tensor|number): actor.Tensor
---@operator unm: actor.Tensor

---@class actor.tensor
---@field isa string instruction set of the kernels in use: "sse2", "v3" or "v4"
local M = { isa = ffi.string(base.api.isa) }

for name, f in pairs(base.methods) do
  if name ~= "at" and name ~= "put" then M[name] = f end
end
for name, f in pairs(create) do M[name] = f end
for name, f in pairs(require("actor.tensor.random")) do M[name] = f end
M.einsum = require("actor.tensor.products").einsum
M.csr = require("actor.tensor.sparse").csr

---Returns whether the value is a tensor.
---@param value any
---@return boolean
function M.is_tensor(value)
  return base.is_own(value)
end

---Sets how many threads large products, draws and decompositions of this VM run on:
---`--threads-per-node` at first. Results do not depend on it.
---@param threads integer 1 .. 256
function M.set_threads(threads)
  check.integer(threads, "threads", "tensor.set_threads", 1, 256)
  base.api.set_threads(base.api.context, threads)
end

---Returns how many threads large operations of this VM run on.
---@return integer
function M.threads()
  return base.api.context.threads
end

---Returns how many bytes this VM's tensors hold. Views are not counted.
---@return integer
function M.memory()
  return tonumber(base.api.context.live)
end

require("actor.codec").register_tensor { is = base.is_own, hash = base.methods.hash }

return setmetatable(M, {
  __call = function(_, values, options) return create.new(values, options) end,
})
