--- Networks: gradients, training, determinism, errors.
local nn = require("actor.nn")
local optim = require("actor.optim")
local tensor = require("actor.tensor")

local double = { dtype = "float64" }

local function mlp(seed, dtype)
  return nn.sequential({
    nn.linear(6, 9, { seed = seed, dtype = dtype }), nn.tanh(),
    nn.linear(9, 5, { seed = seed + 1, init = "glorot", dtype = dtype }), nn.relu(),
    nn.linear(5, 3, { seed = seed + 2, bias = false, dtype = dtype }),
  })
end

test("the gradients of every layer agree with differences", function()
  local x = tensor.normal({ 4, 6 }, { seed = scratch_seed, dtype = "float64" })
  for name, layer in pairs({ linear = nn.linear(6, 3, { seed = 1, dtype = "float64" }), relu = nn.relu(), tanh = nn.tanh(),
    mlp = mlp(1, "float64") }) do
    local worst, place = nn.check_gradients(layer, x)
    near(worst, 0, 1e-6, name .. " at " .. place)
  end
end)

test("the gradient checker detects a wrong gradient", function()
  local layer = nn.linear(3, 2, { seed = 1, dtype = "float64" })
  local backward = layer.backward
  layer.backward = function(self, dy)
    local dx = backward(self, dy)
    self.grads.weight:mul_(1.01)
    return dx
  end
  local worst, place = nn.check_gradients(layer, tensor.normal({ 4, 3 }, { seed = 2, dtype = "float64" }))
  holds(worst, ">", 1e-3)
  matches(place, "^weight")
end)

test("the loss and its slope agree with the definition", function()
  local scores = tensor.new({ { 1, 2, 3 }, { 0, 0, 5 } }, double)
  local labels = tensor.new({ 3, 1 })
  local loss, slope = nn.cross_entropy(scores, labels)
  local p = scores:softmax()
  near(loss, -(math.log(p:get(1, 3)) + math.log(p:get(2, 1))) / 2, 1e-12)
  near(slope:get(1, 3), (p:get(1, 3) - 1) / 2, 1e-12)
  near(slope:get(2, 2), p:get(2, 2) / 2, 1e-12)
  local same, into = nn.cross_entropy(scores, labels, scores)
  equal({ same == loss, into == scores, scores:equal(slope) }, { true, true, true })
end)

test("a batch of another size leaves no state in a layer", function()
  local model = mlp(1)
  local first = model:forward(tensor.ones({ 2, 6 })):clone()
  model:forward(tensor.ones({ 7, 6 }))
  equal(model:forward(tensor.ones({ 2, 6 })):equal(first), true)
end)

-- Three clouds of points.
local function clouds(n, seed)
  local labels = tensor.zeros(n)
  local x = tensor.normal({ n, 6 }, { seed = seed })
  for i = 1, n do
    local label = i % 3 + 1
    labels[i] = label
    x[i]:slice(1, label * 2 - 1, label * 2):add_(2)
  end
  return x, labels
end

local function trained(opt, steps)
  local model = mlp(1)
  local x, labels = clouds(120, 5)
  local first = model:loss(x, labels)
  local last
  for _ = 1, steps do
    last = model:loss(x, labels)
    opt:step(model.params, model.grads)
  end
  return model, first, last
end

test("every optimiser trains a small network, the same each time", function()
  for _, make in ipairs({
    function() return optim.sgd({ lr = 0.2 }) end,
    function() return optim.sgd({ lr = 0.05, momentum = 0.9, nesterov = true, decay = optim.decay.cosine({ every = 300 }) }) end,
    function() return optim.adagrad({ lr = 0.1 }) end,
    function() return optim.adam({ lr = 0.01, weight_decay = 1e-4 }) end,
  }) do
    local model, first, last = trained(make(), 200)
    holds(last, "<", first * 0.2, ("%s: loss from %.3f to %.3f"):format(tostring(make()), first, last))
    local x, labels = clouds(300, 99)
    local accuracy = model:accuracy(x, labels)
    holds(accuracy, ">", 0.9, ("accuracy %.3f"):format(accuracy))
    local again = trained(make(), 200)
    for name, param in pairs(model.params) do equal(again.params[name]:hash(), param:hash(), name) end
  end
end)

test("parameters have names by position and can be loaded", function()
  local a, b = mlp(1), mlp(2)
  local names = {}
  for name in pairs(a.params) do names[#names + 1] = name end
  table.sort(names)
  equal(names, { "1.bias", "1.weight", "3.bias", "3.weight", "5.weight" })
  local x = tensor.ones({ 1, 6 })
  equal(a:forward(x):equal(b:forward(x)), false)
  b:load(a.params)
  equal(a:forward(x):equal(b:forward(x)), true)
end)

test("initial weights have the spread of their rule", function()
  near(nn.linear(400, 300, { seed = 1 }).params.weight:norm() ^ 2 / 120000, 2 / 400, 2e-4)
  near(nn.linear(400, 300, { seed = 1, init = "glorot" }).params.weight:norm() ^ 2 / 120000, 2 / 700, 1e-4)
  equal(nn.linear(4, 3, { init = "zeros" }).params.weight:sum(), 0)
  equal(nn.linear(9, 9, { seed = 4 }).params.weight:hash(), nn.linear(9, 9, { seed = 4 }).params.weight:hash())
end)

test("steady training allocates no memory", function()
  local model = mlp(1)
  local x, labels = clouds(64, 1)
  local opt = optim.adam({})
  model:loss(x, labels)
  opt:step(model.params, model.grads)
  collectgarbage()
  collectgarbage()
  local before = tensor.memory()
  for _ = 1, 50 do
    model:loss(x, labels)
    opt:step(model.params, model.grads)
  end
  equal(tensor.memory(), before)
end)

test("errors of wrong calls name the expected and the given value", function()
  local function wrong(pattern, body) raises(body, "^nn_spec.lua:%d+: .*" .. pattern) end
  wrong("bad argument 'inputs' to nn.linear: expected an integer of at least 1, got 0", function() nn.linear(0, 3) end)
  wrong("bad argument 'init' to nn.linear: expected one of 'glorot', .*, got 'lecn'; did you mean 'lecun'", function() nn.linear(2, 3, { init = "lecn" }) end)
  wrong("bad argument 'x' to linear:forward: expected shape %(rows, 6%), got %(2, 5%)", function() mlp(1):forward(tensor.zeros({ 2, 5 })) end)
  wrong("linear:backward: there was no forward pass", function() mlp(1):backward(tensor.zeros({ 2, 3 })) end)
  wrong("bad argument 'layers%[2%]' to nn.sequential: expected a layer, got number", function() nn.sequential({ nn.relu(), 3 }) end)
  wrong("expected whole numbers from 1 to 3 .*, got 0 at position 2", function() mlp(1):loss(tensor.zeros({ 2, 6 }), tensor.new({ 1, 0 })) end)
  wrong("expected scores %(rows, classes%) and labels %(rows%), got %(2, 3%) and %(3%)", function() nn.cross_entropy(tensor.zeros({ 2, 3 }), tensor.zeros(3)) end)
  wrong("there is no parameter '9.weight'", function() mlp(1):load({ ["9.weight"] = tensor.zeros(1) }) end)
end)
