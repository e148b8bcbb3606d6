-- Layers in chains and graphs: gradients, shapes, retained state, and errors of wrong calls.
local nn = require("actor.nn")
local tensor = require("actor.tensor")
local losses = require("actor.nn.losses")

local function normal(shape, seed, dtype) return tensor.normal(shape, { seed = seed or 3, dtype = dtype or "float64" }) end

local function chain(shape) return nn.input(shape) end

-- Each layer in a separate chain: {name, samples, build, options of the check}.
local layers = {
  { "linear", { 5 }, function(x) return x:linear(3) end },
  { "linear relu", { 5 }, function(x) return x:linear(3, "relu") end },
  { "linear tanh", { 5 }, function(x) return x:linear(3, "tanh") end },
  { "linear sigmoid", { 5 }, function(x) return x:linear(3, "sigmoid") end },
  { "linear gelu", { 5 }, function(x) return x:linear(3, "gelu") end },
  { "linear softmax", { 5 }, function(x) return x:linear(3, "softmax") end },
  { "linear without bias", { 5 }, function(x) return x:linear(3, nil, { bias = false }) end },
  { "fully_connected", { 2, 3, 2 }, function(x) return x:fully_connected(4, "sigmoid") end },
  { "conv2d", { 6, 5, 3 }, function(x) return x:conv2d { 3, 3, 3, 4 } end },
  { "conv2d relu, one channel", { 7, 6, 1 }, function(x) return x:conv2d { 5, 5, 1, 3, act = "relu" } end },
  { "conv2d valid, strides", { 7, 8, 2 }, function(x) return x:conv2d { 3, 2, 2, 4, stride = { 2, 3 }, padding = "valid" } end },
  { "conv2d same, strides", { 7, 8, 2 }, function(x) return x:conv2d { 3, 4, 2, 4, stride = 2, act = "tanh" } end },
  { "conv2d groups", { 5, 5, 4 }, function(x) return x:conv2d { 3, 3, 4, 6, groups = 2, bias = false } end },
  { "conv2d gelu", { 4, 4, 2 }, function(x) return x:conv2d { 2, 2, 2, 3, act = "gelu" } end },
  { "max_pool2d", { 6, 5, 3 }, function(x) return x:max_pool2d { 2, 2 } end },
  { "max_pool2d that overlaps", { 6, 5, 3 }, function(x) return x:max_pool2d { 3, 3, stride = 2, padding = "valid" } end },
  { "avg_pool2d", { 6, 5, 3 }, function(x) return x:avg_pool2d { 3, 2, stride = 2 } end },
  { "normalisation", { 3, 4, 2 }, function(x) return x:normalisation { decay = 0.9 } end },
  { "batch_norm", { 3, 4, 2 }, function(x) return x:batch_norm() end },
  { "batch_norm in training", { 3, 4, 2 }, function(x) return x:batch_norm() end, { training = true } },
  { "batch_norm of rows", { 6 }, function(x) return x:batch_norm { affine = false } end, { training = true } },
  { "dropout", { 8 }, function(x) return x:dropout(0.4) end, { training = true } },
  { "flatten", { 2, 3 }, function(x) return x:flatten():linear(2) end },
  { "relu", { 6 }, function(x) return x:relu() end },
  { "add", { 4, 4, 2 }, function(x) return nn.add { x, x:conv2d { 3, 3, 2, 2 }, x:conv2d { 1, 1, 2, 2 } } end },
  { "concat", { 4, 4, 2 }, function(x) return nn.concat { x:conv2d { 3, 3, 2, 3 }, x, x:relu() } end },
  { "concat of rows", { 4, 2, 2 }, function(x) return nn.concat({ x, x:conv2d { 1, 1, 2, 2 } }, { dim = 1 }) end },
  { "a residual block", { 4, 4, 2 }, function(x)
    local y = x:conv2d { 3, 3, 2, 2, act = "tanh" }:batch_norm()
    return nn.add { x, y }:tanh():avg_pool2d { 4, 4 }:flatten():linear(3)
  end, { training = true } },
}

test("the gradients of every layer agree with finite differences, to 1e-7 in float64", function()
  for _, case in ipairs(layers) do
    for _, rows in ipairs(spec_mode == "normal" and { 1, 3 } or { 2 }) do
      local net = case[3](chain(case[2])):network { seed = 2, dtype = "float64" }
      local options = { training = case[4] and case[4].training }
      local worst, place = nn.check_gradients(net, normal({ rows, unpack(case[2]) }), options)
      if not (worst < 1e-7) then error(("%s, %d rows: %g at %s"):format(case[1], rows, worst, place)) end
    end
  end
end)

test("float32 gradients agree with float64 gradients, to 1e-4", function()
  for _, case in ipairs(layers) do
    local training = case[4] and case[4].training or false
    local single, double = case[3](chain(case[2])):network { seed = 2 }, case[3](chain(case[2])):network { dtype = "float64" }
    for name, param in pairs(single.params) do double.params[name]:copy_(param) end
    for _, layer in ipairs(double.layers) do if layer.kind == "dropout" then layer.seed = 2 + 1 end end
    local x = normal({ 3, unpack(case[2]) }, 4, "float32")
    local dy = normal(single:forward(x, training).shape, 9, "float32")
    double:forward(x:to("float64"), training)
    local dx, wanted = single:backward(dy):to("float64"), double:backward(dy:to("float64"))
    if not dx:allclose(wanted, { rtol = 1e-4, atol = 1e-4 }) then error(case[1] .. ": x") end
    for name, grad in pairs(double.grads) do
      if not single.grads[name]:to("float64"):allclose(grad, { rtol = 1e-4, atol = 1e-4 }) then error(case[1] .. ": " .. name) end
    end
  end
end)

test("the gradients of losses agree with finite differences", function()
  local scores = normal({ 4, 3 })
  local signs = tensor.new({ { 1, -1, 1 }, { -1, -1, 1 }, { 1, 1, 1 }, { -1, 1, -1 } }, { dtype = "float64" })
  local targets = { cross_entropy = tensor.new({ 1, 3, 2, 2 }, { dtype = "float64" }), mse = normal({ 4, 3 }, 8), hinge = signs }
  for name, target in pairs(targets) do
    local _, slope = losses[name](scores, target)
    for i = 1, 4 do
      for j = 1, 3 do
        local function at(shift)
          local moved = scores:clone()
          moved:set(i, j, scores:get(i, j) + shift)
          return (losses[name](moved, target))
        end
        near(slope:get(i, j), (at(1e-6) - at(-1e-6)) / 2e-6, 1e-7)
      end
    end
    local before, same = losses[name](scores, target)
    local into = scores:clone()
    local after, taken = losses[name](into, target, into)
    equal(after, before)
    equal(taken:hash(), same:hash())
  end
  near((nn.mse(tensor.new { { 1 }, { 2 } }, tensor.new { 3, 2 })), 2, 1e-12)
  near((nn.hinge(tensor.new { { 0.5 }, { -3 } }, tensor.new { 1, -1 })), 0.25, 1e-7)
  raises(function() nn.hinge(tensor.new { { 1 } }, tensor.new { 0 }) end, "expected %-1 or 1 everywhere")
  raises(function() nn.mse(tensor.zeros { 2, 3 }, tensor.zeros { 3, 2 }) end, "of one shape, got %(2, 3%) and %(3, 2%)")
end)

test("a network that ends in softmax computes the loss from its scores, and forward returns probabilities", function()
  local function build(act) return nn.input { 6 }:linear(5, "tanh"):linear(3, act):network { seed = 4 } end
  local with, without = build("softmax"), build()
  local x, labels = normal({ 7, 6 }, 1, "float32"), tensor.new { 1, 2, 3, 3, 2, 1, 1 }
  near(with:forward(x):sum(2):sum(), 7, 1e-5)
  equal(with:loss(x, labels), without:loss(x, labels))
  equal(with.flat_grads:hash(), without.flat_grads:hash())
  equal({ with:evaluate(x, labels) }, { without:evaluate(x, labels) })
end)

test("parameters are views of one tensor, named by layer", function()
  local net = nn.input { 8, 8, 1 }:conv2d { 3, 3, 1, 4 }:conv2d { 3, 3, 4, 2, name = "second" }:flatten():linear(5):linear(3)
    :network { seed = 1 }
  local names = require("actor.util").sorted_keys(net.params)
  equal(names, { "conv2d.bias", "conv2d.weight", "linear.bias", "linear.weight", "linear2.bias", "linear2.weight",
    "second.bias", "second.weight" })
  local count = 0
  for _, param in pairs(net.params) do count = count + param.size end
  equal(net.flat_params.size, count)
  net.flat_params:mul_(0)
  equal(net.params["linear.weight"]:abs():sum(), 0)
  net:loss(normal({ 2, 64 }, 5, "float32"), tensor.new { 1, 3 })
  near(net.flat_grads:norm() ^ 2, (function() local s = 0 for _, g in pairs(net.grads) do s = s + g:norm() ^ 2 end return s end)(), 1e-6)
end)

test("equal seeds give equal networks, and a chain makes any number of networks", function()
  local nodes = nn.input { 6 }:linear(4, "relu"):dropout(0.5):linear(2)
  local a, b, c = nodes:network { seed = 1 }, nodes:network { seed = 1 }, nodes:network { seed = 2 }
  equal(a.flat_params:hash(), b.flat_params:hash())
  equal(a.flat_params:hash() ~= c.flat_params:hash(), true)
  local x, labels = normal({ 16, 6 }, 1, "float32"), tensor.ones(16)
  for _ = 1, 3 do equal(a:loss(x, labels), b:loss(x, labels)) end
  local other = nodes:network { seed = 1, stream = 5 }
  equal(other.flat_params:hash(), a.flat_params:hash())
  equal(a:loss(x, labels) ~= other:loss(x, labels), true) -- another seed drops other elements
end)

test("normalisation follows its formula, in training and after", function()
  local x = tensor.new({ { 1 }, { 3 } }, { dtype = "float64" })
  local net = nn.input { 1 }:normalisation { decay = 0.75 }:network { dtype = "float64" }
  local y = net:forward(x, true)
  near(net.state["normalisation.mean"]:get(1), 0.5, 1e-12)     -- 0.75 * 0 + 0.25 * 2
  near(net.state["normalisation.variance"]:get(1), 1, 1e-12)   -- 0.75 * 1 + 0.25 * 1
  near(y:get(1, 1), 0.5, 1e-7)
  equal(net:forward(x):get(1, 1), y:get(1, 1))
  local batch = nn.input { 1 }:batch_norm { epsilon = 0 }:network { dtype = "float64" }
  near(batch:forward(x, true):get(2, 1), 1, 1e-12)
  near(batch.state["batch_norm.mean"]:get(1), 0.2, 1e-12)
end)

test("dropout changes nothing outside training and keeps the mean in training", function()
  local net = nn.input { 10000 }:dropout(0.3):network { seed = 1 }
  local x = tensor.ones { 1, 10000 }
  equal(net:forward(x):hash(), x:hash())
  local y = net:forward(x, true):clone()
  near(y:mean(), 1, 0.03)
  equal(y:hash() ~= net:forward(x, true):hash(), true)
end)

test("an embedding gathers rows forward and sums gradients backward", function()
  local net = nn.input { 3 }:embedding(5, 2):network { seed = 1, dtype = "float64" }
  local x = tensor.new({ { 1, 5, 1 }, { 2, 2, 2 } }, { dtype = "float64" })
  local y = net:forward(x)
  equal(y.shape, { 2, 3, 2 })
  equal(y:get(1, 2, 1), net.params["embedding.weight"]:get(5, 1))
  near((nn.check_gradients(net, x, { inputs = false })), 0, 1e-7)
  raises(function() net:forward(tensor.new({ { 1, 6, 1 } }, { dtype = "float64" })) end, "from 1 to 5, got 6")
end)

test("several inputs are passed as a table", function()
  local a, b = nn.input { 3 }, nn.input { 2 }
  local net = nn.concat { a:linear(4, "relu"), b }:linear(2):network { seed = 1 }
  local y = net:forward { normal({ 5, 3 }, 1, "float32"), normal({ 5, 2 }, 2, "float32") }
  equal(y.shape, { 5, 2 })
  equal(#net:backward(tensor.ones { 5, 2 }), 2)
  equal(net:predict({ normal({ 300, 3 }, 1, "float32"), normal({ 300, 2 }, 2, "float32") }).shape, { 300, 2 })
  raises(function() net:forward(normal { 5, 3 }) end, "expected a table of 2 tensors")
end)

test("a user's layer is a function that returns a table", function()
  nn.define("scaled_by", function(shape, first)
    return {
      shape = shape,
      weights = { factor = { shape = { shape[#shape] }, init = first } },
      forward = function(self, x)
        self.x = x
        return x * self.params.factor
      end,
      backward = function(self, dy)
        self.grads.factor:copy_((dy * self.x):reshape(-1, shape[#shape]):sum(1))
        return dy * self.params.factor
      end,
    }
  end)
  local net = nn.input { 2, 3 }:scaled_by(1.5):flatten():linear(2):network { seed = 1, dtype = "float64" }
  equal(net.params["scaled_by.factor"]:get(1), 1.5)
  near((nn.check_gradients(net, normal { 4, 2, 3 })), 0, 1e-7)
  raises(function() nn.define("linear", function() end) end, "there is a layer 'linear' already")
end)

test("regularisation adds to the loss and the gradient, for weights only", function()
  local x, t = normal({ 4, 3 }), normal({ 4, 2 }, 7)
  local function build(options)
    options.seed, options.dtype, options.loss = 1, "float64", "mse"
    return nn.input { 3 }:linear(2):network(options)
  end
  local plain, both = build {}, build { l1 = 0.1, l2 = 0.3 }
  local w = plain.params["linear.weight"]
  near(both:loss(x, t) - plain:loss(x, t), 0.1 * w:abs():sum() + 0.15 * w:norm() ^ 2, 1e-12)
  local more = w:sign() * 0.1 + w * 0.3
  equal(both.grads["linear.weight"]:allclose(plain.grads["linear.weight"] + more), true)
  equal(both.grads["linear.bias"]:hash(), plain.grads["linear.bias"]:hash())
end)

test("fit trains and validates, and is deterministic for a seed", function()
  local x = normal({ 120, 4 }, 1, "float32")
  local labels = x[{ {}, 1 }]:gt(0):to("float32") + 1
  local function train()
    local net = nn.input { 4 }:linear(8, "relu"):linear(2, "softmax"):network { seed = 3 }
    local steps = 0
    local history = net:fit { x = x, y = labels, epochs = 20, batch = 16, seed = 5, validation = 0.25,
      optimiser = require("actor.optim").adam { lr = 0.02 },
      before_step = function() steps = steps + 1 end }
    return net, history, steps
  end
  local net, history, steps = train()
  equal(#history, 20)
  equal(steps, 20 * 6) -- 90 rows in batches of 16
  holds(history[20].validation_accuracy, ">", 0.8)
  holds(history[20].loss, "<", history[1].loss)
  local again = train()
  equal(net.flat_params:hash(), again.flat_params:hash())
  equal(#net:fit { x = x, y = labels, epochs = 9, on_epoch = function(entry) return entry.epoch < 2 end }, 2)
  equal(net:fit({ x = x, y = labels, rows = { 1, 2, 3 }, batch = 2 })[1].steps, 2)
end)

test("a non-finite loss is an error that names step and layer, or its update is skipped", function()
  local x, labels = normal({ 6, 4 }, 1, "float32"), tensor.ones(6)
  x:set(5, 2, 0 / 0)
  local function build() return nn.input { 4 }:linear(3, "tanh"):linear(2):network { seed = 3 } end
  raises(function() build():fit { x = x, y = labels, batch = 2, shuffle = false } end,
    "the loss is %-?nan in step 3 %(epoch 1%).*layer 1 'linear' %(its result%)")
  local history = build():fit { x = x, y = labels, batch = 2, shuffle = false, on_nan = "skip", epochs = 2 }
  equal({ history[2].steps, history[2].skipped }, { 4, 1 })
  equal(#build():fit { x = x, y = labels, batch = 2, shuffle = false, on_nan = "stop", epochs = 9 }, 1)
  raises(function() build():fit { x = x, y = labels, on_nan = "skp" } end, "did you mean 'skip'")
end)

test("save and load_file restore parameters and state", function()
  local path = os.tmpname()
  local nodes = nn.input { 4 }:batch_norm():linear(3)
  local net, other = nodes:network { seed = 1 }, nodes:network { seed = 2 }
  net:loss(normal({ 5, 4 }, 1, "float32"), tensor.ones(5))
  net:save(path)
  other:load_file(path)
  equal(other.flat_params:hash(), net.flat_params:hash())
  equal(other.state["batch_norm.mean"]:hash(), net.state["batch_norm.mean"]:hash())
  raises(function() nn.input { 4 }:linear(3, nil, { name = "z" }):network({ seed = 1 }):load_file(path) end, "has no 'z.bias'")
  raises(function() nn.input { 4 }:batch_norm():linear(2):network({ seed = 1 }):load_file(path) end,
    "expected shape %(2%), got %(3%)")
  os.remove(path)
end)

test("summary lists layers, shapes and parameters", function()
  local net = nn.input { 28, 28, 1 }:normalisation { decay = 0.9 }:conv2d { 5, 5, 1, 32, stride = 1, act = "relu" }
    :max_pool2d { 2, 2 }:dropout(0.1):fully_connected(1024, "relu"):linear(10, "softmax"):network { seed = 1 }
  local text = net:summary()
  matches(text, "fully_connected  (1024)           6423552", true)
  matches(text, "total +6434636")
  equal(tostring(net), text)
end)

test("empty batches give empty results", function()
  local net = nn.input { 6, 6, 2 }:batch_norm():conv2d { 3, 3, 2, 3, act = "relu" }:max_pool2d { 2, 2 }:dropout(0.5)
    :fully_connected(4):network { seed = 1 }
  equal(net:forward(tensor.zeros { 0, 6, 6, 2 }, true).shape, { 0, 4 })
  net:backward(tensor.zeros { 0, 4 })
  equal(net.flat_grads:abs():max(), 0)
end)

test("wrong calls are errors at the line of the chain", function()
  local x = nn.input { 8, 8, 3 }
  local function wrong(pattern, body)
    raises(function()
      local made = body()
      return made
    end, "nn_layers_spec.lua:%d+: .*" .. pattern)
  end
  wrong("there is no layer conv2; did you mean layer conv2d", function() return x:conv2 { 3, 3, 3, 4 } end)
  wrong("takes images of 1 channels, but its input has the shape %(8, 8, 3%)", function() return x:conv2d { 3, 3, 1, 4 } end)
  wrong("expected one of 'gelu', 'relu', 'sigmoid', 'softmax', 'tanh', got 'rel'; did you mean 'relu'", function() return x:conv2d { 3, 3, 3, 4, act = "rel" } end)
  wrong("expected samples of one dimension, got shape %(8, 8, 3%); fully_connected flattens", function() return x:linear(4) end)
  wrong("a window of 9 x 9 does not fit images of shape %(8, 8, 3%)", function() return x:max_pool2d { 9, 9, padding = "valid" } end)
  wrong("'groups' to nn.conv2d: 2 groups do not divide 3 and 4", function() return x:conv2d { 3, 3, 3, 4, groups = 2 } end)
  wrong("shapes %(8, 8, 3%) and %(4, 4, 3%) differ", function() return nn.add { x, x:max_pool2d { 2, 2 } } end)
  wrong("'rate' to nn.dropout: expected a number below 1, got 1", function() return x:dropout(1) end)
  wrong("did you mean 'glorot'", function() return x:fully_connected(3, "relu", { init = "glort" }) end)
  wrong("the chain has no layer after its input", function() return x:network {} end)
  wrong("two layers have the name 'a'", function() return x:relu({ name = "a" }):relu({ name = "a" }):network {} end)
  local net = x:conv2d { 3, 3, 3, 4 }:fully_connected(2):network { seed = 1 }
  wrong("expected shape %(rows, 8, 8, 3%) or %(rows, 192%), got %(2, 100%)", function() return net:forward(tensor.zeros { 2, 100 }) end)
  wrong("expected whole numbers from 1 to 2 .*got 3 at position 2", function() return net:loss(tensor.zeros { 2, 192 }, tensor.new { 1, 3 }) end)
  wrong("x and y have a different number of rows: %(3, 192%) and %(2%)", function() return net:fit { x = tensor.zeros { 3, 192 }, y = tensor.ones(2) } end)
end)

test("a layer has one place in one network", function()
  local layer = nn.linear(3, 3)
  raises(function() nn.sequential { layer, nn.relu(), layer } end, "it is layers%[1%] too")
  nn.sequential { layer }
  raises(function() nn.sequential { layer } end, "belongs to a network already")
end)
