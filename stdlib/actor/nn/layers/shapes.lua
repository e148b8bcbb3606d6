--- Layers without products of matrices: flatten, embedding, and add and concat, which have several inputs. Each shape
--- is the shape of a sample, without the dimension of the batch.
local check = require("actor.check")
local base = require("actor.tensor.base")
local pass = require("actor.nn.pass")
local weights = require("actor.nn.weights")

local api, C = base.api, require("ffi").C
local M = {}
local class = check.class

local function elements(shape)
  local count = 1
  for _, extent in ipairs(shape) do count = count * extent end
  return count
end

-- ---- Flatten ----

---@class actor.nn.Flatten: actor.nn.Layer
local Flatten = class("layer:", "state", "weights")

---Makes a layer that reshapes each sample into a vector. The result shares the memory of a contiguous input.
---```lua
---print(unpack(actor.nn.input({ 28, 28, 1 }):flatten().shape))  --> 784
---```
---@param shape integer[]
---@return actor.nn.Flatten
function M.flatten(shape)
  return setmetatable({ kind = "flatten", shape = { elements(shape) }, input = shape, params = {}, grads = {} }, Flatten)
end

function Flatten:forward(x)
  return pass.expect(x, self.input, "x", "flatten:forward"):reshape(#x, self.shape[1])
end

function Flatten:backward(dy)
  return pass.expect(dy, self.shape, "dy", "flatten:backward"):reshape(#dy, unpack(self.input))
end

-- ---- Embedding ----

---@class actor.nn.Embedding: actor.nn.Layer
local Embedding = class("layer:", "state")

local embedding_options = { init = "string|number|function?", l1 = "number?", l2 = "number?", name = "string?" }

---Makes a layer that replaces each position (an integer of 1 .. `count`) by the weights of this position, a vector of
---`width` numbers.
---```lua
---print(unpack(actor.nn.input({ 5 }):embedding(1000, 16).shape))  --> 5 16
---```
---@param shape integer[] the shape of a sample of positions, {} for one position
---@param count integer
---@param width integer
---@param options? {init?: string|number|function, l1?: number, l2?: number, name?: string} default of `init`: "glorot"
---@return actor.nn.Embedding
function M.embedding(shape, count, width, options)
  local fn = "nn.embedding"
  check.integer(count, "count", fn, 1)
  check.integer(width, "width", fn, 1)
  options = check.optional_options(options, embedding_options, fn)
  weights.check_init(options.init, fn)
  local result = { unpack(shape) }
  result[#result + 1] = width
  return setmetatable({
    kind = "embedding", shape = result, input = shape, width = width, params = {}, grads = {}, index = false,
    weights = { weight = { shape = { count, width }, init = options.init or "glorot", inputs = 1, outputs = width,
      l1 = options.l1, l2 = options.l2 } },
  }, Embedding)
end

function Embedding:forward(x)
  base.arg(x, "x", "embedding:forward")
  if #self.input > 0 then x = pass.expect(x, self.input, "x", "embedding:forward") end
  self.index = x:reshape(x.size)
  return self.params.weight:take(self.index):reshape(#x, unpack(self.shape))
end

function Embedding:backward(dy)
  dy = pass.expect(dy, self.shape, "dy", "embedding:backward")
  if not self.index then check.fail("embedding:backward: there was no forward pass") end
  local grad = self.grads.weight
  api.fill(grad, 0)
  grad:index_add_(self.index, dy:reshape(self.index.size, self.width))
end

-- ---- Several inputs ----

local function check_shapes(shapes, fn)
  if #shapes < 2 then check.fail("%s: expected at least two inputs, got %d", fn, #shapes) end
end

---@class actor.nn.Add: actor.nn.Layer
local Add = class("layer:", "state", "weights")

---Makes a layer that adds its inputs, which have equal shapes.
---@param shapes integer[][]
---@return actor.nn.Add
function M.add(shapes)
  check_shapes(shapes, "nn.add")
  for i = 2, #shapes do
    if base.list_text(shapes[i]) ~= base.list_text(shapes[1]) then
      check.fail("nn.add: the inputs' shapes %s and %s differ", base.list_text(shapes[1]), base.list_text(shapes[i]))
    end
  end
  return setmetatable({ kind = "add", shape = shapes[1], params = {}, grads = {}, y = false, merges = #shapes }, Add)
end

function Add:forward(xs)
  local y = pass.like(self, "y", xs[1])
  pass.done(api.binary(C.AH_BINARY_ADD, y, xs[1], xs[2]), "add:forward", xs[1], xs[2], y)
  for i = 3, #xs do pass.done(api.binary(C.AH_BINARY_ADD, y, y, xs[i]), "add:forward", y, xs[i], y) end
  return y
end

function Add:backward(dy)
  local all = {}
  for i = 1, self.merges do all[i] = dy end
  return all
end

---@class actor.nn.Concat: actor.nn.Layer
local Concat = class("layer:", "state", "weights")

local concat_options = { dim = "number?", name = "string?" }

---Makes a layer that joins its inputs along one dimension of the samples, by default the last (the channels).
---@param shapes integer[][]
---@param options? {dim?: integer, name?: string}
---@return actor.nn.Concat
function M.concat(shapes, options)
  local fn = "nn.concat"
  check_shapes(shapes, fn)
  options = check.optional_options(options, concat_options, fn)
  local first = shapes[1]
  if #first == 0 then check.fail("%s: samples without dimensions cannot be joined", fn) end
  local dim = options.dim or #first
  check.integer(dim, "dim", fn, 1, #first)
  local result, sizes = { unpack(first) }, {}
  result[dim] = 0
  for i, shape in ipairs(shapes) do
    local fits = #shape == #first
    for d = 1, #first do fits = fits and (d == dim or shape[d] == first[d]) end
    if not fits then
      check.fail("%s: shapes %s and %s differ in more than dimension %d", fn, base.list_text(first),
        base.list_text(shape), dim)
    end
    sizes[i], result[dim] = shape[dim], result[dim] + shape[dim]
  end
  return setmetatable({ kind = "concat", shape = result, shapes = shapes, dim = dim, sizes = sizes, params = {},
    grads = {}, y = false, dxs = {}, merges = #shapes }, Concat)
end

-- The view of the elements of y that belong to input i.
function Concat:part(y, i)
  local from = 1
  for j = 1, i - 1 do from = from + self.sizes[j] end
  local index = {}
  for d = 1, self.dim do index[d] = {} end
  index[self.dim + 1] = { from, from + self.sizes[i] - 1 }
  return y[index]
end

function Concat:forward(xs)
  local y = pass.result(self, "y", xs[1].extent_[0], self.shape, xs[1].type_)
  for i = 1, #xs do
    if self.sizes[i] > 0 then self:part(y, i):copy_(xs[i]) end
  end
  return y
end

function Concat:backward(dy)
  for i = 1, self.merges do
    local dx = pass.result(self.dxs, i, dy.extent_[0], self.shapes[i], dy.type_)
    if self.sizes[i] > 0 then dx:copy_(self:part(dy, i)) end
  end
  return self.dxs
end

return M
