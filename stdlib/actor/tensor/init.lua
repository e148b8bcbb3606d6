--- Row-major tensors of up to 8 dimensions, of float32, float64, int32, int64, uint8 or bool. Positions and dimensions
--- count from 1, negative ones from the end. A view (slice, select, t[i], transpose, view) shares elements with its
--- source tensor: a write to one changes both. Operators and functions make new tensors; functions whose name ends in _
--- write in place. Shapes broadcast by NumPy's rules: aligned at the last dimension, where sizes are equal or one of
--- them is 1.
---
---     local tensor = require "actor.tensor"
---     local x = tensor.normal({128, 784}, {seed = 1})
---     local y = (x:matmul(w) + b):relu()
---
--- Operands of two element types are converted to the wider type, in the order bool, uint8, int32, int64, float.
--- float32 with float64 is an error (`t:to` converts). A whole Lua number takes the type of an integer tensor (int64
--- beside bool); any other number makes the result float32. Whole numbers wrap at the ends of their type in +, - and *.
--- Their quotient, sqrt, exp and the like are float32; mod and floor_div by 0 raise. For bool, + is or and * is and;
--- bool has no -. Comparisons give bool; sums of whole numbers are int64.
---
--- A tensor has at most 2^48 elements. An allocation beyond the memory of the machine or of the process's control group
--- is an error, which a script may catch.
---
--- Float results do not depend on alignment or the number of threads. Products depend on the instruction set
--- (`tensor.isa`), and so do some functions of the C library (pow of float64, sin, log2 and the like). Other results do
--- not.
local base = require("actor.tensor.base")
local names = require("actor.tensor.names")
local check = require("actor.check")
local util = require("actor.util")
for _, name in ipairs { "views", "math", "indexed", "order", "statistics", "print", "linalg" } do -- they add methods
  require("actor.tensor." .. name)
end
local create = require("actor.tensor.create")
local join = require("actor.tensor.join")
local files = require("actor.tensor.files")
local ffi = require("ffi")

---@class actor.Tensor
---@field shape integer[] a new table at each use
---@field dtype actor.Dtype
---@field ndim integer
---@field size integer number of elements
---@field add fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor a + b
---@field sub fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor a - b
---@field mul fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor a * b, element by element
---@field div fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor a / b
---@field mod fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor a % b, with the sign of b
---@field floor_div fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor a / b, rounded down
---@field atan2 fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor the angle of the point (b, a)
---@field hypot fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor root of a^2 + b^2
---@field pow fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor a ^ b
---@field maximum fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor the greater of a and b
---@field minimum fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor the smaller of a and b
---@field eq fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor bool: whether a = b
---@field ne fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor bool: whether a and b differ
---@field lt fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor bool: whether a < b
---@field le fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor bool: whether a <= b
---@field gt fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor bool: whether a > b
---@field ge fun(a: actor.Tensor|number, b: actor.Tensor|number, out?: actor.Tensor): actor.Tensor bool: whether a >= b
---@field logical_and fun(a: actor.Tensor|boolean, b: actor.Tensor|boolean, out?: actor.Tensor): actor.Tensor bool: whether both are true, or not 0
---@field logical_or fun(a: actor.Tensor|boolean, b: actor.Tensor|boolean, out?: actor.Tensor): actor.Tensor bool: whether a or b is true, or not 0
---@field logical_xor fun(a: actor.Tensor|boolean, b: actor.Tensor|boolean, out?: actor.Tensor): actor.Tensor bool: whether exactly one of a and b is true, or not 0
---@field logical_not fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor bool: whether t is false, or 0
---@field isnan fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor bool: whether t is NaN
---@field isinf fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor bool: whether t is infinite
---@field isfinite fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor bool: whether t is neither NaN nor infinite
---@field add_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor add in place, returns t
---@field sub_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor sub in place, returns t
---@field mul_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor mul in place, returns t
---@field mod_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor mod in place, returns t
---@field floor_div_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor floor_div in place, returns t
---@field atan2_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor atan2 in place, returns t
---@field hypot_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor hypot in place, returns t
---@field div_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor div in place, returns t
---@field pow_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor pow in place, returns t
---@field maximum_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor maximum in place, returns t
---@field minimum_ fun(t: actor.Tensor, b: actor.Tensor|number): actor.Tensor minimum in place, returns t
---@field neg fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor -t
---@field exp fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor e ^ t
---@field log fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor natural logarithm
---@field sqrt fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor square root
---@field tanh fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor hyperbolic tangent
---@field sigmoid fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor 1 / (1 + e ^ -t)
---@field relu fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor t where t > 0, else 0
---@field abs fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor the absolute value
---@field square fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor t * t
---@field sign fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor -1, 0 or 1
---@field floor fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor the greatest whole number not above t
---@field ceil fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor the smallest whole number not below t
---@field round fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor the nearest whole number, ties to even
---@field trunc fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor the whole part: rounded toward 0
---@field sin fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor sine
---@field cos fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor cosine
---@field tan fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor tangent
---@field asin fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor arc sine
---@field acos fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor arc cosine
---@field atan fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor arc tangent
---@field sinh fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor hyperbolic sine
---@field cosh fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor hyperbolic cosine
---@field log1p fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor log(1 + t)
---@field expm1 fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor e ^ t - 1
---@field log2 fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor logarithm to base 2
---@field log10 fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor logarithm to base 10
---@field reciprocal fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor 1 / t
---@field neg_ fun(t: actor.Tensor): actor.Tensor neg in place, returns t
---@field exp_ fun(t: actor.Tensor): actor.Tensor exp in place, returns t
---@field log_ fun(t: actor.Tensor): actor.Tensor log in place, returns t
---@field sqrt_ fun(t: actor.Tensor): actor.Tensor sqrt in place, returns t
---@field tanh_ fun(t: actor.Tensor): actor.Tensor tanh in place, returns t
---@field sigmoid_ fun(t: actor.Tensor): actor.Tensor sigmoid in place, returns t
---@field relu_ fun(t: actor.Tensor): actor.Tensor relu in place, returns t
---@field abs_ fun(t: actor.Tensor): actor.Tensor abs in place, returns t
---@field square_ fun(t: actor.Tensor): actor.Tensor square in place, returns t
---@field sign_ fun(t: actor.Tensor): actor.Tensor sign in place, returns t
---@field floor_ fun(t: actor.Tensor): actor.Tensor floor in place, returns t
---@field ceil_ fun(t: actor.Tensor): actor.Tensor ceil in place, returns t
---@field round_ fun(t: actor.Tensor): actor.Tensor round in place, returns t
---@field trunc_ fun(t: actor.Tensor): actor.Tensor trunc in place, returns t
---@field sin_ fun(t: actor.Tensor): actor.Tensor sin in place, returns t
---@field cos_ fun(t: actor.Tensor): actor.Tensor cos in place, returns t
---@field tan_ fun(t: actor.Tensor): actor.Tensor tan in place, returns t
---@field asin_ fun(t: actor.Tensor): actor.Tensor asin in place, returns t
---@field acos_ fun(t: actor.Tensor): actor.Tensor acos in place, returns t
---@field atan_ fun(t: actor.Tensor): actor.Tensor atan in place, returns t
---@field sinh_ fun(t: actor.Tensor): actor.Tensor sinh in place, returns t
---@field cosh_ fun(t: actor.Tensor): actor.Tensor cosh in place, returns t
---@field log1p_ fun(t: actor.Tensor): actor.Tensor log1p in place, returns t
---@field expm1_ fun(t: actor.Tensor): actor.Tensor expm1 in place, returns t
---@field log2_ fun(t: actor.Tensor): actor.Tensor log2 in place, returns t
---@field log10_ fun(t: actor.Tensor): actor.Tensor log10 in place, returns t
---@field reciprocal_ fun(t: actor.Tensor): actor.Tensor reciprocal in place, returns t
---@field relu_grad fun(g: actor.Tensor, y: actor.Tensor, out?: actor.Tensor): actor.Tensor g where y > 0, else 0
---@field tanh_grad fun(g: actor.Tensor, y: actor.Tensor, out?: actor.Tensor): actor.Tensor g * (1 - y^2)
---@field relu_grad_ fun(g: actor.Tensor, y: actor.Tensor): actor.Tensor relu_grad in place, returns g
---@field gelu fun(t: actor.Tensor, out?: actor.Tensor): actor.Tensor x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
---@field gelu_ fun(t: actor.Tensor): actor.Tensor gelu in place, returns t
---@field sigmoid_grad fun(g: actor.Tensor, y: actor.Tensor, out?: actor.Tensor): actor.Tensor g * y * (1 - y)
---@field gelu_grad fun(g: actor.Tensor, x: actor.Tensor, out?: actor.Tensor): actor.Tensor g times gelu's slope at x
---@field sigmoid_grad_ fun(g: actor.Tensor, y: actor.Tensor): actor.Tensor sigmoid_grad in place, returns g
---@field gelu_grad_ fun(g: actor.Tensor, x: actor.Tensor): actor.Tensor gelu_grad in place, returns g
---@field tanh_grad_ fun(g: actor.Tensor, y: actor.Tensor): actor.Tensor tanh_grad in place, returns g
---@operator add(actor.Tensor|number): actor.Tensor
---@operator sub(actor.Tensor|number): actor.Tensor
---@operator mul(actor.Tensor|number): actor.Tensor
---@operator div(actor.Tensor|number): actor.Tensor
---@operator mod(actor.Tensor|number): actor.Tensor
---@operator pow(actor.Tensor|number): actor.Tensor
---@operator unm: actor.Tensor

---@class actor.tensor
---@field isa string instruction set of the kernels in use: "sse2", "v3" or "v4"
local M = util.merged(base.methods, create, join, files, require("actor.tensor.random"))
M.isa, M.einsum = ffi.string(base.api.isa), require("actor.tensor.products").einsum
M.at, M.put = nil, nil -- for t[i] and t[i] = value

---Returns whether the value is a tensor.
---```lua
---print(actor.tensor.is_tensor(actor.tensor.zeros(2)), actor.tensor.is_tensor { 1, 2 })  --> true false
---```
---@param value any
---@return boolean
function M.is_tensor(value) return base.is_own(value) end

---Sets how many threads large products, draws and decompositions of this VM use. The initial number is
---`--threads-per-node`. Results do not depend on it.
---```lua
---actor.tensor.set_threads(2)
---print(actor.tensor.threads())  --> 2
---actor.tensor.set_threads(1)
---```
---@param threads integer 1 .. 256
function M.set_threads(threads)
  check.integer(threads, "threads", "tensor.set_threads", 1, 256)
  base.api.set_threads(base.api.context, threads)
end

---Returns how many threads large operations of this VM use.
---```lua
---print(actor.tensor.threads() >= 1)  --> true
---```
---@return integer
function M.threads() return base.api.context.threads end

---Returns how many bytes this VM's tensors occupy, without views.
---```lua
---local t = actor.tensor.zeros(1000)
---print(actor.tensor.memory() >= 4000)  --> true
---```
---@return integer
function M.memory() return tonumber(base.api.context.live) end

require("actor.codec").register_tensor { is = base.is_own, hash = base.methods.hash }

return setmetatable(M, {
  __call = function(_, values, options) return create.new(values, options) end,
  __index = function(_, name)
    if type(name) == "string" then names.unknown("tensor.", name, M) end
  end,
})
