--- Models trained inside simulations: order, staleness and merge policies, compared with plain loops.
local sim = require("actor.sim")
local rng = require("actor.rng")
local train = require("actor.sim.train")

local without_jit = not jit.status()

-- A number that random gradients change; `seen` records the calls.
local function toy(seen)
  return {
    init = function() return { value = 1 } end,
    gradient = function(params, id, step, random)
      local update = { id = id, step = step, by = params.value * random:uniform() }
      if seen then seen.pulls[#seen.pulls + 1] = { id, step, params.value } end
      return update
    end,
    apply = function(params, update, scale)
      params.value = params.value - scale * update.by
      if seen then seen.merges[#seen.merges + 1] = { update.id, update.step, scale } end
    end,
    loss = function(params) return params.value ^ 2 end,
    rate = 0.1,
  }
end

local function new_notes() return { pulls = {}, merges = {} } end

-- A trace from lines like "1.5 apply 3 2": time, event, node, step.
local function trace_of(lines)
  local trace = { time = {}, event = {}, id = {}, step = {} }
  for i, line in ipairs(lines) do
    local time, event, id, step = line:match("^(%S+) (%a+) (%d+) (%d+)$")
    trace.time[i], trace.event[i], trace.id[i], trace.step[i] = tonumber(time), event, tonumber(id), tonumber(step)
  end
  return trace
end

-- A sum of contributions: node id adds 10^id times the pulled sum, so that each order gives a different result.
local function adder()
  return {
    init = function() return { sum = 1 } end,
    gradient = function(params, id) return 10 ^ id * params.sum end,
    apply = function(params, update, scale) params.sum = params.sum + scale * update end,
    loss = function(params) return params.sum end,
  }
end

local function setup(time) return { nodes = 2, seed = 1, time = time } end

-- --- order and staleness ---

test("one node without a barrier is serial gradient descent, bit for bit", function()
  local result = train.run({ barrier = "asp", nodes = 1, time = 60, seed = 5 }, toy())
  local value = 1
  for step = 0, result.updates - 1 do value = value - 0.1 * (value * train.rng_of(5, 0, step):uniform()) end
  holds(result.updates, ">", 20)
  equal(result.params.value, value)
  equal(result.training.updates[#result.training.updates], result.updates)
end)

test("linear regression on one node equals a plain loop", function()
  local options = { barrier = "bsp", nodes = 1, time = 40, seed = 3 }
  local result = train.run(options, train.models.linear { dims = 3, batch = 2, noise = 0.5, condition = 4 }, { rate = 0.05 })
  local random, truth = rng(3), {}
  for d = 1, 3 do truth[d] = random:normal() end
  local weights, deviation = { 0, 0, 0 }, { 1, 4 ^ -0.25, 4 ^ -0.5 }
  for step = 0, result.updates - 1 do
    local draw, gradient = train.rng_of(3, 0, step), { 0, 0, 0 }
    for _ = 1, 2 do
      local noise, x, y, found = draw:normal(), {}, 0, 0
      for d = 1, 3 do
        x[d] = deviation[d] * draw:normal()
        y, found = y + x[d] * truth[d], found + x[d] * weights[d]
      end
      for d = 1, 3 do gradient[d] = gradient[d] + (found - (y + 0.5 * noise)) * x[d] / 2 end
    end
    for d = 1, 3 do weights[d] = weights[d] - 0.05 * gradient[d] end
  end
  for d = 1, 3 do near(result.params.weights[d], weights[d], 1e-12) end
end)

test("under bsp all nodes pull the model of the previous round", function()
  local notes, nodes = new_notes(), 7
  local result = train.run({ barrier = "bsp", nodes = nodes, time = 60, seed = 2, work = "1+exp(1)" }, toy(notes))
  local value, at = 1, 0
  for round = 0, math.floor(result.updates / nodes) - 1 do
    local pulled = value
    local updates = {}
    for id = 0, nodes - 1 do updates[id] = pulled * train.rng_of(2, id, round):uniform() end
    for _ = 1, nodes do
      at = at + 1
      local id, step = notes.merges[at][1], notes.merges[at][2]
      equal(step, round)
      value = value - 0.1 * updates[id]
      updates[id] = nil
    end
    equal(next(updates), nil)
    for id = 1, nodes do
      local pull = notes.pulls[(round + 1) * nodes + id]
      if pull then equal({ pull[2], pull[3] }, { round + 1, value }) end
    end
  end
  holds(at, ">", 20)
  -- The updates of the round that the end interrupts.
  for i = at + 1, #notes.merges do
    local id, step = notes.merges[i][1], notes.merges[i][2]
    value = value - 0.1 * (notes.pulls[step * nodes + 1][3] * train.rng_of(2, id, step):uniform())
  end
  equal(result.params.value, value)
end)

test("a slow node's update is computed from its pulled model and merged into the current model", function()
  -- Node 1 works 3 s and node 0 works 1 s; both pull 1. Node 0: 1+1 = 2, 2+2 = 4. At 3 s its third update is merged
  -- first or last, as the trace records.
  local training, params = train.replay(trace_of {
    "0 join 0 0", "0 join 1 0", "0 release 0 0", "0 release 1 0",
    "1 finish 0 0", "1 apply 0 1", "1 release 0 1",
    "2 finish 0 1", "2 apply 0 2", "2 release 0 2",
    "3 finish 1 0", "3 apply 1 1", "3 release 1 1",
    "3 finish 0 2", "3 apply 0 3", "3 release 0 3",
  }, adder(), setup(4), { points = 4 })
  equal(params.sum, 4 + 10 * 1 + 4)
  equal(training.time, { 0, 1, 2, 3, 4 })
  equal(training.loss, { 1, 1, 2, 4, 18 })
  equal(training.updates, { 0, 0, 1, 2, 4 })
  equal(training.accuracy, nil)
end)

test("two nodes of known speed in the simulator give the parameters computed by hand", function()
  local result = train.run({ barrier = "asp", nodes = 2, time = 3.5, work = "1", straggler = "0.5:3x", seed = 1, trace = true },
    adder(), { rate = 1 })
  local slow = result.busy_by_node and result.steps[1] < result.steps[2] and 0 or 1
  local fast = 1 - slow
  -- The fast node pulls 1, then s1 = 1 + f, then s2 = s1 + f s1. At 3 s both are due, in the order of the trace.
  local f, s = 10 ^ fast, 10 ^ slow
  local s2 = (1 + f) + f * (1 + f)
  equal(result.updates, 4)
  equal(result.params.sum, s2 + f * s2 + s * 1)
end)

test("the staleness agrees with the simulator's", function()
  local count, sum = 0, 0
  local counter = {
    init = function() return { merged = 0 } end,
    gradient = function(params) return params.merged end,
    apply = function(params, update)
      count, sum = count + 1, sum + params.merged - update
      params.merged = params.merged + 1
    end,
    loss = function() return 0 end,
  }
  for _, rule in ipairs { "bsp", "ssp:2", "pbsp:3", "asp" } do
    for _, world in ipairs { {}, { delay = "exp(0.5)", loss = 0.1 }, { topology = "server:2", service = "0.01" }, { churn = "0.5:0.5" } } do
      count, sum = 0, 0
      local options = { barrier = rule, nodes = 30, time = 40, seed = 4 }
      for name, value in pairs(world) do options[name] = value end
      local result = train.run(options, counter)
      equal(count, result.staleness.count, rule)
      near(sum / count, result.staleness.mean, 1e-9, rule)
    end
  end
end)

-- --- joining and departing nodes ---

test("a departed node's update is dropped, and a joining node pulls the current model", function()
  local training, params = train.replay(trace_of {
    "0 join 0 0", "0 join 1 0", "0 release 0 0", "0 release 1 0",
    "1 apply 0 1", "1 leave 1 0", "1.5 join 2 0", "1.5 release 2 0",
    "2 apply 2 1",
  }, adder(), setup(2), { points = 2 })
  equal(params.sum, 2 + 100 * 2)
  equal(training.updates[3], 2)
end)

test("nodes may join and leave in the simulator too", function()
  local options = { barrier = "ssp:2", nodes = 20, time = 60, churn = "0.3:0.3", failures = "100:5", seed = 6 }
  local notes = new_notes()
  local result = train.run(options, toy(notes))
  equal(#notes.merges, result.updates)
  holds(result.departed, ">", 0)
  holds(result.crashed, ">", 0)
  holds(result.joined, ">", 0)
  holds(#notes.pulls, ">", #notes.merges)
end)

test("the curve ends when the last node leaves", function()
  local result = train.run({ barrier = "asp", nodes = 3, time = 200, churn = "0:1", seed = 1 }, toy())
  equal(result.alive, 0)
  local training = result.training
  near(training.time[#training.time], result.ended)
  equal(#training.time, 51)
end)

-- --- merge rules ---

-- Node 1 is three steps behind at its first update.
local late = {
  "0 join 0 0", "0 join 1 0", "0 release 0 0", "0 release 1 0",
  "1 apply 0 1", "1 release 0 1", "2 apply 0 2", "2 release 0 2", "3 apply 0 3", "3 release 0 3",
  "4 apply 0 4", "4 release 0 4", "5 apply 1 1", "5 release 1 1", "6 apply 0 5",
}

-- Adds 10^id, independent of the pulled value.
local function constants(notes)
  local model = adder()
  model.gradient = function(_, id) return 10 ^ id end
  local apply = model.apply
  model.apply = function(params, update, scale)
    notes[#notes + 1] = { update, scale }
    apply(params, update, scale)
  end
  return model
end

test("the rule drop drops updates further behind the newest than allowed", function()
  for later_than, expected in pairs { [2] = 1 + 5, [3] = 1 + 5 + 10 } do
    local training, params = train.replay(trace_of(late), constants {}, setup(7),
      { merge = "drop:" .. later_than })
    equal(params.sum, expected)
    equal(training.dropped, later_than == 2 and 1 or 0)
    equal(training.updates[#training.updates], later_than == 2 and 5 or 6)
  end
end)

test("the rule scale weights by steps behind the newest", function()
  local _, params = train.replay(trace_of(late), constants {}, setup(7), { merge = "scale:0.5" })
  near(params.sum, 1 + 5 + 10 / 2, 1e-12)
end)

test("the rule buffer merges k updates at once, and the rest at the end", function()
  local notes = {}
  local training, params = train.replay(trace_of(late), constants(notes), setup(7),
    { merge = "buffer:4", points = 7, rate = 2 })
  equal(notes, { { 1, 0.5 }, { 1, 0.5 }, { 1, 0.5 }, { 1, 0.5 }, { 10, 0.5 }, { 1, 0.5 } })
  equal(params.sum, 1 + 2 + 5.5)
  equal(training.updates, { 0, 0, 0, 0, 0, 4, 4, 6 })
end)

test("the rule mean merges a step's updates as their mean, before any node begins the next step", function()
  local by_step = {}
  local model = toy()
  model.apply = function(params, update, scale)
    local round = by_step[update.step] or { before = params.value, sum = 0, count = 0, scale = scale }
    by_step[update.step] = round
    equal(scale, round.scale)
    round.sum, round.count = round.sum + update.by, round.count + 1
    params.value = params.value - scale * update.by
  end
  local result = train.run({ barrier = "bsp", nodes = 5, time = 30, seed = 3 }, model, { merge = "mean" })
  local value, rounds = 1, 0
  while by_step[rounds] do
    local round = by_step[rounds]
    near(round.before, value, 1e-12)
    near(round.scale, 0.1 / round.count, 1e-15)
    value, rounds = value - 0.1 * round.sum / round.count, rounds + 1
  end
  equal({ rounds > 5, by_step[0].count }, { true, 5 })
  near(result.params.value, value, 1e-12)
  raises(function()
    train.run({ barrier = "asp", nodes = 5, time = 30, seed = 3 }, toy(), { merge = "mean" })
  end, "needs a barrier rule that is BSP .*; an update of step %d+ came among those of step %d+")
end)

test("unknown merge rules, unknown options and incomplete models are errors", function()
  local options = { barrier = "asp", nodes = 2, time = 5 }
  raises(function() train.run(options, toy(), { merge = "later" }) end, "there is no rule 'later'")
  raises(function() train.run(options, toy(), { point = 5 }) end, "unknown option 'point'")
  raises(function() train.run(options, toy(), { points = 0 }) end, "points")
  raises(function() train.run(options, { init = print }) end, "bad argument")
end)

-- --- the models ---

test("equal seeds give equal curves, different seeds different curves", function()
  for _, name in ipairs { "linear", "factorisation" } do
    local function curve(seed)
      return train.execute({ barrier = "pbsp:2", nodes = 10, time = 20, seed = seed }, name).training
    end
    equal(curve(7), curve(7))
    equal(curve(7).loss[51] ~= curve(8).loss[51], true)
  end
end)

test("every barrier converges on linear regression, sooner with less waiting", function()
  local losses = {}
  for _, rule in ipairs { "bsp", "ssp:4", "pbsp:5", "pssp:5:4", "asp" } do
    local training = train.execute({ barrier = rule, nodes = 50, time = 100, seed = 1 }, "linear").training
    holds(training.loss[51], "<", 0.1, rule)
    holds(training.loss[51], ">=", 0.045, rule)
    holds(training.loss[1], ">", 1)
    losses[rule] = training.loss
  end
  holds(losses.asp[11], "<", losses["pbsp:5"][11])
  holds(losses["pbsp:5"][11], "<", losses.bsp[11])
end)

test("every barrier recovers the matrix", function()
  for _, rule in ipairs { "ssp:4", "pbsp:5", "asp" } do
    local loss = train.execute({ barrier = rule, nodes = 50, time = 200, seed = 1 }, "factorisation").training.loss
    holds(loss[1], ">", 0.4, rule)
    holds(loss[51], "<", 0.01, rule)
  end
end)

test("the model learns the digits", function()
  if without_jit then skip "drawing digits is slow with the JIT off" end
  local training = train.execute({ barrier = "asp", nodes = 10, time = 30, seed = 1 }, "mnist test=200 points=5").training
  equal(#training.accuracy, 6)
  near(training.loss[1], math.log(10), 1e-4)
  holds(training.accuracy[6], ">", 0.5)
  holds(training.loss[6], "<", 1.7)
end)

-- --- from text ---

test("a text sets model, rate, merge rule and points", function()
  local result = train.execute({ barrier = "asp", nodes = 4, time = 20, seed = 1 },
    "linear rate=0.01 merge=buffer:3 dims=4 points=10")
  local direct = train.run({ barrier = "asp", nodes = 4, time = 20, seed = 1 }, train.models.linear { dims = 4 },
    { rate = 0.01, merge = "buffer:3", points = 10 })
  equal(result.training, direct.training)
  equal(#result.training.loss, 11)
end)

test("errors name the wrong part of a text", function()
  local function wrong(text, pattern)
    local make, message = train.from(text)
    equal(make, nil, text)
    matches(tostring(message), pattern)
  end
  wrong("lineer", "did you mean linear")
  wrong("", "there is no model ''")
  wrong("linear dims", "not NAME=VALUE")
  wrong("linear dims=1 dims=2", "twice")
  wrong("linear speed=1", "unknown option 'speed'")
  wrong("linear merge=drop", "drop:LATER_THAN")
  wrong("linear merge=buffer:0", "k has to be a whole number of at least 1")
  wrong("linear rate=x", "rate wants a number")
  wrong("linear decay=5", "decay wants a rate")
  wrong("nowhere.lua", "nowhere.lua: No such file or directory")
end)

test("rows of a sweep have the last loss and the curve, and can be encoded", function()
  local rows = sim.sweep.run { barriers = { "asp" }, base = { nodes = 4, time = 10 }, train = "linear" }
  local row = rows[1]
  equal(row.training_loss, row.training.loss[51])
  equal(row.training_accuracy, nil)
  local codec = require("actor.codec")
  equal(codec.decode(codec.encode(row)), row)
end)
