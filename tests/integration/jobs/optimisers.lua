-- Every optimiser under every schedule, with the kinds of clipping in turns, on the parameter server and locally by
-- `opt:step`. One worker, so that both make the same updates. Arguments: the first kind of clipping, and the number of
-- elements of the tensor that three servers split.
-- deep: 2 501 flags: --servers 1 within: 60 at: threads:1
-- deep: 1 50001 flags: --servers 3 within: 60 at: threads:1
local actor = require "actor"
local optim, param, tensor = actor.optim, actor.param, actor.tensor
local decay = optim.decay

local function optimisers(options)
  local function with(more)
    for name, value in pairs(options) do more[name] = value end
    return more
  end
  return {
    optim.sgd(with { lr = 0.1, weight_decay = 0.01 }), optim.sgd(with { lr = 0.1, momentum = 0.9 }),
    optim.sgd(with { lr = 0.1, momentum = 0.9, nesterov = true }), optim.adagrad(with { lr = 0.1, initial = 0.1 }),
    optim.rmsprop(with { lr = 0.01 }), optim.rmsprop(with { lr = 0.01, momentum = 0.9 }), optim.adam(with { lr = 0.01 }),
    optim.adamw(with { lr = 0.01 }),
    not options.decay and optim.add(with { scale = -0.5 }) or nil,
  }
end

local schedules = {
  false, decay.step { rate = 0.5, every = 2 }, decay.exponential { rate = 0.5, every = 3 },
  decay.inverse_time { rate = 1, every = 4 }, decay.cosine { every = 5, floor = 0.1 }, decay.warm_up { steps = 3 },
}
for i = 2, 5 do schedules[#schedules + 1] = decay.warm_up { steps = 2, start = 0.25, next = schedules[i] } end
local clips = { {}, { clip_norm = 1 }, { clip_value = 0.5 }, { clip_norm = 0.75, clip_value = 0.5 } }

local first, wide = ...
first, wide = tonumber(first), tonumber(wide)
local shapes = { { "a", { 3, 2 } }, { "b", { 5 }, "float64" }, { "empty", { 0 } }, { "wide", { wide } } }

local function fresh()
  local values = {}
  for i, shape in ipairs(shapes) do values[shape[1]] = tensor.normal(shape[2], { seed = i, dtype = shape[3] }) end
  return values
end

local function gradients(values, step)
  local out = {}
  for name, value in pairs(values) do out[name] = value:tanh() * (1 + step % 3) - value * 0.5 end
  return out
end

local steps, count = 6, 0
local works = actor.role ~= "server" -- servers restart the script for each run

local function same_bits(opt)
  count = count + 1
  local here, names = works and fresh(), {}
  for i, shape in ipairs(shapes) do names[i] = ("%d.%s"):format(count, shape[1]) end
  for step = 1, works and steps or 0 do opt:step(here, gradients(here, step)) end
  local step = 0
  param.run {
    init = function()
      local values, start = {}, fresh()
      for i, shape in ipairs(shapes) do values[names[i]] = start[shape[1]] end
      return values
    end,
    schedule_local = function() return names end,
    push = function(_, entries)
      step = step + 1
      local values, out = {}, {}
      for i, entry in ipairs(entries) do values[shapes[i][1]] = entry[2] end
      local grads = gradients(values, step)
      for i = #shapes, 1, -1 do out[#out + 1] = { names[i], grads[shapes[i][1]] } end
      return out
    end,
    pull = opt,
    stop = function(ctx) return ctx.step >= steps end,
  }
  local same = true
  if not works then return same end
  for i, shape in ipairs(shapes) do
    same = same and param.get(names[i]):equal(here[shape[1]])
    param.set(names[i], nil)
  end
  return same
end

for i, schedule in ipairs(schedules) do
  local clip = clips[(first + i - 1) % #clips + 1]
  for _, opt in ipairs(optimisers { decay = schedule or nil, clip_norm = clip.clip_norm, clip_value = clip.clip_value }) do
    assert(same_bits(opt), tostring(opt))
  end
end
assert(count == 81)
