--- A network: layers in topological order, each after the layers whose results are its inputs.
local check = require("actor.check")
local base = require("actor.tensor.base")
local files = require("actor.tensor.files")
local losses = require("actor.nn.losses")
local pytorch = require("actor.nn.pytorch")
local rng = require("actor.rng")
local tensor = require("actor.tensor")
local util = require("actor.util")
local weights = require("actor.nn.weights")

local M = {}

---@class actor.nn.Network: actor.nn.Layer
---@field params table<string, actor.Tensor> by name, "conv2d.weight": views of `flat_params`
---@field grads table<string, actor.Tensor> of the same names: views of `flat_grads`
---@field state table<string, actor.Tensor> state of layers beside their weights: running means, dropout's batch counts
---@field flat_params actor.Tensor all parameters in one tensor of one dimension
---@field flat_grads actor.Tensor their gradients
local Network = check.class("network:")

M.Network = Network

---@class actor.nn.Step one layer of a network
---@field layer actor.nn.Layer
---@field name string
---@field from integer[] the steps whose results are its inputs; input i of the network has the number 1 - i

---Rows of one pass where no gradients are needed.
M.rows_at_once = 256

local function run_seed() return package.preload["actor.c.node"] and require("actor").seed or 0 end

-- Makes the tensors that a layer declares as its state.
local function make_state(layer, dtype)
  local made = {}
  for name, state in pairs(rawget(layer, "state") or {}) do
    if base.is_tensor(state) then
      made[name] = state
    else
      made[name] = weights.initialisers[state.init](state, nil, state.dtype or dtype)
    end
  end
  layer.state = made
end

-- The tensors under `key` ("params", "grads", "state") of some layers, by name.
local function by_name(steps, key)
  local all = {}
  for _, step in ipairs(steps) do
    for name, value in pairs(rawget(step.layer, key) or {}) do all[step.name .. "." .. name] = value end
  end
  return all
end

-- Marks the steps whose results depend on parameters: the backward pass must reach them.
local function mark_wanted(steps)
  for _, step in ipairs(steps) do
    step.below = false
    for _, from in ipairs(step.from) do
      if from > 0 and steps[from].wanted then step.below = true end
    end
    step.wanted = step.below or next(step.layer.params) ~= nil
  end
end

---Makes a network of steps. Layers without weights receive weights.
---@param steps actor.nn.Step[]
---@param options {seed?: integer, stream?: integer, dtype?: string, loss?: string|function, inputs?: integer[][], rng?: actor.Rng}
---@return actor.nn.Network
function M.new(steps, options)
  local seed, layers, own = options.seed or run_seed(), {}, false
  for i, step in ipairs(steps) do
    layers[i] = step.layer
    own = own or (next(step.layer.params or {}) ~= nil and not rawget(step.layer, "weights"))
  end
  local flat_params, flat_grads
  if not own then
    flat_params, flat_grads = weights.realise(layers, {
      draw = function(i) return rng(seed, i) end,
      dtype = options.dtype,
    })
  end
  local penalised = {}
  for i, layer in ipairs(layers) do
    steps[i].merges = rawget(layer, "merges") or false
    for name, weight in util.pairs(rawget(layer, "weights") or {}) do
      if (weight.l1 or weight.l2) and not own then penalised[#penalised + 1] = { layer, name, weight.l1 or 0, weight.l2 or 0 } end
    end
    make_state(layer, options.dtype)
    if layer.kind == "dropout" and not layer.seed then layer.seed = seed + i + 2 ^ 32 * (options.stream or 0) end
  end
  mark_wanted(steps)
  local last = layers[#layers]
  return setmetatable({
    kind = "network", steps = steps, layers = layers, results = {}, sums = {},
    params = by_name(steps, "params"), grads = by_name(steps, "grads"), state = by_name(steps, "state"),
    flat_params = flat_params or false, flat_grads = flat_grads or false,
    inputs = options.inputs or false, shape = rawget(last, "shape") or false,
    loss_function = losses.find(options.loss or "cross_entropy", "nn.network"),
    ends_in_softmax = last.kind == "softmax" and #steps > 1,
    penalised = penalised, training = false,
  }, Network)
end

-- The input in the shape of the network's samples. Flat rows with as many elements are reshaped.
local function as_input(x, shape, name)
  base.arg(x, name, "net:forward")
  if not shape then return x end
  local fits, count = x.ndim_ == #shape + 1, 1
  for d = 1, #shape do
    fits = fits and x.extent_[d] == shape[d]
    count = count * shape[d]
  end
  if fits then return x end
  if x.ndim_ == 2 and x.extent_[1] == count then return x:reshape(tonumber(x.extent_[0]), unpack(shape)) end
  local wanted = table.concat(shape, ", ")
  check.fail("bad argument '%s' to net:forward: expected shape (rows%s%s) or (rows, %d), got %s", name,
    #shape > 0 and ", " or "", wanted, count, base.shape_text(x))
end

local function input(self, x, i)
  local shapes = self.inputs
  if not shapes then return x end
  if #shapes == 1 then return as_input(x, shapes[1], "x") end
  if type(x) ~= "table" or #x ~= #shapes then
    check.fail("bad argument 'x' to net:forward: expected a table of %d tensors, one for each nn.input", #shapes)
  end
  return as_input(x[i], shapes[i], ("x[%d]"):format(i))
end

-- Runs the steps up to number `last`; `results` retains their results.
local function run(self, x, training, last)
  self.training = training
  local steps, results = self.steps, self.results
  local inputs = self.inputs and #self.inputs or 1
  for i = 1, inputs do results[1 - i] = input(self, x, i) end
  for i = 1, last do
    local step = steps[i]
    local from = step.from
    if step.merges then
      local values = {}
      for j = 1, #from do values[j] = results[from[j]] end
      results[i] = step.layer:forward(values, training)
    else
      results[i] = step.layer:forward(results[from[1]], training)
    end
  end
  base.settle()
  return results[last]
end

---Computes the network's output for a batch. The result belongs to the network, and the next pass overwrites it.
---```lua
---local net = actor.nn.input({ 3 }):linear(2):network { seed = 1 }
---print(unpack(net:forward(actor.tensor.ones { 4, 3 }).shape))  --> 4 2
---```
---@param x actor.Tensor|actor.Tensor[] (rows, ...) with samples of the input's shape, or flat rows (rows, elements); a
---table for several inputs
---@param training? boolean true: dropout is active, and normalisation updates its statistics
---@return actor.Tensor
function Network:forward(x, training) return run(self, x, training or false, #self.steps) end

-- Adds a gradient to the sum of gradients that step `i` has received.
local function collect(self, i, dy, slopes)
  local before = slopes[i]
  if not before then
    slopes[i] = dy
    return
  end
  local sum = self.sums[i]
  if not sum or sum.type_ ~= dy.type_ or not base.same_shape(sum, dy) then sum = base.allocate_like(dy, "nn") end
  self.sums[i] = sum
  slopes[i] = before:add(dy, sum)
end

-- Runs the backward pass from the result of step number `last` through all previous steps.
local function back(self, dy, first, last)
  local steps = self.steps
  local slopes = {}
  slopes[last] = dy
  for i = last, 1, -1 do
    local step, slope = steps[i], slopes[i]
    if slope and (step.wanted or not first) then
      local skip = first and not step.below
      local dx = step.layer:backward(slope, skip)
      if not skip then
        for j, from in ipairs(step.from) do
          local part = dx
          if step.merges then part = dx[j] end
          if part then collect(self, from, part, slopes) end
        end
      end
    end
  end
  base.settle()
  if not self.inputs or #self.inputs == 1 then return slopes[0] end
  local all = {}
  for i = 1, #self.inputs do all[i] = slopes[1 - i] end
  return all
end

---Computes the gradients of all layers for the batch of the last `forward`; writes the gradients of the parameters to
---`grads`.
---```lua
---local net = actor.nn.input({ 3 }):linear(2):network { seed = 1 }
---net:forward(actor.tensor.ones { 4, 3 }, true)
---print(unpack(net:backward(actor.tensor.ones { 4, 2 }).shape))  --> 4 3
---```
---@param dy actor.Tensor the gradient of the output
---@param first? boolean true: the gradient of the input is not needed
---@return actor.Tensor? dx a table of tensors for several inputs
function Network:backward(dy, first) return back(self, dy, first or false, #self.steps) end

-- The step before a final softmax, because the cross-entropy computes the softmax itself; else the last step.
local function scores_step(self, loss)
  if self.ends_in_softmax and loss == losses.cross_entropy then return self.steps[#self.steps].from[1] end
  return #self.steps
end

---Runs a forward and a backward pass in training; writes the gradients to `grads`. Returns the network's loss (softmax
---cross-entropy unless network{loss=} sets another loss) plus regularisation.
---```lua
---local net = actor.nn.input({ 3 }):linear(2):network { seed = 1 }
---local loss = net:loss(actor.tensor.ones { 4, 3 }, actor.tensor.ones(4))
---print(loss > 0, net.flat_grads:norm() > 0)  --> true true
---```
---@param x actor.Tensor
---@param targets actor.Tensor for cross-entropy the classes (rows), from 1; else of the output's shape
---@return number loss
function Network:loss(x, targets)
  local loss = self.loss_function
  local last = scores_step(self, loss)
  local scores = run(self, x, true, last)
  -- The gradient may overwrite the layer's own result, but not a tensor that the layer has passed through.
  local own = rawget(self.steps[last].layer, "y")
  local value, slope = loss(scores, targets, own and rawequal(own, scores) and scores or nil)
  back(self, slope, true, last)
  for _, penalty in ipairs(self.penalised) do value = value + weights.regularise(unpack(penalty)) end
  return value
end

-- Calls f(count, x, others, first row, last row) for consecutive pieces of rows of all tensors.
local function in_pieces(x, others, f)
  local rows = base.is_tensor(x) and #x or #x[1]
  for from = 1, rows, M.rows_at_once do
    local to = math.min(from + M.rows_at_once - 1, rows)
    local function part(t) return t[{ { from, to } }] end
    local input = x
    if base.is_tensor(x) then
      input = part(x)
    else
      input = {}
      for i, t in ipairs(x) do input[i] = part(t) end
    end
    f(to - from + 1, input, others and part(others), from, to)
  end
  return rows
end

---Computes the network's output for any number of rows, in pieces, into a new tensor that the caller owns.
---```lua
---local net = actor.nn.input({ 3 }):linear(2, "softmax"):network { seed = 1 }
---print(("%.2f"):format(net:predict(actor.tensor.ones { 1, 3 }):sum()))  --> 1.00
---```
---@param x actor.Tensor|actor.Tensor[]
---@return actor.Tensor (rows, ...)
function Network:predict(x)
  local out
  local rows = base.is_tensor(x) and #x or #x[1]
  in_pieces(x, nil, function(_, part, _, from, to)
    local y = self:forward(part)
    if not out then
      local shape = y.shape
      shape[1] = rows
      out = tensor.empty(shape, { dtype = y.dtype })
    end
    out[{ { from, to } }] = y
  end)
  return out or self:forward(x):clone()
end

-- The number of rows with the largest score at the label.
local function right_of(scores, labels) return scores:argmax(2):eq(labels):sum() end

---Computes, for one batch and without training, the loss without regularisation and the number of rows with the largest
---score at their label.
---```lua
---local net = actor.nn.input({ 3 }):linear(2):network { seed = 1 }
---local loss, right = net:measure(actor.tensor.ones { 4, 3 }, actor.tensor.ones(4))
---print(loss > 0, right == 0 or right == 4)  --> true true
---```
---@param x actor.Tensor|actor.Tensor[]
---@param targets actor.Tensor
---@return number loss
---@return number? right nil if targets are not classes
function Network:measure(x, targets)
  local loss = self.loss_function
  local scores = run(self, x, false, scores_step(self, loss))
  local value = loss(scores, targets)
  return value, loss == losses.cross_entropy and right_of(scores, targets) or nil
end

---Computes the loss (without regularisation) and, for classes, the accuracy over any number of rows, without training.
---```lua
---local net = actor.nn.input({ 3 }):linear(2):network { seed = 1 }
---local loss, accuracy = net:evaluate(actor.tensor.ones { 4, 3 }, actor.tensor.ones(4))
---print(loss > 0, accuracy == 0 or accuracy == 1)  --> true true
---```
---@param x actor.Tensor|actor.Tensor[]
---@param targets actor.Tensor
---@return number loss
---@return number? accuracy from 0 to 1
function Network:evaluate(x, targets)
  base.arg(targets, "targets", "net:evaluate")
  local loss, right, known = 0, 0, true
  local rows = in_pieces(x, targets, function(count, part, labels)
    local value, found = self:measure(part, labels)
    loss = loss + value * count
    known = known and found ~= nil
    right = right + (found or 0)
  end)
  return loss / rows, known and right / rows or nil
end

---Returns the share of rows with the largest score at their label.
---```lua
---local net = actor.nn.input({ 3 }):linear(2):network { seed = 1 }
---print(net:accuracy(actor.tensor.ones { 4, 3 }, actor.tensor.ones(4)) <= 1)  --> true
---```
---@param x actor.Tensor (rows, ...)
---@param labels actor.Tensor (rows), from 1
---@return number from 0 to 1
function Network:accuracy(x, labels)
  base.arg(labels, "labels", "net:accuracy")
  local right = 0
  local rows = in_pieces(x, labels, function(_, part, some)
    right = right + right_of(self:forward(part), some)
  end)
  return right / rows
end

---Copies values into the parameters and state of those names. The tensors stay the same.
---```lua
---local net = actor.nn.input({ 3 }):linear(2):network { seed = 1 }
---net:load { ["linear.bias"] = actor.tensor.ones(2) }
---print(net.params["linear.bias"])  --> tensor([1., 1.], float32)
---```
---@param values table<string, actor.Tensor>
function Network:load(values)
  check.arg(values, "table", "values", "net:load")
  for name, value in util.pairs(values) do
    local param = self.params[name] or self.state[name]
    if not param then check.fail("bad argument 'values' to net:load: there is no parameter '%s'", tostring(name)) end
    base.arg(value, ("values['%s']"):format(name), "net:load")
    if base.shape_text(value) ~= base.shape_text(param) then
      check.fail("bad argument values['%s'] to net:load: expected shape %s, got %s", name, base.shape_text(param),
        base.shape_text(value))
    end
    param:copy_(value)
  end
end

---Writes parameters and state to a file for `load_file`: an npz file, or a .safetensors file by that ending, with the
---names and layouts of PyTorch (nn/pytorch.lua).
---
---     net:save("model.safetensors")   -- in Python: model.load_state_dict(safetensors.torch.load_file(path))
---```lua nodes=1
---local net = actor.nn.input({ 3 }):linear(2):network { seed = 1 }
---net:save("model.npz")
---net:load_file("model.npz")
---```
---@param path string
function Network:save(path)
  check.arg(path, "string", "path", "net:save")
  if path:find("%.safetensors$") then return pytorch.save(self, path) end
  files.save(path, util.merged(self.params, self.state))
end

---Reads a file of `save`, or a .safetensors file of the same network in PyTorch. The file must have exactly the
---parameters and state of this network.
---```lua nodes=1
---local net = actor.nn.input({ 3 }):linear(2):network { seed = 1 }
---net:save("trained.npz")
---local other = actor.nn.input({ 3 }):linear(2):network { seed = 2 }
---other:load_file("trained.npz")
---print(other.flat_params:equal(net.flat_params))  --> true
---```
---@param path string or a URL, as for `tensor.load`
function Network:load_file(path)
  check.arg(path, "string", "path", "net:load_file")
  local values, metadata = files.load(path)
  if base.is_tensor(values) then check.fail("net:load_file: %s has one tensor without a name", path) end
  if metadata then return pytorch.load(self, path, values, metadata) end
  for _, all in ipairs { self.params, self.state } do
    for name in util.pairs(all) do
      if not values[name] then check.fail("net:load_file: %s has no '%s', a tensor of the network", path, name) end
    end
  end
  self:load(values)
end

---Finds the first layer, in order, with NaN or infinity in its last result or parameters.
---```lua
---local net = actor.nn.input({ 3 }):linear(2):network { seed = 1 }
---net:forward(actor.tensor.full({ 1, 3 }, math.huge))
---print(net:first_not_finite())  --> layer 1 'linear' (its result)
---```
---@return string? text "layer 2 'conv2d'"
function Network:first_not_finite()
  for i, step in ipairs(self.steps) do
    local result = self.results[i]
    for name, param in util.pairs(step.layer.params) do
      if not param:is_finite() then return ("layer %d '%s' (its %s)"):format(i, step.name, name) end
    end
    if result and not result:is_finite() then return ("layer %d '%s' (its result)"):format(i, step.name) end
  end
end

---Describes the layers as a table of text: name, shape of a sample's result, number of parameters.
---```lua
---print(actor.nn.input({ 3 }):linear(2):network({ seed = 1 }):summary())
---
---
---
---
-----> layer   output  parameters
-----> input   (3)              0
-----> linear  (2)              8
-----> total                    8
---```
---@return string
function Network:summary()
  local lines, total = {}, 0
  local widths = { #"layer", #"output", #"parameters" }
  local rows = { { "layer", "output", "parameters" } }
  for i, shape in ipairs(self.inputs or {}) do
    rows[#rows + 1] = { #self.inputs > 1 and ("input %d"):format(i) or "input", base.list_text(shape), "0" }
  end
  for _, step in ipairs(self.steps) do
    local count = 0
    for _, param in pairs(step.layer.params) do count = count + param.size end
    total = total + count
    local shape = rawget(step.layer, "shape")
    rows[#rows + 1] = { step.name, shape and base.list_text(shape) or "as its input", tostring(count) }
  end
  rows[#rows + 1] = { "total", "", tostring(total) }
  for _, row in ipairs(rows) do
    for i, text in ipairs(row) do widths[i] = math.max(widths[i], #text) end
  end
  for _, row in ipairs(rows) do
    lines[#lines + 1] = ("%-" .. widths[1] .. "s  %-" .. widths[2] .. "s  %" .. widths[3] .. "s"):format(unpack(row))
  end
  return table.concat(lines, "\n")
end

---Trains for some epochs of shuffled batches.
---```lua
---local set = actor.data.blobs { n = 300, classes = 3, seed = 1 }
---local net = actor.nn.input({ 2 }):linear(16, "relu"):linear(3):network { seed = 1 }
---local adam = actor.optim.adam { lr = 0.01 }
---local history = net:fit { x = set.x, y = set.labels, epochs = 5, optimiser = adam, progress = false }
---print(history[5].loss < history[1].loss)  --> true
---```
---@param options actor.nn.Fit
---@return actor.nn.Epoch[] history
function Network:fit(options) return require("actor.nn.fit")(self, options) end

function Network.__tostring(self) return self:summary() end

return M
