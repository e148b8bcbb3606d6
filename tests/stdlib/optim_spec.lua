--- Optimisers: descriptions, schedules, steps.
local codec = require("actor.codec")
local optim = require("actor.optim")
local tensor = require("actor.tensor")

test("descriptions are plain data with every number filled in", function()
  local opt = optim.sgd({ lr = 0.1, momentum = 0.9, decay = optim.decay.step({ rate = 0.5, every = 100 }) })
  local plain = {}
  for name, value in pairs(opt) do plain[name] = value end
  equal(plain, { kind = "sgd", lr = 0.1, momentum = 0.9, nesterov = false, weight_decay = 0,
    decay = { kind = "step", rate = 0.5, every = 100 } })
  equal(codec.decode((codec.encode(plain))), plain)
  equal(optim.is_optimiser(opt), true)
  equal(optim.is_optimiser({ kind = "sgd" }), false)
  equal(tostring(optim.add()), "optim.add{scale=1}")
end)

test("schedules have the values of their formulas", function()
  local function rate(decay, t) return optim.sgd({ lr = 2, decay = decay }):learning_rate(t) end
  equal(rate(nil, 99), 2)
  equal(rate(optim.decay.step({ rate = 0.5, every = 10 }), 25), 0.5)
  near(rate(optim.decay.exponential({ rate = 0.25, every = 10 }), 5), 1, 1e-12)
  equal(rate(optim.decay.inverse_time({ rate = 1, every = 4 }), 12), 0.5)
  near(rate(optim.decay.cosine({ every = 100, floor = 0.1 }), 50), 1.1, 1e-12)
  near(rate({ kind = "cosine", every = 100 }, 200), 0, 1e-12)
end)

test("steps follow the formulas and keep state by parameter", function()
  local params = { a = tensor.new({ 1, 2 }, { dtype = "float64" }), b = tensor.new({ 5 }, { dtype = "float64" }) }
  local grads = { a = tensor.new({ 0.5, -1 }, { dtype = "float64" }) }
  local opt = optim.sgd({ lr = 0.1, momentum = 0.5 })
  opt:step(params, grads)
  opt:step(params, grads)
  near(params.a:get(1), 1 - 0.1 * 0.5 - 0.1 * 0.75, 1e-15)
  equal(params.b:item(), 5)
  optim.add({ scale = -2 }):step(params, { b = tensor.new({ 3 }, { dtype = "float64" }) })
  equal(params.b:item(), -1)
  local w = { w = tensor.new({ 1 }, { dtype = "float64" }) }
  optim.adagrad({ lr = 0.5, initial = 3 }):step(w, { w = tensor.new({ 1 }, { dtype = "float64" }) })
  near(w.w:item(), 1 - 0.5 / 2, 1e-9)
  w.w:fill_(1)
  optim.adam({ lr = 0.1 }):step(w, { w = tensor.new({ 7 }, { dtype = "float64" }) })
  near(w.w:item(), 0.9, 1e-8)
end)

test("two optimisers of one description keep their own state", function()
  local g = { w = tensor.ones(3) }
  local one, two = optim.adam({}), optim.adam({})
  local a, b = { w = tensor.zeros(3) }, { w = tensor.zeros(3) }
  one:step(a, g)
  one:step(a, { w = tensor.full(3, -5) })
  two:step(b, g)
  two:step(b, { w = tensor.full(3, -5) })
  equal(a.w:equal(b.w), true)
end)

test("wrong numbers are refused when the description is made", function()
  local function wrong(pattern, body) raises(body, "^optim_spec.lua:%d+: .*" .. pattern) end
  wrong("bad argument 'lr' to optim.sgd: expected a number of at least 0, got nan", function() optim.sgd({ lr = 0 / 0 }) end)
  wrong("bad argument 'lr' to optim.sgd: expected a finite number, got inf", function() optim.sgd({ lr = 1 / 0 }) end)
  wrong("bad argument 'lr' to optim.sgd: expected a number of at least 0, got %-1", function() optim.sgd({ lr = -1 }) end)
  wrong("bad argument 'lr' to optim.sgd: expected number, got string", function() optim.sgd({ lr = "0.1" }) end)
  wrong("bad argument 'lr' to optim.sgd: expected number, got nil", function() optim.sgd({}) end)
  wrong("bad argument 'momentum' to optim.sgd: expected a number below 1, got 1", function() optim.sgd({ lr = 1, momentum = 1 }) end)
  wrong("bad argument 'nesterov' to optim.sgd: expected a momentum above 0", function() optim.sgd({ lr = 1, nesterov = true }) end)
  wrong("unknown option 'rho' to optim.adam", function() optim.adam({ rho = 1 }) end)
  wrong("bad argument 'rate' to optim.decay.step: expected a number from 0 to 1, got 2", function() optim.decay.step({ rate = 2, every = 1 }) end)
  wrong("bad argument 'every' to optim.decay.cosine: expected a number above 0, got 0", function() optim.decay.cosine({ every = 0 }) end)
  wrong("bad argument 'decay' to optim.sgd: expected a schedule of optim.decay", function() optim.sgd({ lr = 1, decay = { kind = "linear" } }) end)
  wrong("bad argument 'rate' to optim.decay.step: expected a number from 0 to 1, got nan", function()
    optim.sgd({ lr = 1, decay = { kind = "step", rate = 0 / 0, every = 1 } })
  end)
end)

test("gradients that do not fit their parameter are refused", function()
  local opt = optim.sgd({ lr = 1 })
  local function wrong(pattern, body) raises(body, "^optim_spec.lua:%d+: .*" .. pattern) end
  local w = { w = tensor.zeros({ 2, 3 }) }
  wrong("grads%['w'%] to opt:step: expected shape %(2, 3%), got %(3, 2%)", function() opt:step(w, { w = tensor.zeros({ 3, 2 }) }) end)
  wrong("float32 and float64 mixed", function() opt:step(w, { w = tensor.zeros({ 2, 3 }, { dtype = "float64" }) }) end)
  wrong("bad argument 'params%['x'%]' to opt:step: expected a tensor, got nil", function() opt:step(w, { x = tensor.zeros(1) }) end)
  wrong("expected a contiguous tensor", function() opt:step({ w = w.w:transpose() }, { w = tensor.zeros({ 3, 2 }) }) end)
  opt:step({ w = w.w }, { w = tensor.ones({ 3, 2 }):transpose() })
  equal(w.w:sum(), -6)
end)
