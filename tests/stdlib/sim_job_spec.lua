--- A user's own job as the model of a simulation, which calls the job's callbacks as the parameter server does.
local optim = require("actor.optim")
local tensor = require("actor.tensor")
local train = require("actor.sim.train")
local job = require("actor.sim.models.job")
local with_file = require("with_file")

-- The result of training the job in `text`. Notes of the script are stored in the global `notes`.
local function trained(text, options, arguments, plan)
  local result
  notes = {}
  with_file(text, function(path) result = train.run(options, job(path, arguments), plan) end)
  return result, notes
end

notes = {} -- set by the scripts

local function serial(time)
  return { barrier = "asp", nodes = 1, time = time or 20, seed = 3 }
end

local descent = [[
local actor = require "actor"
local opt = actor.options { kind = "sgd" }
local optim = require "actor.optim"
local kinds = {
  sgd = optim.sgd { lr = 0.1 },
  momentum = optim.sgd { lr = 0.1, momentum = 0.9, weight_decay = 0.01 },
  adagrad = optim.adagrad { lr = 0.1 },
  adam = optim.adam { lr = 0.01 },
  add = optim.add { scale = 0.5 },
}
actor.param.run {
  init = function() return { w = actor.tensor.normal({ 20 }, { seed = 1 }) } end,
  schedule_local = function(ctx) return { "w" } end,
  push = function(id, entries)
    local w = entries[1][2]
    w:mul_(0.5) -- changes a copy only
    return { { "w", w } }
  end,
  pull = kinds[opt.kind],
}
]]

test("a native optimiser gives the same bits as opt:step", function()
  local kinds = {
    sgd = optim.sgd { lr = 0.1 }, momentum = optim.sgd { lr = 0.1, momentum = 0.9, weight_decay = 0.01 },
    adagrad = optim.adagrad { lr = 0.1 }, adam = optim.adam { lr = 0.01 }, add = optim.add { scale = 0.5 },
  }
  for kind, optimiser in pairs(kinds) do
    local result = trained(descent, serial(), { "--kind", kind })
    local params = { w = tensor.normal({ 20 }, { seed = 1 }) }
    for _ = 1, result.updates do optimiser:step(params, { w = params.w * 0.5 }) end
    equal(result.updates > 5, true)
    equal(result.params.store:get("w"):equal(params.w), true, kind)
  end
end)

test("the rate of a native optimiser falls with the pushing worker's steps", function()
  local text = [[
  local actor = require "actor"
  local optim = require "actor.optim"
  actor.param.run {
    init = function() return { w = actor.tensor.zeros({ 1 }, { dtype = "float64" }) } end,
    schedule_local = function() return {} end,
    push = function() return { { "w", actor.tensor.full({ 1 }, -1, { dtype = "float64" }) } } end,
    pull = optim.sgd { lr = 1, decay = optim.decay.step { rate = 0.5, every = 1 } },
  }
  ]]
  local result = trained(text, { barrier = "bsp", nodes = 3, time = 3.5, work = "1", seed = 1 })
  equal(result.updates, 9)
  near(result.params.store:get("w"):get(1), 3 * (1 + 0.5 + 0.25))
  local _, step = result.params.store:get("w")
  equal(step, 3)
end)

test("a pull in Lua receives key, value, step and worker, and stores its result", function()
  local text = [[
  local actor = require "actor"
  local param = actor.param
  param.register_schedule(function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = { { "sum" }, { "mine", { id } } } end
    return tasks
  end)
  param.register_push(function(id, entries)
    assert(actor.role == "worker" and actor.id == id and actor.rank == id)
    return { { "sum", entries[2][2][1] + 1 }, { "loss", (entries[1][2] or 0) + 10 } }
  end)
  param.register_pull(function(updates)
    assert(actor.role == "server" and actor.shard == 0)
    notes[#notes + 1] = updates
    return { { "sum", (param.get("sum") or 0) + updates[1][2] } }
  end)
  param.register_stop(function(ctx) return ctx.step >= 100 end)
  param.start()
  ]]
  local result, seen = trained(text, { barrier = "bsp", nodes = 2, time = 2.5, work = "1", seed = 1 }, {}, { points = 5 })
  equal(#seen, 4)
  equal(seen[1][1], { "sum", seen[1][1][4] + 1, 1, seen[1][1][4] })
  equal(seen[4][1][3], 2)
  local sum, step = result.params.store:get("sum")
  equal({ sum, step }, { 6, 2 })
  -- At 1 s both report a loss of 10, at 2 s 13; points before the first report are omitted.
  equal(result.training.time, { 1.5, 2, 2.5 })
  equal(result.training.loss, { 10, 10, 13 })
end)

test("without a pull an update is the new value; without a loss the length of the updates is shown", function()
  local text = [[
  local actor = require "actor"
  actor.param.run {
    schedule_local = function(ctx) return { "x" } end,
    push = function(id, entries) return { { "x", (entries[1][2] or 0) + 3 }, { "t", actor.tensor.new { 4, 0 } } } end,
  }
  ]]
  local result = trained(text, { barrier = "asp", nodes = 1, time = 2.5, work = "1", seed = 1 }, {}, { points = 5 })
  equal((result.params.store:get("x")), 6)
  near(result.training.loss[1], 5)
  near(result.training.loss[3], math.sqrt(36 + 16), 1e-6)
end)

test("workers that start together are scheduled together", function()
  local text = [[
  local actor = require "actor"
  actor.param.run {
    schedule = function(workers)
      notes[#notes + 1] = workers
      local tasks = {}
      for _, id in ipairs(workers) do if id ~= 1 then tasks[id] = { { "k", 1 } } end end
      return tasks
    end,
    push = function(id, entries) return entries end,
  }
  ]]
  local result, seen = trained(text, { barrier = "bsp", nodes = 3, time = 2.5, work = "1", seed = 1 })
  equal(seen, { { 0, 1, 2 }, { 0, 1, 2 }, { 0, 1, 2 } })
  equal(result.updates, 6)
  equal(result.training.updates[#result.training.updates], 4, "worker 1 rests")
end)

test("stop ends the run: updates in progress are merged, and no further task is assigned", function()
  local text = [[
  local actor = require "actor"
  actor.param.run {
    schedule_local = function() return {} end,
    push = function(id) return { { id, 1 } } end,
    stop = function(ctx)
      notes[#notes + 1] = ctx
      return ctx.step >= 2
    end,
  }
  ]]
  local result, seen = trained(text, { barrier = "bsp", nodes = 4, time = 10, work = "1", seed = 1 })
  equal(result.training.updates[#result.training.updates], 8)
  equal(seen, {
    { step = 0, updates = 0, seconds = 0, workers = 4 }, { step = 1, updates = 4, seconds = 1, workers = 4 },
    { step = 2, updates = 8, seconds = 2, workers = 4 },
  })
end)

test("the simulation uses the job's merge policy", function()
  local text = [[
  local actor = require "actor"
  local opt = actor.options { k = 2 }
  actor.param.run {
    init = function() return { w = actor.tensor.zeros({ 1 }) } end,
    schedule_local = function() return { "w" } end,
    push = function() return { { "w", actor.tensor.new { -1 } } } end,
    pull = actor.optim.sgd { lr = 1, momentum = 0.5 },
    merge = actor.param.merge.buffer { k = opt.k },
  }
  ]]
  -- Three means of -1 with momentum: 1, then 1.5, then 1.75.
  local result = trained(text, { barrier = "bsp", nodes = 2, time = 3.5, work = "1", seed = 1 }, {}, { points = 7 })
  near(result.params.store:get("w"):get(1), 1 + 1.5 + 1.75, 1e-6)
  equal(result.training.updates[#result.training.updates], 6)
end)

test("lost receives the entries of a departed worker, and on_membership receives joins and departures", function()
  local text = [[
  local actor = require "actor"
  actor.on_membership(function(change)
    for _, id in ipairs(change.joined) do notes[#notes + 1] = "joined " .. id .. " of " .. actor.size end
    for _, id in ipairs(change.lost) do notes[#notes + 1] = "lost " .. id .. " of " .. actor.size end
  end)
  actor.param.run {
    schedule = function(workers)
      local tasks = {}
      for _, id in ipairs(workers) do tasks[id] = { { "batch", 10 + id } } end
      return tasks
    end,
    push = function(id, entries) return entries end,
    lost = function(id, entries) notes[#notes + 1] = "entries " .. id .. " " .. tostring(entries[1] and entries[1][2]) end,
  }
  ]]
  notes = {}
  with_file(text, function(path)
    train.replay({
      time = { 0, 0, 0, 0, 1, 2, 3, 3 }, id = { 0, 1, 0, 1, 0, 1, 2, 2 }, step = { 0, 0, 0, 0, 1, 0, 0, 0 },
      event = { "join", "join", "release", "release", "apply", "leave", "join", "release" },
    }, job(path), { nodes = 2, seed = 1, time = 4 })
  end)
  equal(notes, { "lost 1 of 1", "entries 1 11", "joined 2 of 2" })
end)

test("modules beside the job have the same environment", function()
  local module = os.tmpname()
  local file = assert(io.open(module .. ".lua", "w"))
  file:write('local actor = require "actor"\nreturn { size = actor.size, param = require "actor.param" }')
  file:close()
  local text = ([[
  local mine = require "%s"
  mine.param.run {
    schedule_local = function() return {} end,
    push = function() return { { "size", mine.size } } end,
  }
  ]]):format(module:match("[^/]+$"))
  local fine, result = pcall(trained, text, serial())
  os.remove(module .. ".lua")
  os.remove(module)
  if not fine then error(result, 0) end
  equal((result.params.store:get("size")), 1)
end)

test("two runs of one job share no state", function()
  local first = trained(descent, serial(), { "--kind", "adam" })
  local second = trained(descent, serial(), { "--kind", "adam" })
  equal(first.training, second.training)
end)

test("an unsupported call in a simulated job is an error with the reason", function()
  local function wrong(text, pattern)
    raises(function() trained(text, serial(3)) end, pattern)
  end
  local run = [[local actor = require "actor" local param = actor.param ]]
  wrong(run .. "actor.collective.barrier()", ":1: a simulated job has no actor.collective.barrier")
  wrong(run .. "print(actor.size)", "ends without param.run")
  wrong(run .. "x = = 2", "unexpected symbol")
  wrong(run .. "error('mine')", ":1: mine")
  wrong(run .. "param.run { push = print }", "give schedule")
  wrong(run .. "param.run { schedule = function() end, push = print }", "schedule returned nil, expected a table.*missing")
  wrong(run .. "param.run { schedule_local = function() return {} end, push = function() end }", "push returned nil")
  wrong(run .. [[param.run { schedule_local = function() return {} end, pull = actor.optim.add(),
    push = function() return { { "w", 1 } } end }]], "key 'w': an update by an optimiser has to be a tensor")
  wrong(run .. [[param.run { schedule_local = function() param.set_barrier("asp") return {} end, push = print }]],
    "no param.set_barrier")
end)

test("a text names a job and its flags", function()
  local reserved = os.tmpname()
  local path = reserved .. ".lua"
  local file = assert(io.open(path, "w"))
  file:write(descent)
  file:close()
  local result = train.execute(serial(), path .. " --kind adagrad")
  local direct = trained(descent, serial(), { "--kind", "adagrad" })
  os.remove(path)
  os.remove(reserved)
  equal(result.training, direct.training)
end)

test("the task plan of a job records merged, dropped and lost tasks", function()
  local text = [[
local actor = require "actor"
local batches = actor.data.batches { n = 60, size = 1 }
local merges = { all = actor.param.merge.all(), drop = actor.param.merge.drop { later_than = 0 } }
local opt = actor.options { merge = "all" }
actor.param.run {
  tasks = batches,
  init = function() return { counts = actor.tensor.zeros(60) } end,
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do
      local number = batches:next(id)
      if number then tasks[id] = { task = number, { "batch", number } } end
    end
    return tasks
  end,
  push = function(_, entries)
    local one = actor.tensor.zeros(60)
    one:set(entries[1][2], 1)
    return { { "counts", one } }
  end,
  pull = actor.optim.add(),
  merge = merges[opt.merge],
  stop = function() return batches:finished() end,
}
]]
  local options = { barrier = "asp", nodes = 5, time = 200, seed = scratch_seed % 1000, churn = "0.1:0.1" }
  local all = trained(text, options)
  equal(all.params.store:get("counts"):totable(), tensor.ones(60):totable())
  options.churn = nil
  local drop = trained(text, options, { "--merge", "drop" })
  local counts = drop.params.store:get("counts")
  equal({ counts:sum() + drop.training.dropped, counts:max() }, { 60, 1 })
  assert(drop.training.dropped > 0)
end)
