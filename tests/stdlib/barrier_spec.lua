--- Rules, samples and evaluators of actor.barrier.
local barrier = require("actor.barrier")
local workers = require("barrier_cluster")

local cluster, passing = workers.cluster, workers.passing

local function ids_below(n)
  local ids = {}
  for id = 0, n - 1 do ids[#ids + 1] = id end
  return ids
end

-- --- the rules' definitions ---

test("bsp admits workers that are not ahead of any worker", function()
  equal(passing(barrier.bsp(), { 3, 4, 3, 5 }, { 0, 1, 2, 3 }), "0 2")
  equal(barrier.bsp().staleness, 0)
end)

test("ssp admits workers at most s steps ahead of the slowest", function()
  equal(passing(barrier.ssp(2), { 3, 4, 5, 6 }, { 3, 2, 1, 0 }), "2 1 0")
  equal(passing(barrier.ssp(0), { 3, 4, 3, 5 }, { 0, 1, 2, 3 }), "0 2")
  equal(barrier.ssp(2).staleness, 2)
end)

test("asp admits all workers", function()
  equal(passing(barrier.asp(), { 0, 1000 }, { 1, 0 }), "1 0")
  equal(barrier.asp().staleness, nil)
end)

test("quorum admits when the fraction has completed step - s", function()
  equal(passing(barrier.quorum(0.5), { 4, 4, 3, 3 }, { 0 }), "0")
  equal(passing(barrier.quorum(0.75), { 4, 4, 3, 3 }, { 0 }), "")
  equal(passing(barrier.quorum(0.75, 1), { 4, 4, 3, 0 }, { 0 }), "0")
  equal(passing(barrier.quorum(1, 1), { 4, 4, 3, 0 }, { 0 }), "")
  local steps = {}
  for i = 1, 100 do steps[i] = i <= 7 and 1 or 0 end
  equal(passing(barrier.quorum(0.07), steps, { 0 }), "0")
end)

test("backup does not wait for the k slowest workers", function()
  equal(passing(barrier.backup(2), { 5, 5, 4, 1 }, { 0 }), "0")
  equal(passing(barrier.backup(1), { 5, 5, 4, 1 }, { 0 }), "")
  equal(passing(barrier.backup(0), { 5, 5, 5, 5 }, { 0 }), "0")
end)

test("an empty sample equals asp, and a sample of more than all workers equals the rule itself", function()
  local steps = { 3, 4, 3, 5, 9 }
  equal(passing(barrier.pbsp(0), steps, ids_below(5)), "0 1 2 3 4")
  equal(passing(barrier.pbsp(5), steps, ids_below(5)), "0 2")
  equal(passing(barrier.pbsp(1000000000), steps, ids_below(5)), "0 2")
  equal(passing(barrier.pssp(9, 1), steps, ids_below(5)), "0 1 2")
end)

test("pbsp admits with the probability that the sample has no slower worker", function()
  -- 3 of 10 workers are behind; 2 are drawn: (7 * 6) / (10 * 9).
  local steps = { 1, 1, 1, 1, 1, 1, 1, 0, 0, 0 }
  local passed, rounds = 0, 4000
  for seed = 1, rounds do
    if passing(barrier.pbsp(2), steps, { 0 }, seed) == "0" then passed = passed + 1 end
  end
  near(passed / rounds, 42 / 90, 0.03)
end)

test("delay_bounded admits the worker after its time limit and sets the next evaluation time", function()
  local progress = cluster({ 1, 0 }, { 0 })
  local evaluator = barrier.evaluator(barrier.delay_bounded(2.5, barrier.bsp()))
  equal(#evaluator:poll(progress, 0), 0)
  equal(progress:next_time(), 2.5)
  equal(#evaluator:poll(progress, 2.4), 0)
  equal(evaluator:poll(progress, 2.5)[1], 0)
  equal(progress:next_time(), math.huge)
end)

test("delay_bounded works inside a sample, between two draws", function()
  local progress = cluster({ 1, 0, 0, 0 }, { 0 })
  local evaluator = barrier.evaluator(barrier.sample(3, barrier.delay_bounded(1, barrier.bsp())))
  equal(#evaluator:poll(progress, 0), 0)
  equal(progress:next_time(), 1)
  equal(evaluator:poll(progress, 1)[1], 0)
end)

-- --- sampling ---

test("sample composes with any rule, and a nested sample draws from the outer sample", function()
  local progress = cluster({ 1, 0, 0, 0, 0, 0, 0, 0 }, { 0 })
  local outer
  local inner = barrier.sample(2, function(view)
    equal(view.n, 2)
    equal(view.population, 8)
    for i = 1, 2 do equal(outer[view.pulled[i]], true) end
    return false
  end)
  local evaluator = barrier.evaluator(barrier.sample(5, function(view)
    outer = {}
    for i = 1, view.n do outer[view.pulled[i]] = true end
    return inner(view)
  end), 3)
  for id = 0, 7 do progress:pulled(id, 100 + id) end
  for now = 1, 50 do
    progress:complete(1, now)
    equal(#evaluator:poll(progress, now), 0)
  end
end)

-- The samples that worker 0 of `n` gets at each completion of worker 1, as texts.
local function samples(rule_of, n, rounds, change)
  local progress = barrier.progress()
  for id = 0, n - 1 do
    progress:add(id, 0)
    progress:pulled(id, id)
  end
  progress:request(0, 0)
  local texts = {}
  local evaluator = barrier.evaluator(rule_of(function(view)
    local ids = {}
    for i = 1, view.n do ids[i] = view.pulled[i] end
    texts[#texts + 1] = table.concat(ids, " ")
    return false
  end), 11)
  for now = 1, rounds do
    progress:complete(1, now)
    if change then change(progress, now, texts) end
    evaluator:poll(progress, now)
  end
  return texts, progress
end

test("event draws again at each completion", function()
  local texts = samples(function(rule) return barrier.sample(4, rule) end, 30, 20)
  equal(#texts, 20)
  for i = 2, 20 do equal(texts[i] ~= texts[i - 1], true) end
end)

test("sticky retains its sample except for departed members", function()
  local lost
  local texts = samples(function(rule) return barrier.sample(4, rule, { resample = "sticky" }) end, 30, 6,
    function(progress, now, found)
      if now ~= 4 then return end
      for id in found[1]:gmatch("%d+") do
        id = tonumber(id)
        if id > 1 then lost = id end
      end
      progress:remove(lost)
    end)
  equal(texts[1], texts[3])
  equal(texts[4], texts[6])
  local kept = 0
  for id in texts[4]:gmatch("%d+") do
    equal(tonumber(id) ~= lost, true)
    if (" " .. texts[1] .. " "):find(" " .. id .. " ", 1, true) then kept = kept + 1 end
  end
  equal(kept, 3)
end)

test("poll draws a new sample at each interval, regardless of events in between", function()
  local progress = cluster({ 1, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, { 0 })
  local evaluated_at = {}
  local evaluator = barrier.evaluator(barrier.sample(3, function(view)
    evaluated_at[#evaluated_at + 1] = view.now
    return false
  end, { resample = { poll = 0.5 } }))
  for now = 0, 2, 0.125 do
    progress:complete(1, now)
    evaluator:poll(progress, now)
    equal(progress:next_time(), math.floor(now / 0.5) * 0.5 + 0.5)
  end
  equal(table.concat(evaluated_at, " "), "0 0.5 1 1.5 2")
end)

-- --- evaluators ---

test("a rule can be replaced while workers wait", function()
  local progress = cluster({ 3, 1 }, { 0 })
  local evaluator = barrier.evaluator("bsp")
  equal(#evaluator:poll(progress, 0), 0)
  evaluator:set(barrier.ssp(2))
  equal(evaluator.rule.name, "ssp(2)")
  equal(evaluator:poll(progress, 0)[1], 0)
end)

test("an error in a rule names the rule and its place", function()
  local function failing(rule)
    return function() barrier.evaluator(rule):poll(cluster({ 0 }, { 0 }), 0) end
  end
  raises(failing(function(view) return view.nothing.there end),
    "^barrier rule '[^']*barrier_spec.lua:%d+': .*barrier_spec.lua:%d+: a view has no field 'nothing'")
  raises(failing(function() end), "returned nil, expected true, false, or false and the seconds .* %(is a 'return' missing%?%)")
  raises(failing(function() return "yes" end), "returned string 'yes', expected")
  raises(failing(function() return false, -1 end), "returned false, number %-1, ")
  raises(failing(function() return false, 0 / 0 end), "returned false, number %-?nan, ")
  raises(failing(barrier.delay_bounded(1, function() return nil end)), "delay_bounded%(1, .*returned nil")
  raises(failing(barrier.sample(1, function() return false, {} end)), "returned false, table")
end)

test("an evaluator accepts one progress only", function()
  local evaluator = barrier.evaluator("asp")
  evaluator:poll(cluster({ 0 }, { 0 }), 0)
  raises(function() evaluator:poll(cluster({ 0 }, { 0 }), 0) end, "serves one progress")
end)

test("wrong parameters are errors at the caller's line", function()
  raises(function() barrier.ssp(-1) end, "barrier_spec.lua:%d+: bad argument 's' to barrier.ssp")
  raises(function() barrier.ssp(0.5) end, "bad argument 's' to barrier.ssp: expected an integer")
  raises(function() barrier.ssp(0 / 0) end, "bad argument 's' to barrier.ssp")
  raises(function() barrier.ssp() end, "bad argument 's' to barrier.ssp")
  raises(function() barrier.pbsp(-1) end, "bad argument 'beta' to barrier.pbsp")
  raises(function() barrier.pssp(3) end, "bad argument 's' to barrier.pssp")
  raises(function() barrier.quorum(1.5) end, "bad argument 'fraction' to barrier.quorum")
  raises(function() barrier.quorum(0 / 0) end, "bad argument 'fraction' to barrier.quorum")
  raises(function() barrier.backup("2") end, "bad argument 'k' to barrier.backup")
  raises(function() barrier.delay_bounded(-1, barrier.bsp()) end, "bad argument 'seconds' to barrier.delay_bounded")
  raises(function() barrier.sample(3, "bsp") end, "bad argument 'rule' to barrier.sample")
  raises(function() barrier.sample(3, barrier.bsp(), { resample = "often" }) end, "'event', 'sticky', {poll = seconds}")
  raises(function() barrier.sample(3, barrier.bsp(), { resample = { poll = 0 } }) end, "above 0")
  raises(function() barrier.sample(3, barrier.bsp(), { resampel = "event" }) end, "unknown option 'resampel'")
  raises(function() barrier.evaluator(barrier.bsp(), -1) end, "bad argument 'seed' to barrier.evaluator")
end)
