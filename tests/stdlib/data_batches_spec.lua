--- Batch plans, the scheduler's side of batches.
local data = require("actor.data")
local rng = require("actor.rng")

local function samples(plan, number)
  local out, positions = {}, plan:positions(number)
  for i = 1, #positions do out[i] = positions[i] end
  return out
end

-- Completes a plan with workers that fail at random. Returns how often each sample of each epoch was done.
local function work(plan, random, losses)
  local done, holding = {}, {}
  while not plan:finished() do
    local worker = random:int(1, 5)
    local draw = random:uniform()
    if draw < losses then
      plan:lost(worker)
      holding[worker] = nil
    elseif holding[worker] then
      local number = holding[worker]
      holding[worker] = nil
      assert(plan:done(worker))
      for _, sample in ipairs(samples(plan, number)) do
        local key = plan:where(number).epoch .. "/" .. sample
        done[key] = (done[key] or 0) + 1
      end
    else
      holding[worker] = plan:next(worker)
    end
  end
  return done
end

test("each epoch has every sample once, in another order", function()
  local plan = data.batches({ n = 103, size = 10, epochs = 3, seed = 7 })
  equal(plan:count(), 33)
  local orders = {}
  for number = 1, 33 do
    local where = plan:where(number)
    equal(#plan:positions(number), where.size)
    equal(where.size, where.place == 11 and 3 or 10)
    orders[where.epoch] = orders[where.epoch] or {}
    for _, sample in ipairs(samples(plan, number)) do table.insert(orders[where.epoch], sample) end
  end
  for epoch = 1, 3 do
    local sorted = { unpack(orders[epoch]) }
    table.sort(sorted)
    for i = 1, 103 do equal(sorted[i], i) end
  end
  local moved = 0
  for i = 1, 103 do
    if orders[1][i] ~= orders[2][i] then moved = moved + 1 end
  end
  assert(moved > 90)
end)

test("a batch's number determines its samples on every node", function()
  local here = data.batches({ n = 1000, size = 32, epochs = 5, seed = 3 })
  for _ = 1, 40 do here:next("somebody") end
  local there = data.batches({ n = 1000, size = 32, epochs = 5, seed = 3 })
  for number = 1, here:count(), 7 do equal(samples(here, number), samples(there, number)) end
  local other = data.batches({ n = 1000, size = 32, epochs = 5, seed = 4 })
  equal(table.concat(samples(here, 1), " ") == table.concat(samples(other, 1), " "), false)
end)

test("without shuffle samples are in order; with drop_last only full batches are made", function()
  local plan = data.batches({ n = 7, size = 3, epochs = 2, shuffle = false })
  equal(samples(plan, 1), { 1, 2, 3 })
  equal(samples(plan, 3), { 7 })
  equal(samples(plan, 4), { 1, 2, 3 })
  local full = data.batches({ n = 7, size = 3, epochs = 2, shuffle = false, drop_last = true })
  equal(full:count(), 4)
  equal(samples(full, 3), { 1, 2, 3 })
  equal(full:where(4), { epoch = 2, place = 2, first = 4, size = 3 })
end)

test("the batches of a failed worker are assigned again first, and its late reply does not count", function()
  local plan = data.batches({ n = 40, size = 10 })
  equal({ plan:next("a"), plan:next("b"), plan:next("a") }, { 1, 2, 3 })
  equal(plan:held("a"), { 1, 3 })
  equal(plan:done("a", 3), true)
  equal(plan:lost("a"), 1)
  equal(plan:lost("a"), 0)
  equal(plan:done("a", 1), false)
  equal(plan:next("b"), 1)
  equal(plan:next("b"), 4)
  equal(plan:next("c"), nil)
  equal(plan:finished(), false)
  equal(plan:done("b"), true)
  equal(plan:held("b"), { 1, 4 })
  equal({ plan:done("b"), plan:done("b"), plan:done("b") }, { true, true, false })
  equal(plan:finished(), true)
end)

test("a single batch of a worker can be returned while the worker holds its other batches", function()
  local plan = data.batches({ n = 40, size = 10 })
  equal({ plan:next("a"), plan:next("a"), plan:next("b") }, { 1, 2, 3 })
  equal(plan:lost("a", 2), 1)
  equal(plan:lost("a", 2), 0)
  equal(plan:lost("b", 1), 0)
  equal(plan:held("a"), { 1 })
  equal(plan:state().unfinished, { 1, 2, 3 })
  equal(plan:done("a", 1), true)
  equal(plan:next("b"), 2)
  equal(plan:held("b"), { 3, 2 })
end)

test("every sample of every epoch is done once, whichever workers fail", function()
  local random = rng(scratch_seed, 1)
  for round = 1, 30 do
    local n, size, epochs = random:int(1, 60), random:int(1, 20), random:int(1, 4)
    local plan = data.batches({ n = n, size = size, epochs = epochs, seed = round })
    local done = work(plan, random, 0.2)
    for epoch = 1, epochs do
      for sample = 1, n do equal(done[epoch .. "/" .. sample], 1) end
    end
    equal(plan:fraction(), 1)
    equal(plan:epoch(), epochs + 1)
    equal(plan:next(1), nil)
  end
end)

test("progress counts completed batches, not assigned batches", function()
  local plan = data.batches({ n = 25, size = 10, epochs = 2 })
  equal({ plan:fraction(), plan:epoch() }, { 0, 1 })
  for worker = 1, 3 do plan:next(worker) end
  equal(plan:fraction(), 0)
  plan:done(3)
  near(plan:fraction(), 5 / 50)
  plan:done(1)
  near(plan:fraction(), 15 / 50)
  equal(plan:epoch(), 1)
  plan:lost(2)
  near(plan:fraction(), 15 / 50)
  plan:next(1)
  plan:done(1)
  near(plan:fraction(), 0.5)
  equal(plan:epoch(), 2)
end)

test("endless batches never finish", function()
  local plan = data.batches({ n = 10, size = 4, epochs = math.huge })
  for _ = 1, 1000 do
    plan:next(1)
    plan:done(1)
  end
  equal({ plan:finished(), plan:fraction(), plan:epoch() }, { false, 0, 334 })
end)

test("a saved state continues at its point, and batches in progress are assigned again", function()
  local options = { n = 55, size = 10, epochs = 2, seed = 1 }
  local plan = data.batches(options)
  for worker = 1, 5 do plan:next(worker) end
  plan:done(2)
  plan:done(4)
  plan:lost(5)
  local state = plan:state()
  equal({ state.next, state.unfinished }, { 6, { 1, 3, 5 } })
  for _, value in pairs(state) do assert(type(value) ~= "function" and type(value) ~= "cdata") end
  local again = data.batches(options):restore(state)
  equal(again:fraction(), plan:fraction())
  equal(again:done(1), false)
  equal({ again:next(1), again:next(1), again:next(1), again:next(1) }, { 1, 3, 5, 6 })
  equal(again:state().unfinished, { 1, 3, 5, 6 })
  equal(state.unfinished, { 1, 3, 5 })
end)

test("a state of other batches or a damaged state is an error", function()
  local plan = data.batches({ n = 55, size = 10 })
  local state = plan:state()
  raises(function() data.batches({ n = 56, size = 10 }):restore(state) end,
    "data_batches_spec.lua:%d+: batches:restore: the state is of batches with n = 55, these have 56")
  raises(function() data.batches({ n = 55, size = 10, seed = 1 }):restore(state) end, "seed = 0, these have 1")
  local function damaged(name, value)
    local copy = {}
    for k, v in pairs(state) do copy[k] = v end
    copy[name] = value
    return function() plan:restore(copy) end
  end
  raises(damaged("next", 8), "state.next")
  raises(damaged("next", "1"), "state.next")
  raises(damaged("unfinished", { 1 }), "state.unfinished%[1%]")
  raises(damaged("unfinished", 3), "state.unfinished")
  plan:next(1)
  plan:next(1)
  state = plan:state()
  raises(damaged("unfinished", { 1, 1 }), "batch 1 is unfinished twice")
end)

test("wrong arguments are errors at the user's line", function()
  raises(function() data.batches({ n = 0, size = 1 }) end, "data_batches_spec.lua:%d+: bad argument 'n' to data.batches")
  raises(function() data.batches({ n = 1, size = 0 }) end, "bad argument 'size' to data.batches")
  raises(function() data.batches({ n = 5, size = 6, drop_last = true }) end, "5 samples do not fill one batch of 6")
  raises(function() data.batches({ n = 5, size = 1, epoch = 2 }) end, "unknown option 'epoch' to data.batches")
  raises(function() data.batches({ n = 5, size = 1, epochs = 0.5 }) end, "bad argument 'epochs'")
  local plan = data.batches({ n = 5, size = 1 })
  raises(function() plan:next() end, "bad argument 'worker' to batches:next: expected a worker's id, got nil")
  raises(function() plan:positions(6) end, "bad argument 'number' to batches:positions: expected an integer from 1 to 5")
  raises(function() plan:where("x") end, "bad argument 'number' to batches:where")
end)

test("many batches returned at once are assigned again", function()
  local plan = data.batches({ n = 20000, size = 1 })
  for _ = 1, 20000 do plan:next(1) end
  equal(plan:lost(1), 20000)
  equal(#plan:state().unfinished, 20000)
  equal(plan:next(2), 1)
end)
