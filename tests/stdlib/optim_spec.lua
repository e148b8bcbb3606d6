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

-- PyTorch 1.13's results for {1, -2, 0.5, 4} after eight updates with `torch_gradient`, a warm-up (LinearLR from 0.25
-- over 3) and then CosineAnnealingLR over 5, in float64: without clipping, with clip_grad_norm_ (1.5) and
-- clip_grad_value_ (0.75).
local by_torch = {
  sgd = {
    none = { 0.8607302625834, -1.823415201311, 0.3902271971693, 3.982085633131 },
    norm = { 0.9335093788993, -1.917372928353, 0.4466478853259, 3.984918465568 },
    value = { 0.8669537465247, -1.894787691043, 0.3902271971693, 3.982046882049 },
  },
  momentum = {
    none = { 0.2629919547643, -0.4884283228135, 0.1520007986742, 3.477982840827 },
    norm = { 0.6700935862543, -1.330935190014, 0.3332632042744, 3.769228870899 },
    value = { 0.3437699514598, -1.201404079014, 0.1520007986742, 3.822260457445 },
  },
  nesterov = {
    none = { 0.2134280192676, -0.4941609000664, 0.0854108280336, 3.584890724186 },
    norm = { 0.6541205092037, -1.349893296054, 0.3054796441284, 3.851134817854 },
    value = { 0.2927065029757, -1.210243686585, 0.0854108280336, 3.896222681046 },
  },
  adagrad = {
    none = { 0.8837534863588, -1.925041431216, 0.3349270916093, 3.991221403642 },
    norm = { 0.8864542698827, -1.920868342062, 0.3762613202698, 3.989552141583 },
    value = { 0.8671879992659, -1.903223005871, 0.3349270916093, 3.98476701808 },
  },
  rmsprop = {
    none = { 0.7892463115701, -1.882220817609, 0.1330791113727, 3.986469146233 },
    norm = { 0.7639857759953, -1.86998125548, 0.1267038996639, 3.983060868464 },
    value = { 0.756474052742, -1.841251295593, 0.1330791113727, 3.974122331202 },
  },
  rmsprop_momentum = {
    none = { 0.1269226864059, -1.202953905215, -0.522883955943, 3.794459009815 },
    norm = { 0.06732109854101, -1.167377763241, -0.5354882173061, 3.801251870126 },
    value = { 0.02280351717072, -1.037185029262, -0.522883955943, 3.794459017407 },
  },
  adam = {
    none = { 0.6306079773238, -1.657071236062, 0.1508084535457, 3.93257009062 },
    norm = { 0.6144899365033, -1.648954957744, 0.1476388853363, 3.934115231706 },
    value = { 0.6067342344613, -1.638457991343, 0.1508084535457, 3.916403717497 },
  },
  adamw = {
    none = { 0.5955972932409, -1.578491157496, 0.1622789604619, 3.763161958369 },
    norm = { 0.5812149705905, -1.573002719908, 0.162497430887, 3.771155391644 },
    value = { 0.5717072701546, -1.561382864961, 0.1622789604619, 3.763161958971 },
  },
}

local torch_optimisers = {
  sgd = { "sgd", lr = 0.1, weight_decay = 0.01 },
  momentum = { "sgd", lr = 0.1, momentum = 0.9, weight_decay = 0.01 },
  nesterov = { "sgd", lr = 0.1, momentum = 0.9, nesterov = true },
  adagrad = { "adagrad", lr = 0.1, initial = 0.1, weight_decay = 0.01 },
  rmsprop = { "rmsprop", lr = 0.05, alpha = 0.9, weight_decay = 0.01 },
  rmsprop_momentum = { "rmsprop", lr = 0.05, alpha = 0.9, momentum = 0.8 },
  adam = { "adam", lr = 0.1, weight_decay = 0.01 },
  adamw = { "adamw", lr = 0.1, weight_decay = 0.1 },
}

local function torch_gradient(t) return { 1 / (t + 1), -2 + 0.5 * t, 0.25 * (t % 3), 3 * (-1) ^ t } end

-- Makes an optimiser from its name (first place) and options, with further options.
local function made(described, more)
  local options = {}
  for name, value in pairs(described) do options[name] = value end
  for name, value in pairs(more) do options[name] = value end
  options[1] = nil
  return optim[described[1]](options)
end

test("every optimiser agrees with PyTorch, with a warm-up, a schedule and clipping", function()
  for name, by_clip in pairs(by_torch) do
    for clip, wanted in pairs(by_clip) do
      local opt = made(torch_optimisers[name], {
        decay = optim.decay.warm_up { steps = 3, start = 0.25, next = optim.decay.cosine { every = 5 } },
        clip_norm = clip == "norm" and 1.5 or nil, clip_value = clip == "value" and 0.75 or nil,
      })
      local w = tensor.new({ 1, -2, 0.5, 4 }, { dtype = "float64" })
      for t = 0, 7 do opt:step({ w = w }, { w = tensor.new(torch_gradient(t), { dtype = "float64" }) }) end
      -- PyTorch divides by the norm plus 1e-6.
      for i = 1, 4 do near(w:get(i), wanted[i], clip == "norm" and 1e-5 or 1e-11) end
    end
  end
end)

-- ---- the formulas again, one number at a time ----

local updates = {}

function updates.add(o, s, g) s.w = s.w + o.scale * g end

function updates.sgd(o, s, g, lr)
  g = g + o.weight_decay * s.w
  s.a = o.momentum * s.a + g
  s.w = s.w - lr * (o.nesterov and g + o.momentum * s.a or s.a)
end

function updates.adagrad(o, s, g, lr)
  g = g + o.weight_decay * s.w
  s.a = s.a + g * g
  s.w = s.w - lr * g / (math.sqrt(s.a + o.initial) + o.epsilon)
end

function updates.rmsprop(o, s, g, lr)
  g = g + o.weight_decay * s.w
  s.a = o.alpha * s.a + (1 - o.alpha) * g * g
  s.b = o.momentum * s.b + g / (math.sqrt(s.a) + o.epsilon)
  s.w = s.w - lr * s.b
end

function updates.adam(o, s, g, lr, t)
  g = g + o.weight_decay * s.w
  s.a = o.beta1 * s.a + (1 - o.beta1) * g
  s.b = o.beta2 * s.b + (1 - o.beta2) * g * g
  s.w = s.w - lr * s.a / (1 - o.beta1 ^ (t + 1)) / (math.sqrt(s.b / (1 - o.beta2 ^ (t + 1))) + o.epsilon)
end

function updates.adamw(o, s, g, lr, t)
  s.w = s.w * (1 - lr * o.weight_decay)
  updates.adam({ weight_decay = 0, beta1 = o.beta1, beta2 = o.beta2, epsilon = o.epsilon }, s, g, lr, t)
end

local factors = {}

function factors.step(d, t) return d.rate ^ math.floor(t / d.every) end
function factors.exponential(d, t) return d.rate ^ (t / d.every) end
function factors.inverse_time(d, t) return 1 / (1 + d.rate * t / d.every) end
function factors.cosine(d, t)
  return d.floor + (1 - d.floor) * (1 + math.cos(math.pi * math.min(t, d.every) / d.every)) / 2
end
function factors.warm_up(d, t)
  if t < d.steps then return d.start + (1 - d.start) * t / d.steps end
  return d.next and factors[d.next.kind](d.next, t - d.steps) or 1
end

local function clipped(o, rows)
  local sum = 0
  for _, row in ipairs(rows) do
    for i, g in ipairs(row) do
      if o.clip_value then g = math.max(-o.clip_value, math.min(o.clip_value, g)) end
      row[i], sum = g, sum + g * g
    end
  end
  local scale = o.clip_norm and math.sqrt(sum) > o.clip_norm and o.clip_norm / math.sqrt(sum) or 1
  for _, row in ipairs(rows) do
    for i, g in ipairs(row) do row[i] = g * scale end
  end
end

local described = {
  { "add", scale = -0.5 }, { "sgd", lr = 0.1 }, { "sgd", lr = 0.1, momentum = 0.9, weight_decay = 0.01 },
  { "sgd", lr = 0.1, momentum = 0.9, nesterov = true }, { "adagrad", lr = 0.1, initial = 0.1 },
  { "rmsprop", lr = 0.01 }, { "rmsprop", lr = 0.01, momentum = 0.9, weight_decay = 0.01 },
  { "adam", lr = 0.01, weight_decay = 0.01 }, { "adamw", lr = 0.01 },
}
local decays = {
  false, optim.decay.step { rate = 0.5, every = 2 }, optim.decay.exponential { rate = 0.5, every = 3 },
  optim.decay.inverse_time { rate = 1, every = 4 }, optim.decay.cosine { every = 5, floor = 0.1 },
  optim.decay.warm_up { steps = 3 },
}
for i = 2, 5 do decays[#decays + 1] = optim.decay.warm_up { steps = 2, start = 0.25, next = decays[i] } end
local clips = { {}, { clip_norm = 1 }, { clip_value = 0.5 }, { clip_norm = 0.75, clip_value = 0.5 } }

test("every optimiser follows its formula under every schedule and with every kind of clipping", function()
  local rng = require("actor.rng")(scratch_seed)
  for _, o in ipairs(described) do
    for _, decay in ipairs(decays) do
      for _, clip in ipairs(clips) do
        local opt = made(o, { decay = o[1] ~= "add" and decay or nil, clip_norm = clip.clip_norm, clip_value = clip.clip_value })
        local params, wanted = {}, {}
        for p, count in ipairs { 3, 1, 0 } do
          params[p], wanted[p] = tensor.zeros({ count }, { dtype = "float64" }), {}
          for i = 1, count do
            wanted[p][i] = { w = rng:normal(), a = 0, b = 0 }
            params[p]:set(i, wanted[p][i].w)
          end
        end
        for t = 0, 6 do
          local grads, rows = {}, {}
          for p, numbers in ipairs(wanted) do
            rows[p] = {}
            for i = 1, #numbers do rows[p][i] = rng:normal() end
            grads[p] = #numbers > 0 and tensor.new(rows[p], { dtype = "float64" }) or tensor.zeros({ 0 }, { dtype = "float64" })
          end
          opt:step(params, grads)
          clipped(opt, rows)
          local lr = (opt.kind ~= "add" and opt.lr or 1) * (opt.decay and factors[opt.decay.kind](opt.decay, t) or 1)
          for p, numbers in ipairs(wanted) do
            for i, s in ipairs(numbers) do updates[opt.kind](opt, s, rows[p][i], lr, t) end
          end
        end
        for p, numbers in ipairs(wanted) do
          for i, s in ipairs(numbers) do near(params[p]:get(i), s.w, 1e-9) end
        end
      end
    end
  end
end)

test("views as gradients and their order change no bit, and gradients stay unchanged", function()
  for _, dtype in ipairs { "float32", "float64" } do
    local opt = { clip_norm = 0.5, clip_value = 1, lr = 0.1 }
    local base = tensor.normal({ 6, 8 }, { seed = 3, dtype = dtype })
    local before = base:clone()
    local views = { base:transpose(), base:slice(2, 1, 8, 3), base:slice(1, 6, 6) }
    local plain, other, params = optim.adamw(opt), optim.adamw(opt), {}
    for k = 1, 2 do
      params[k] = {}
      for i, view in ipairs(views) do params[k]["p" .. i] = tensor.ones(view.shape, { dtype = dtype }) end
    end
    for _ = 1, 3 do
      plain:step(params[1], { p1 = views[1], p2 = views[2], p3 = views[3] })
      other:step(params[2], { p3 = views[3]:contiguous(), p1 = views[1]:contiguous(), p2 = views[2]:contiguous() })
    end
    for name, value in pairs(params[1]) do equal(value:equal(params[2][name]), true) end
    equal(base:equal(before), true)
  end
end)

test("clipping handles norms whose squares overflow, and leaves non-finite gradients unchanged", function()
  local w = { w = tensor.zeros({ 2 }) }
  optim.sgd({ lr = 1, clip_norm = 5 }):step(w, { w = tensor.new { 3e30, -4e30 } })
  near(w.w:get(1), -3, 1e-5)
  near(w.w:get(2), 4, 1e-5)
  w.w:fill_(0)
  optim.sgd({ lr = 1, clip_norm = 5 }):step(w, { w = tensor.new { 1 / 0, 7 } })
  equal(w.w:get(1), -1 / 0)
  equal(w.w:get(2), -7)
  w = { w = tensor.zeros({ 2 }, { dtype = "float64" }) }
  optim.sgd({ lr = 1, clip_norm = 5 }):step(w, { w = tensor.new({ 3e300, 4e300 }, { dtype = "float64" }) })
  near(w.w:get(2), -4, 1e-9)
  w.w:fill_(0)
  optim.sgd({ lr = 1, clip_norm = 5 }):step(w, { w = tensor.zeros({ 2 }, { dtype = "float64" }) })
  equal(w.w:sum(), 0)
end)

test("an optimiser continues from its state, which can be encoded", function()
  for _, o in ipairs(described) do
    local decay = o[1] ~= "add" and optim.decay.warm_up { steps = 3, next = optim.decay.step { rate = 0.5, every = 2 } } or nil
    local one, w = made(o, { decay = decay }), { w = tensor.ones(5), empty = tensor.ones(0) }
    local function gradients(t) return { w = tensor.full(5, t - 3), empty = tensor.ones(0) } end
    for t = 1, 4 do one:step(w, gradients(t)) end
    local saved = codec.decode(codec.encode(one:state()))
    local later = { w = w.w:clone(), empty = w.empty }
    for t = 5, 8 do one:step(w, gradients(t)) end
    local two = made(o, { decay = decay }):restore(saved)
    for t = 5, 8 do two:step(later, gradients(t)) end
    equal(later.w:equal(w.w), true)
  end
  raises(function() optim.adam():restore(optim.adamw():state()) end,
    "^optim_spec.lua:%d+: opt:restore: the state is of optim.adamw, this is optim.adam$")
  local moving = optim.sgd { lr = 1, momentum = 0.5 }
  moving:step({ w = tensor.ones(2) }, { w = tensor.ones(2) })
  raises(function() optim.sgd({ lr = 1 }):restore(moving:state()) end,
    "^optim_spec.lua:%d+: opt:restore: the state of 'w' has 1 tensors, an optimiser with these options has 0$")
end)

test("two optimisers of one description have separate states", function()
  local g = { w = tensor.ones(3) }
  local one, two = optim.adam({}), optim.adam({})
  local a, b = { w = tensor.zeros(3) }, { w = tensor.zeros(3) }
  one:step(a, g)
  one:step(a, { w = tensor.full(3, -5) })
  two:step(b, g)
  two:step(b, { w = tensor.full(3, -5) })
  equal(a.w:equal(b.w), true)
end)

test("wrong numbers are errors in the description", function()
  local function wrong(pattern, body) raises(body, "^optim_spec.lua:%d+: .*" .. pattern) end
  wrong("bad argument 'lr' to optim.sgd: expected a number of at least 0, got nan", function() optim.sgd({ lr = 0 / 0 }) end)
  wrong("bad argument 'lr' to optim.sgd: expected a finite number, got inf", function() optim.sgd({ lr = 1 / 0 }) end)
  wrong("bad argument 'lr' to optim.sgd: expected a number of at least 0, got %-1", function() optim.sgd({ lr = -1 }) end)
  wrong("bad argument 'lr' to optim.sgd: expected number, got string", function() optim.sgd({ lr = "0.1" }) end)
  wrong("bad argument 'lr' to optim.sgd: expected number, got nil", function() optim.sgd({}) end)
  wrong("bad argument 'momentum' to optim.sgd: expected a number below 1, got 1", function() optim.sgd({ lr = 1, momentum = 1 }) end)
  wrong("bad argument 'nesterov' to optim.sgd: expected a momentum above 0", function() optim.sgd({ lr = 1, nesterov = true }) end)
  wrong("unknown option 'clip_nrom' to optim.adamw .*did you mean 'clip_norm'", function() optim.adamw({ clip_nrom = 1 }) end)
  wrong("bad argument 'clip_norm' to optim.add: expected a number above 0, got 0", function() optim.add({ clip_norm = 0 }) end)
  wrong("bad argument 'clip_value' to optim.sgd: expected a number of at least 0, got nan", function() optim.sgd({ lr = 1, clip_value = 0 / 0 }) end)
  wrong("bad argument 'clip_value' to optim.adam: expected a finite number, got inf", function() optim.adam({ clip_value = 1 / 0 }) end)
  wrong("bad argument 'alpha' to optim.rmsprop: expected a number below 1, got 1", function() optim.rmsprop({ alpha = 1 }) end)
  wrong("bad argument 'lr' to optim.rmsprop: expected a number of at least 0, got %-1", function() optim.rmsprop({ lr = -1 }) end)
  wrong("bad argument 'weight_decay' to optim.adamw: expected a number of at least 0, got %-1", function() optim.adamw({ weight_decay = -1 }) end)
  wrong("bad argument 'steps' to optim.decay.warm_up: expected an integer of at least 1, got 0.5", function() optim.decay.warm_up({ steps = 0.5 }) end)
  wrong("bad argument 'start' to optim.decay.warm_up: expected a number from 0 to 1, got 2", function() optim.decay.warm_up({ steps = 1, start = 2 }) end)
  wrong("optim.decay.warm_up: 'next' is a warm%-up itself", function()
    optim.decay.warm_up({ steps = 1, next = optim.decay.warm_up({ steps = 1 }) })
  end)
  wrong("bad argument 'decay' to optim.decay.warm_up: expected a schedule", function() optim.decay.warm_up({ steps = 1, next = { kind = "linear" } }) end)
  wrong("unknown option 'rho' to optim.adam", function() optim.adam({ rho = 1 }) end)
  wrong("bad argument 'rate' to optim.decay.step: expected a number from 0 to 1, got 2", function() optim.decay.step({ rate = 2, every = 1 }) end)
  wrong("bad argument 'every' to optim.decay.cosine: expected a number above 0, got 0", function() optim.decay.cosine({ every = 0 }) end)
  wrong("bad argument 'decay' to optim.sgd: expected a schedule of optim.decay", function() optim.sgd({ lr = 1, decay = { kind = "linear" } }) end)
  wrong("bad argument 'rate' to optim.decay.step: expected a number from 0 to 1, got nan", function()
    optim.sgd({ lr = 1, decay = { kind = "step", rate = 0 / 0, every = 1 } })
  end)
end)

test("gradients of another shape or type than their parameter are errors", function()
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
