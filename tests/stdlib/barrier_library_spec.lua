--- Properties of every rule of actor.barrier's library: its text, its description, and that workers never all wait.
local barrier = require("actor.barrier")
local worlds = require("barrier_world")

local listed, by_name = barrier.list(), {}
for _, row in ipairs(listed) do by_name[row.name] = row end

-- --- descriptions ---

test("the list has a line for each rule", function()
  holds(#listed, ">=", 17)
  equal(listed[1].name, "bsp")
  for _, row in ipairs(listed) do
    for _, field in ipairs { "name", "usage", "summary", "definition", "paper" } do
      equal(type(row[field]) == "string" and #row[field] > 0, true, row.name .. "." .. field)
    end
    equal(row.summary:find("\n"), nil, row.name)
    holds(#row.summary, "<=", 90, row.name .. "'s summary fits on a line")
  end
  equal(by_name.quorum.usage, "quorum:FRACTION[:S]")
  equal(by_name.pssp.usage, "pssp:BETA:S[@RESAMPLE]")
  equal(by_name.elastic.usage, "elastic[:LOOKAHEAD]")
end)

test("each rule is made by its constructor and by its example, under one name", function()
  local made = {
    bsp = barrier.bsp(), ssp = barrier.ssp(4), asp = barrier.asp(), pbsp = barrier.pbsp(10), pssp = barrier.pssp(10, 4),
    sample = barrier.sample(10, barrier.quorum(0.8)), quorum = barrier.quorum(0.8, 1), ksync = barrier.ksync(3),
    backup = barrier.backup(2), partial = barrier.partial(0.5, 4), grace = barrier.grace(0.5),
    delay_bounded = barrier.delay_bounded(0.5, barrier.bsp()),
    dssp = barrier.dssp { lower = 1, upper = 6 }, assp = barrier.assp { lower = 0, upper = 6 },
    elastic = barrier.elastic { lookahead = 6 }, gssp = barrier.gssp { s = 1, between = 8 }, awpsp = barrier.awpsp(10, 2),
    sync_switch = barrier.sync_switch(5),
  }
  for _, row in ipairs(listed) do
    local rule = barrier.from(row.example)
    equal(rule.name, made[row.name] and made[row.name].name, row.name)
    equal(rule.name:match("^[%w_]+"), row.name)
    equal(rule.staleness, made[row.name].staleness, row.name)
  end
  equal(barrier.from("elastic").name, "elastic(10)")
  equal(barrier.elastic().name, "elastic(10)")
  equal(barrier.from("gssp:3").name, "gssp(3, 2)")
  equal(barrier.from("partial:0.25").name, "partial(0.25, 4)")
end)

test("nested rules have texts, and an @policy applies to the innermost sampling rule", function()
  equal(barrier.from("delay_bounded:2:pssp:10:4@sticky").name, "delay_bounded(2, pssp(10, 4))")
  equal(barrier.from("sample:3:delay_bounded:1:ssp:2").name, "sample(3, delay_bounded(1, ssp(2)))")
  local rule = barrier.from("sample:10:quorum:0.8:1@poll:0.5")
  equal(rule.name, "sample(10, quorum(0.8, 1))")
  equal(rule.resample, { poll = 0.5 })
  equal(barrier.from("sample:10:pbsp:3@sticky").resample, "event")
  equal(barrier.from("sample:10:pbsp:3@sticky", { resample = "poll:2" }).resample, { poll = 2 })
  equal(barrier.from("sample:4:rule.lua:mine", { load = function() return "return {mine = function() return true end}" end }).name,
    "sample(4, rule.lua:mine)")
end)

test("rules that the C++ evaluator knows describe how it runs them", function()
  equal(barrier.bsp().native, { kind = "clock", staleness = 0 })
  equal(barrier.from("ssp:4").native, { kind = "clock", staleness = 4 })
  equal(barrier.asp().native, { kind = "free" })
  equal(barrier.pbsp(10).native, { kind = "sampled", beta = 10, staleness = 0, resample = "event" })
  equal(barrier.from("pssp:10:4@poll:0.5").native,
    { kind = "sampled", beta = 10, staleness = 4, resample = { poll = 0.5 } })
  equal(barrier.sample(10, barrier.ssp(4)).native, { kind = "sampled", beta = 10, staleness = 4, resample = "event" })
  for _, rule in ipairs {
    barrier.sample(10, function() return true end), barrier.sample(10, barrier.pbsp(3)), barrier.sample(3, barrier.asp()),
    barrier.delay_bounded(1, barrier.bsp()), barrier.quorum(1), barrier.backup(0), barrier.dssp { lower = 0, upper = 0 },
  } do
    equal(rule.native, nil, rule.name)
  end
end)

-- --- wrong parameters ---

test("wrong parameters of a constructor are errors at the caller's line", function()
  raises(function() barrier.ksync(0) end, "barrier_library_spec.lua:%d+: bad argument 'k' to barrier.ksync: .* from 1 to")
  raises(function() barrier.dssp { lower = 4, upper = 2 } end,
    "barrier_library_spec.lua:%d+: barrier.dssp: upper has to be at least lower, which is 4, not 2")
  raises(function() barrier.dssp { lower = 4 } end, "bad argument 'upper' to barrier.dssp: expected number, got nil")
  raises(function() barrier.dssp { lower = 4, uper = 7 } end, "unknown option 'uper' to barrier.dssp %(known: lower, upper%)")
  raises(function() barrier.dssp(1, 4) end, "to barrier.dssp: expected table, got number")
  raises(function() barrier.assp { lower = 4, upper = 2 } end, "barrier.assp: upper has to be at least lower")
  raises(function() barrier.elastic { lookahead = 0 } end, "bad argument 'lookahead' to barrier.elastic")
  raises(function() barrier.elastic { lookahead = 1e6 } end, "'lookahead' to barrier.elastic: .* from 1 to 1000")
  raises(function() barrier.gssp { s = 1, ratio = 0.5 } end, "bad argument 'ratio' to barrier.gssp: .* at least 1")
  raises(function() barrier.gssp { s = 4, between = 2 } end, "barrier.gssp: between has to be at least s")
  raises(function() barrier.partial(2) end, "bad argument 'fraction' to barrier.partial")
  raises(function() barrier.partial(0.5, -1) end, "bad argument 'knee' to barrier.partial")
  raises(function() barrier.awpsp() end, "bad argument 'beta' to barrier.awpsp")
  raises(function() barrier.sync_switch(1.5) end, "bad argument 'steps' to barrier.sync_switch")
end)

test("an error for a wrong parameter in a text names the parameter and its valid values", function()
  local function refused(text, pattern) raises(function() barrier.from(text) end, pattern) end
  refused("ksync:0", "barrier 'ksync:0': k has to be a whole number of at least 1, not '0'")
  refused("dssp:4:2", "barrier 'dssp:4:2': upper has to be at least lower, which is 4, not 2")
  refused("dssp:4", "1 parameter is given; it is written dssp:LOWER:UPPER")
  refused("elastic:0", "lookahead has to be a whole number from 1 to 1000, not '0'")
  refused("gssp:1:0.5", "ratio has to be a number of at least 1, not '0.5'")
  refused("gssp:1:2:3:4", "4 parameters are given; it is written gssp:S%[:RATIO%]%[:BETWEEN%]")
  refused("delay_bounded:2", "1 parameter is given; it is written delay_bounded:SECONDS:RULE")
  refused("delay_bounded:x:bsp", "seconds has to be a number of at least 0, not 'x'")
  refused("delay_bounded:2:", "there is no rule ''")
  refused("delay_bounded:2:spp:3", "barrier 'spp:3': there is no rule 'spp'; did you mean ssp%?")
  refused("delay_bounded:2:ssp:3@sticky", "ssp does not sample")
  refused("dsp:1:2", "did you mean dssp%?")
  refused("sync_swich:1", "did you mean sync_switch%?")
  refused("awpsp:4@sticky", "awpsp does not sample, so it takes no @sticky")
end)

-- --- every rule ---

-- One of a few speeds, with some noise; some steps take five times as long.
local function uneven(id, _, random)
  local slowness = random:below(20) == 0 and 5 or 1
  return (1 + id % 4) * slowness * (0.5 + random:uniform())
end

-- Workers join, leave and are suspected or restored at random while the others work. Afterwards every worker must make
-- progress.
local function unrest(example, seed)
  local rule = barrier.from(example)
  local world = worlds.new(rule, uneven, seed)
  if rule.staleness then
    world.on_pass = function(_, lead)
      if lead > rule.staleness then error(("%s let a worker pass that was %d ahead"):format(rule.name, lead)) end
    end
  end
  local next_id = 0
  for time = 0, 120 do
    world:run(time)
    local what, ids = world.random:below(8), world:ids()
    local chosen = ids[#ids > 0 and world.random:below(#ids) + 1 or 1]
    if #ids < 3 or what < 2 then
      world:join(next_id)
      next_id = next_id + 1
    elseif what == 2 then
      world:leave(chosen)
    elseif what < 5 then
      world.progress:suspect(chosen, what == 3)
    end
  end
  local before = {}
  for _, id in ipairs(world:ids()) do before[id] = world:step(id) end
  world:run(400)
  for id, step in pairs(before) do
    if world:step(id) <= step then error(("worker %d stays at step %d under %s"):format(id, step, rule.name)) end
  end
  return table.concat(world.log, "\n")
end

for _, row in ipairs(listed) do
  test(row.name .. " keeps its bound and blocks no worker for ever under joins, departures and suspicions", function()
    for seed = 1, spec_mode == "normal" and 6 or 1 do unrest(row.example, scratch_seed * 100 + seed) end
  end)

  test(row.name .. " makes the same decisions for the same seed", function()
    equal(unrest(row.example, 9) == unrest(row.example, 9), true)
  end)

  test(row.name .. " never blocks a lone worker or a worker with an empty sample", function()
    local world = worlds.run(row.example, { 1 }, 50)
    equal(world:step(0), 50)
    equal(world:total_wait(), 0)
    world = worlds.run(barrier.sample(0, barrier.from(row.example)), { 1, 10 }, 50)
    equal(world:step(0), 50)
    equal(world:total_wait(), 0)
  end)

  test(row.name .. " works on samples of any size and policy", function()
    for _, policy in ipairs { "event", "sticky", "poll:0.7" } do
      for beta = 1, 5, spec_mode == "normal" and 2 or 4 do
        unrest(("sample:%d:delay_bounded:1e9:%s@%s"):format(beta, row.example:match("^[^@]*"), policy), beta)
      end
    end
  end)

  test(row.name .. " does not wait for a departed worker", function()
    local world = worlds.run(row.example, function(id) return id == 2 and 1e9 or 1 end, 20, 4)
    local before = world:step(0)
    world:leave(2)
    world:run(60)
    holds(world:step(0), ">=", before + 30)
  end)
end
