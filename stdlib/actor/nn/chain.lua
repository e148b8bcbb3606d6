--- Networks written as chains: `nn.input{28, 28, 1}:conv2d{...}:linear(10):network{}`. Each call makes a node, which
--- has the shape of its result for one sample. Several nodes may follow one node, so chains branch. `network` makes the
--- layers of a network.
local check = require("actor.check")
local base = require("actor.tensor.base")
local activations = require("actor.nn.layers.activations")
local network = require("actor.nn.network")
local spelling = require("actor.c.names")

local M = {}

---@class actor.nn.Node
---@field shape integer[] of the result for one sample
---@field private make fun(): actor.nn.Layer makes another layer of this node, for another network
---@field private from actor.nn.Node[] the nodes of its inputs
local Node = {}

-- Definitions of layers by name: function(shape or shapes, ...) -> layer.
local definitions = {}
M.definitions = definitions

local methods = {}

local function node_index(_, name)
  local method = methods[name]
  if method then return method end
  local define = definitions[name]
  if define then
    return function(self, ...)
      if getmetatable(self) ~= Node then check.fail("nn: call node:%s(...) with a colon", name) end
      return M.node(name, define, { self }, self.shape, ...)
    end
  end
  local names = {}
  for known in pairs(definitions) do names[known] = true end
  for known in pairs(methods) do names[known] = true end
  spelling.unknown("layer ", tostring(name), names)
end

Node.__index = node_index
Node.__tostring = function(self) return ("node %s %s"):format(self.kind, base.list_text(self.shape)) end

-- Adds a node for the activation after a layer that does not apply the activation itself.
local function with_activation(node, act)
  if not act then return node end
  return M.node(act, definitions[act], { node }, node.shape)
end

-- The option `name` in the arguments of a layer; nil without one.
local function name_in(...)
  for i = 1, select("#", ...) do
    local value = select(i, ...)
    if type(value) == "table" and not base.is_tensor(value) and value.name then
      check.arg(value.name, "string", "name", "nn")
      return value.name
    end
  end
end

---Makes a node for a layer, and a node for its activation, if any. The call makes a layer, which checks the arguments
---and has the shape.
---@param kind string the layer's name in a chain, "conv2d"
---@param define function makes the layer
---@param from actor.nn.Node[] the nodes of its inputs
---@param shape integer[]|integer[][] the first argument of `define`
---@param ... any the other arguments of `define`
---@return actor.nn.Node
function M.node(kind, define, from, shape, ...)
  local count, given = select("#", ...), { ... }
  local function make()
    local layer = define(shape, unpack(given, 1, count))
    if type(layer) ~= "table" or type(rawget(layer, "shape")) ~= "table" then
      check.fail("the definition of the layer '%s' has to return a table with the shape of a sample's result, `shape`", kind)
    end
    layer.kind = rawget(layer, "kind") or kind
    layer.params, layer.grads = rawget(layer, "params") or {}, rawget(layer, "grads") or {}
    return layer
  end
  local layer = make()
  for _, extent in ipairs(layer.shape) do check.integer(extent, "shape of " .. kind, "nn", 0) end
  local node = setmetatable({ kind = kind, make = make, from = from, shape = layer.shape, name = name_in(...) or false },
    Node)
  return with_activation(node, rawget(layer, "act"))
end

---Begins a chain, for samples of this shape.
---```lua
---local net = actor.nn.input({ 28, 28, 1 }):fully_connected(10):network { seed = 1 }
---print(net.flat_params.size)  --> 7850
---```
---@param shape integer[] {28, 28, 1} for images, {784} for rows
---@return actor.nn.Node
function M.input(shape)
  local checked = base.shape(shape, "nn.input")
  return setmetatable({ kind = "input", make = false, from = {}, shape = { unpack(checked) }, name = false }, Node)
end

local function merged(name)
  return function(nodes, options)
    check.arg(nodes, "table", "nodes", "nn." .. name)
    local shapes = {}
    for i, node in ipairs(nodes) do
      if getmetatable(node) ~= Node then check.wrong(("nodes[%d]"):format(i), "nn." .. name, "a node of nn.input", node) end
      shapes[i] = node.shape
    end
    return M.node(name, definitions[name], { unpack(nodes) }, shapes, options)
  end
end

---Adds the results of nodes of equal shape.
---```lua
---local x = actor.nn.input { 8 }
---local net = actor.nn.add({ x, x:linear(8, "relu") }):network { seed = 1 } -- a residual connection
---print(unpack(net:predict(actor.tensor.ones { 2, 8 }).shape))  --> 2 8
---```
---@type fun(nodes: actor.nn.Node[]): actor.nn.Node
M.add = merged("add")

---Joins the results of nodes along a dimension of the samples, by default the last.
---```lua
---local x = actor.nn.input { 8 }
---print(unpack(actor.nn.concat({ x, x:linear(4) }).shape))  --> 12
---```
---@type fun(nodes: actor.nn.Node[], options?: {dim?: integer}): actor.nn.Node
M.concat = merged("concat")

-- ---- Networks ----

local network_options = { seed = "number|cdata?", stream = "number?", dtype = "string?", loss = "string|function?",
  inputs = "table?", l1 = "number?", l2 = "number?" }

-- Appends `node` and all nodes before it to `order`, each after the nodes that it depends on.
local function in_order(node, seen, order)
  if seen[node] then return end
  seen[node] = true
  for _, before in ipairs(node.from) do in_order(before, seen, order) end
  order[#order + 1] = node
end

local function regularised(layer, options)
  local weight = (rawget(layer, "weights") or {}).weight
  if weight then weight.l1, weight.l2 = weight.l1 or options.l1, weight.l2 or options.l2 end
end

-- The name of a node's layer: the option `name`, or the kind. A repeated kind gets a number, from 2 on.
local function name_of(node, used)
  local name, number = node.name or node.kind, 2
  if node.name and used[name] then check.fail("nn.network: two layers have the name '%s'", name) end
  while used[name] do name, number = node.kind .. number, number + 1 end
  used[name] = true
  return name
end

---Makes the network that ends at this node. Each call makes another network, with its own weights.
---```lua
---local net = actor.nn.input({ 4 }):linear(8, "relu"):linear(1):network { seed = 1, loss = "mse" }
---print(net:loss(actor.tensor.ones { 2, 4 }, actor.tensor.zeros { 2, 1 }) > 0)  --> true
---```
---@param options? {seed?: integer, stream?: integer, dtype?: "float32"|"float64", loss?: "cross_entropy"|"mse"|"hinge"|function, l1?: number, l2?: number, inputs?: actor.nn.Node[]}
---seed: of the initial weights and of dropout, default the run's seed; stream: with a different stream on each worker,
---dropout drops different elements on each worker; l1, l2: regularisation of all weights except biases; inputs: the
---nodes of nn.input in the order of the network's inputs
---@return actor.nn.Network
function methods.network(self, options)
  local fn = "nn.network"
  options = check.optional_options(options, network_options, fn)
  local order, inputs, place = {}, {}, {}
  in_order(self, {}, order)
  for _, node in ipairs(options.inputs or {}) do
    if getmetatable(node) ~= Node or node.kind ~= "input" then check.wrong("inputs", fn, "nodes of nn.input", node) end
    inputs[#inputs + 1] = node
    place[node] = 1 - #inputs
  end
  local steps, used = {}, {}
  for _, node in ipairs(order) do
    if node.kind == "input" then
      if options.inputs and not place[node] then check.fail("bad argument 'inputs' to %s: it lacks an input of the chain", fn) end
      if not place[node] then
        inputs[#inputs + 1] = node
        place[node] = 1 - #inputs
      end
    else
      local from = {}
      for i, before in ipairs(node.from) do from[i] = place[before] end
      local layer = node.make()
      regularised(layer, options)
      steps[#steps + 1] = { layer = layer, name = name_of(node, used), from = from }
      place[node] = #steps
    end
  end
  if #steps == 0 then check.fail("%s: the chain has no layer after its input", fn) end
  local shapes = {}
  for i, node in ipairs(inputs) do shapes[i] = node.shape end
  return network.new(steps, { seed = options.seed, stream = options.stream, dtype = options.dtype, loss = options.loss,
    inputs = shapes })
end

---Defines a layer: `node:name(...)` calls `make(shape, ...)`, which returns a layer. The layer's `shape` is the shape
---of a sample's result. Its `weights` declare its parameters, which `forward` reads from `self.params`; `backward`
---writes their gradients to `self.grads`.
---```lua
---actor.nn.define("double", function(shape)
---  return {
---    shape = shape,
---    forward = function(self, x) return x * 2 end,
---    backward = function(self, dy) return dy * 2 end,
---  }
---end)
---print(actor.nn.input({ 2 }):double():network():predict(actor.tensor.ones { 1, 2 }):sum())  --> 4
---```
---@param name string
---@param make fun(shape: integer[], ...: any): actor.nn.Layer
function M.define(name, make)
  local fn = "nn.define"
  check.arg(name, "string", "name", fn)
  check.arg(make, "function", "make", fn)
  if not name:match("^[%a_][%w_]*$") then check.wrong("name", fn, "a name of letters, digits and _", name) end
  if definitions[name] or methods[name] then check.fail("%s: there is a layer '%s' already", fn, name) end
  definitions[name] = make
end

for name in pairs(activations.names) do
  definitions[name] = function(shape) return activations.make(name, shape) end
end

return M
