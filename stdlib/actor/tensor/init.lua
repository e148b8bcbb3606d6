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
require("actor.tensor.print")
local create = require("actor.tensor.create")
local ffi = require("ffi")

---@class actor.Tensor
---@field shape integer[] a fresh table
---@field dtype "float32"|"float64"
---@field ndim integer
---@field size integer number of elements
---@field add fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor also sub mul div pow maximum minimum; operators + - * / ^
---@field eq fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor 1 where it holds, else 0; also ne lt le gt ge
---@field add_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor in place, gives t; also each of the above with _
---@field exp fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor also neg log sqrt tanh sigmoid relu abs square sign
---@field exp_ fun(t: actor.Tensor): actor.Tensor in place, gives t; also each of the above with _
---@field relu_grad fun(g: actor.Tensor, y: actor.Tensor, out?: actor.Tensor): actor.Tensor g where y > 0, else 0
---@field tanh_grad fun(g: actor.Tensor, y: actor.Tensor, out?: actor.Tensor): actor.Tensor g * (1 - y^2)
---@field sum fun(t: actor.Tensor, dim?: integer, keepdim?: boolean): actor.Tensor|number a number without dim; also mean max min norm
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

---@param value any
---@return boolean
function M.is_tensor(value)
  return base.is_own(value)
end

---Threads that large products of this VM run on: `--threads-per-node` at first. Results are the same for any number.
---@param threads integer 1 .. 256
function M.set_threads(threads)
  check.integer(threads, "threads", "tensor.set_threads", 1, 256)
  base.api.set_threads(base.api.context, threads)
end

---Threads that large products of this VM run on.
---@return integer
function M.threads()
  return base.api.context.threads
end

---Bytes that this VM's tensors hold, views not counted.
---@return integer
function M.memory()
  return tonumber(base.api.context.live)
end

require("actor.codec").register_tensor { is = base.is_own, hash = base.methods.hash }

return setmetatable(M, {
  __call = function(_, values, options) return create.new(values, options) end,
})
