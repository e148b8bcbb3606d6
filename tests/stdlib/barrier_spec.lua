--- Rules, views, samples and specs of actor.barrier.
local barrier = require("actor.barrier")

-- Workers at the given steps; `asks` lists those who wait (ids count from 0).
local function cluster(steps, asks)
  local progress = barrier.progress()
  for i, step in ipairs(steps) do progress:add(i - 1, step) end
  for _, id in ipairs(asks) do assert(progress:ask(id, 0)) end
  return progress
end

-- Which of `asks` pass at once, as text.
local function passing(rule, steps, asks, seed)
  return table.concat(barrier.evaluator(rule, seed):poll(cluster(steps, asks), 0), " ")
end

-- What `look(view)` finds when worker 0 of workers at `steps` asks.
local function seen(steps, look, wrap)
  local found
  local rule = function(view)
    found = look(view)
    return true
  end
  passing(wrap and wrap(rule) or rule, steps, { 0 })
  return found
end

local function everybody(n)
  local ids = {}
  for id = 0, n - 1 do ids[#ids + 1] = id end
  return ids
end

-- --- the rules' definitions ---

test("bsp passes those who are not ahead of anybody", function()
  equal(passing(barrier.bsp(), { 3, 4, 3, 5 }, { 0, 1, 2, 3 }), "0 2")
  equal(barrier.bsp().staleness, 0)
end)

test("ssp passes those who are at most s steps ahead of the slowest", function()
  equal(passing(barrier.ssp(2), { 3, 4, 5, 6 }, { 3, 2, 1, 0 }), "2 1 0")
  equal(passing(barrier.ssp(0), { 3, 4, 3, 5 }, { 0, 1, 2, 3 }), "0 2")
  equal(barrier.ssp(2).staleness, 2)
end)

test("asp passes everybody", function()
  equal(passing(barrier.asp(), { 0, 1000 }, { 1, 0 }), "1 0")
  equal(barrier.asp().staleness, nil)
end)

test("quorum passes when the fraction has completed step - s", function()
  equal(passing(barrier.quorum(0.5), { 4, 4, 3, 3 }, { 0 }), "0")
  equal(passing(barrier.quorum(0.75), { 4, 4, 3, 3 }, { 0 }), "")
  equal(passing(barrier.quorum(0.75, 1), { 4, 4, 3, 0 }, { 0 }), "0")
  equal(passing(barrier.quorum(1, 1), { 4, 4, 3, 0 }, { 0 }), "")
  local steps = {}
  for i = 1, 100 do steps[i] = i <= 7 and 1 or 0 end
  equal(passing(barrier.quorum(0.07), steps, { 0 }), "0")
end)

test("backup does not wait for the k slowest", function()
  equal(passing(barrier.backup(2), { 5, 5, 4, 1 }, { 0 }), "0")
  equal(passing(barrier.backup(1), { 5, 5, 4, 1 }, { 0 }), "")
  equal(passing(barrier.backup(0), { 5, 5, 5, 5 }, { 0 }), "0")
end)

test("a sample of nobody is asp, a sample of more than there are is the rule itself", function()
  local steps = { 3, 4, 3, 5, 9 }
  equal(passing(barrier.pbsp(0), steps, everybody(5)), "0 1 2 3 4")
  equal(passing(barrier.pbsp(5), steps, everybody(5)), "0 2")
  equal(passing(barrier.pbsp(1000000000), steps, everybody(5)), "0 2")
  equal(passing(barrier.pssp(9, 1), steps, everybody(5)), "0 1 2")
end)

test("pbsp passes with the probability that no laggard is drawn", function()
  -- 3 of 10 workers are behind; 2 are drawn: (7 * 6) / (10 * 9).
  local steps = { 1, 1, 1, 1, 1, 1, 1, 0, 0, 0 }
  local passed, rounds = 0, 4000
  for seed = 1, rounds do
    if passing(barrier.pbsp(2), steps, { 0 }, seed) == "0" then passed = passed + 1 end
  end
  near(passed / rounds, 42 / 90, 0.03)
end)

test("delay_bounded lets the worker go when its time is over, and says when to ask again", function()
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

-- --- the view ---

test("a view shows the asking worker and everybody's state", function()
  local progress = barrier.progress()
  progress:add(4, 2)
  progress:add(9, 7)
  progress:start(9, 10)
  progress:complete(9, 12)
  progress:start(9, 12)
  progress:pulled(9, 30)
  progress:suspect(4, true)
  progress:ask(4, 11)
  local checked = false
  barrier.evaluator(function(view)
    equal(view.step, 2)
    equal(view.id, 4)
    equal(view.n, 2)
    equal(view.population, 2)
    equal(view.now, 13)
    equal(view.waited, 2)
    equal(#view.steps, 2)
    equal(view.steps[1], 2)
    equal(view.steps[2], 8)
    equal(view.busy[1], false)
    equal(view.busy[2], true)
    equal(view.alive[1], false)
    equal(view.alive[2], true)
    equal(view.pulled[2], 30)
    equal(view.durations[1], 0)
    equal(view.durations[2], 2)
    checked = true
    return true
  end):poll(progress, 13)
  equal(checked, true)
end)

test("helpers agree whether everybody or a sample is seen", function()
  local steps = { 5, 2, 9, 5, 7, 2 }
  local function helpers(view)
    local all = {}
    for _, q in ipairs { 0, 0.2, 0.5, 0.51, 1 } do all[#all + 1] = view:quantile(q) end
    for step = 1, 10 do all[#all + 1] = view:passed(step) end
    return table.concat({ view:min(), view:max(), view:behind(0), view:behind(3), view:passed(4.5),
      table.concat(all, ",") }, " ")
  end
  equal(seen(steps, helpers), "2 9 2 0 4 2,2,5,5,9,6,6,4,4,4,2,2,1,1,0")
  -- A sample of all but one that polls reads its members one by one: compare with a count by hand.
  seen(steps, function(view)
    for step = 0, 10 do
      local count = 0
      for i = 1, view.n do
        if view.steps[i] >= step then count = count + 1 end
      end
      equal(view:passed(step), count)
    end
    local sorted = {}
    for i = 1, view.n do sorted[i] = view.steps[i] end
    table.sort(sorted)
    equal(#sorted, 5)
    equal(view:min(), sorted[1])
    equal(view:max(), sorted[5])
    equal(view:quantile(0.6), sorted[3])
    return true
  end, function(rule) return barrier.sample(5, rule) end)
end)

test("with nobody seen the smallest clock is infinite", function()
  seen({ 1, 2 }, function(view)
    equal(view:min(), math.huge)
    equal(view:max(), -math.huge)
    equal(view:quantile(0.5), math.huge)
    equal(view:passed(1), 0)
    equal(view:behind(0), 0)
    equal(view.n, 0)
    equal(view.population, 2)
    return true
  end, function(rule) return barrier.sample(0, rule) end)
end)

test("a wrong index or field of a view is an error that says what there is", function()
  seen({ 1, 2, 3 }, function(view)
    raises(function() return view.steps[4] end, "view%.steps%[4%] is out of range: 3 workers are seen")
    raises(function() return view.busy[0] end, "view%.busy%[0%] is out of range")
    raises(function() return view.alive[1.5] end, "view%.alive%[1%.5%] is out of range")
    raises(function() return view.pulled[0 / 0] end, "view%.pulled%[%-?nan%] is out of range")
    raises(function() return view.durations.mean end, "view%.durations has no field 'mean'")
    raises(function() view.steps[1] = 0 end, "cannot be changed")
    raises(function() return view.stepz end, "a view has no field 'stepz' %(it has .*steps.*%)")
    raises(function() view.mine = 1 end, "a view has no field 'mine'; what a rule remembers goes into view.memory")
    return true
  end)
end)

test("a view that a rule has kept cannot be used later", function()
  local kept, sampled
  local sampling = barrier.sample(1, function(view)
    sampled = view
    return true
  end)
  passing(function(view)
    kept = view
    return sampling(view)
  end, { 1, 2 }, { 0 })
  for _, view in ipairs { kept, sampled } do
    raises(function() return view.steps[1] end, "a view can be used only while its rule runs")
    raises(function() return view:behind(1) end, "only while its rule runs")
    raises(function() return view:passed(1) end, "only while its rule runs")
    raises(function() return view:quantile(0.5) end, "only while its rule runs")
    raises(function() return sampling(view) end, "only while its rule runs")
  end
end)

test("memory is the asker's own and lasts until it passes", function()
  local progress = cluster({ 1, 1 }, { 0, 1 })
  local counts = {}
  local evaluator = barrier.evaluator(function(view)
    view.memory.count = (view.memory.count or 0) + 1
    counts[view.id] = view.memory.count
    return view.id == 0 and view.memory.count == 3
  end)
  for now = 1, 3 do
    progress:suspect(1, now % 2 == 1) -- anything that makes the gate ask again
    evaluator:poll(progress, now)
  end
  equal(counts[0], 3)
  equal(counts[1], 3)
  progress:ask(0, 4)
  evaluator:poll(progress, 4)
  equal(counts[0], 1)
  equal(counts[1], 3)
end)

test("a worker's random numbers are its own and hang on the seed only", function()
  local function draws(asks, seed)
    local drawn = {}
    barrier.evaluator(function(view)
      drawn[view.id] = view.rng:below(2 ^ 40)
      return true
    end, seed):poll(cluster({ 0, 0, 0 }, asks), 0)
    return drawn
  end
  local one, other, third = draws({ 0, 1, 2 }, 5), draws({ 2, 0, 1 }, 5), draws({ 0, 1, 2 }, 6)
  for id = 0, 2 do
    equal(one[id], other[id])
    equal(one[id] ~= third[id], true)
  end
  equal(one[0] ~= one[1], true)
end)

-- --- sampling ---

test("sample composes with any rule, and a sample of a sample is drawn from it", function()
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

-- Whom worker 0 of `n` sees at each completion of worker 1, as texts.
local function samples(rule_of, n, rounds, change)
  local progress = barrier.progress()
  for id = 0, n - 1 do
    progress:add(id, 0)
    progress:pulled(id, id)
  end
  progress:ask(0, 0)
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

test("sticky keeps its sample, but for members that leave", function()
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

test("poll looks at a fresh sample every so many seconds, whatever happens in between", function()
  local progress = cluster({ 1, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, { 0 })
  local looks = {}
  local evaluator = barrier.evaluator(barrier.sample(3, function(view)
    looks[#looks + 1] = view.now
    return false
  end, { resample = { poll = 0.5 } }))
  for now = 0, 2, 0.125 do
    progress:complete(1, now)
    evaluator:poll(progress, now)
    equal(progress:next_time(), math.floor(now / 0.5) * 0.5 + 0.5)
  end
  equal(table.concat(looks, " "), "0 0.5 1 1.5 2")
end)

-- --- evaluators ---

test("a rule can be swapped while workers wait", function()
  local progress = cluster({ 3, 1 }, { 0 })
  local evaluator = barrier.evaluator("bsp")
  equal(#evaluator:poll(progress, 0), 0)
  evaluator:set(barrier.ssp(2))
  equal(evaluator.rule.name, "ssp(2)")
  equal(evaluator:poll(progress, 0)[1], 0)
end)

test("a rule that fails is named with its place", function()
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

test("an evaluator serves one progress", function()
  local evaluator = barrier.evaluator("asp")
  evaluator:poll(cluster({ 0 }, { 0 }), 0)
  raises(function() evaluator:poll(cluster({ 0 }, { 0 }), 0) end, "serves one progress")
end)

test("wrong parameters are refused at the caller's line", function()
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

-- --- text ---

test("texts name rules with their parameters and policy", function()
  local function named(text, name, resample)
    local rule = barrier.from(text)
    equal(rule.name, name)
    equal(type(rule.resample) == "table" and "poll:" .. rule.resample.poll or rule.resample, resample)
  end
  named("bsp", "bsp")
  named("asp", "asp")
  named("ssp:4", "ssp(4)")
  named("pbsp:10", "pbsp(10)", "event")
  named("pssp:10:4", "pssp(10, 4)", "event")
  named("pbsp:10@sticky", "pbsp(10)", "sticky")
  named("pssp:10:4@poll:0.5", "pssp(10, 4)", "poll:0.5")
  named("quorum:0.8", "quorum(0.8, 0)")
  named("quorum:0.8:1", "quorum(0.8, 1)")
  named("backup:2", "backup(2)")
  equal(barrier.from("pbsp:3", { resample = "sticky" }).resample, "sticky")
  equal(barrier.from("pbsp:3@event", { resample = "sticky" }).resample, "event")
  equal(barrier.from("ssp:3", { resample = "sticky" }).resample, nil)
  local rule = barrier.ssp(2)
  equal(rawequal(barrier.from(rule), rule), true)
end)

test("a text that names no rule is refused with what there is", function()
  local function refused(text, pattern)
    raises(function() barrier.from(text) end, pattern)
  end
  refused("pspb:3", "there is no rule 'pspb'; did you mean pbsp%?")
  refused("BSP", "did you mean bsp%?")
  refused("nonsense", "there is no rule 'nonsense' %(known: asp, backup:K, bsp, pbsp:BETA, pssp:BETA:S, " ..
    "quorum:FRACTION%[:S%], ssp:S, or a file")
  refused("", "there is no rule ''")
  refused("ssp", "0 parameters are given; it is written ssp:S")
  refused("bsp:1", "1 parameter is given; it is written bsp")
  refused("pssp:1:2:3", "3 parameters are given; it is written pssp:BETA:S")
  refused("ssp:-1", "s has to be a whole number of at least 0, not '%-1'")
  refused("ssp:nan", "not 'nan'")
  refused("ssp:1.5", "not '1.5'")
  refused("ssp:", "not ''")
  refused("pbsp:inf", "not 'inf'")
  refused("quorum:2", "fraction has to be a number from 0 to 1")
  refused("ssp:4@sticky", "ssp does not sample, so it takes no @sticky")
  refused("pbsp:4@often", "resampling 'often' is none of event, sticky, poll:SECONDS")
  refused("pbsp:4@poll:-1", "resampling 'poll:%-1'")
  raises(function() barrier.from("pbsp:4", { resample = "often" }) end, "%-%-resample often.*resampling 'often'")
  raises(function() barrier.from(3) end, "bad argument 'rule' to barrier.from: expected a rule or a function")
end)

-- --- files ---

-- A loader over a table of files.
local function loader(files)
  return function(path)
    if not files[path] then return nil, path .. ": No such file" end
    return files[path], "@" .. path
  end
end

local files = {
  ["one.lua"] = "return function(view) return view:behind(1) == 0 end",
  ["table.lua"] = "local b = require 'actor.barrier'\n" ..
    "return {halfway = function(view) return view:quantile(0.5) >= view.step end, tight = b.ssp(1), version = 3}",
  ["lone.lua"] = "return {only = function() return true end}",
  ["nothing.lua"] = "local x = 1",
  ["number.lua"] = "return 3",
  ["empty.lua"] = "return {}",
  ["syntax.lua"] = "return function(view",
  ["raises.lua"] = "error('not today')",
  ["sub/dir.x/rule.lua"] = "return function() return true end",
}

local function from_file(text)
  return barrier.from(text, { load = loader(files) })
end

test("a file returns a rule or a table of named rules", function()
  local one = from_file("one.lua")
  equal(one.name, "one.lua")
  equal(one.where, "one.lua:1")
  equal(passing(one, { 3, 2, 4 }, { 0, 2 }), "0")
  local halfway = from_file("table.lua:halfway")
  equal(halfway.name, "table.lua:halfway")
  equal(passing(halfway, { 3, 3, 1, 1, 3 }, { 0 }), "0")
  equal(from_file("table.lua:tight").name, "ssp(1)")
  equal(from_file("lone.lua").name, "lone.lua:only")
  equal(from_file("sub/dir.x/rule.lua").name, "sub/dir.x/rule.lua")
  equal(passing(barrier.sample(2, one), { 0, 0, 0 }, { 0 }), "0")
end)

test("a file that gives no rule is refused with the reason", function()
  local function refused(text, pattern)
    raises(function() from_file(text) end, pattern)
  end
  refused("absent.lua", "barrier 'absent.lua': cannot be read: absent.lua: No such file")
  refused("syntax.lua", "barrier 'syntax.lua': syntax.lua:1:")
  refused("raises.lua", "barrier 'raises.lua': raises.lua:1: not today")
  refused("nothing.lua", "has to return a rule or a table of named rules, not nothing")
  refused("number.lua", "not number")
  refused("empty.lua", "has no rule in it")
  refused("table.lua", "has several rules, name one of them as table.lua:NAME %(halfway, tight%)")
  refused("table.lua:halfwy", "table.lua has no rule 'halfwy'; did you mean halfway%? %(it has halfway, tight%)")
  refused("table.lua:version", "table.lua has no rule 'version'")
  refused("one.lua:other", "returns one rule, which has no name")
end)

test("the module's loader is what reads files when none is given", function()
  local before = barrier.loader
  barrier.loader = loader(files)
  local rule = barrier.from("one.lua")
  barrier.loader = before
  equal(rule.name, "one.lua")
  raises(function() barrier.from("no/such/rule.lua") end, "cannot be read: no/such/rule.lua")
end)
