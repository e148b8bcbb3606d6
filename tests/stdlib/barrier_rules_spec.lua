--- The defining property of each of the newer rules of actor.barrier, on clusters with known speeds.
local barrier = require("actor.barrier")
local rules = require("actor.barrier.rule")
local passing = require("barrier_cluster").passing
local worlds = require("barrier_world")

-- Steps of all workers, their wait in seconds, and the mean and the greatest lead over the slowest worker at an
-- admission.
local function measured(rule, seconds, horizon, n)
  local leads, passes, most = 0, 0, 0
  local world = worlds.run(rule, seconds, horizon, n, function(_, lead)
    leads, passes, most = leads + lead, passes + 1, math.max(most, lead)
  end)
  local steps = 0
  for _, id in ipairs(world:ids()) do steps = steps + world:step(id) end
  return { steps = steps, wait = world:total_wait(), lead = leads / passes, most = most, world = world }
end

local function exponential(_, _, random) return 1 + random:exponential() end

local function three_speeds(id, _, random) return (1 + id % 3) * (0.7 + 0.6 * random:uniform()) end

-- --- ksync and backup ---

test("ksync admits when k workers, or all of fewer than k, have completed the step", function()
  equal(passing(barrier.ksync(2), { 5, 5, 4, 1 }, { 0 }), "0")
  equal(passing(barrier.ksync(3), { 5, 5, 4, 1 }, { 0 }), "")
  equal(passing(barrier.ksync(9), { 5, 5, 5, 5 }, { 0 }), "0")
  equal(passing(barrier.ksync(9), { 5, 5, 5, 4 }, { 0, 3 }), "3")
end)

test("under ksync at most n - k workers are behind an admitted worker, as under backup(n - k) of n", function()
  local n, k = 7, 4
  local world = worlds.new(barrier.ksync(k), three_speeds)
  world.on_pass = function(_, _, step)
    local behind = 0
    for _, id in ipairs(world:ids()) do
      if world:step(id) < step then behind = behind + 1 end
    end
    holds(behind, "<=", n - k)
  end
  for id = 0, n - 1 do world:join(id) end
  world:run(200)
  local same = worlds.run(barrier.backup(n - k), three_speeds, 200, n)
  equal(world.log, same.log)
  holds(world.passes, ">", 500)
end)

-- --- partial ---

-- Four workers finish at 1, 2, 3 and 3.5, a fifth much later.
local function arrivals(id, step)
  if step > 0 then return 1000 end
  return ({ 1, 2, 3, 3.5, 50 })[id + 1]
end

-- The time of each worker's admission after its first step.
local function departures(rule, seconds, n)
  local times, world = {}, worlds.new(rule, seconds)
  world.on_pass = function(id, _, step)
    if step == 1 then times[id + 1] = world.now end
  end
  for id = 0, n - 1 do world:join(id) end
  world:run(100)
  return times
end

test("partial opens at the knee of the arrivals and stays open for later arrivals", function()
  -- Gaps 1, 1, 0.5: mean 1, 1, 0.875; deviation 0.5, 0.375, 0.40625.
  local knee = 3.5 + 0.875 + 4 * 0.40625
  local times = departures(barrier.partial(0.6), arrivals, 5)
  for i = 1, 4 do near(times[i], knee, 1e-3) end
  near(times[5], 50)
  near(departures(barrier.partial(0.6, 1), arrivals, 5)[1], 3.5 + 0.875 + 0.40625, 1e-3)
end)

test("partial waits for its fraction, however long no worker arrives", function()
  local times = departures(barrier.partial(1), arrivals, 5)
  for i = 1, 5 do near(times[i], 50) end
  times = departures(barrier.partial(0.9), arrivals, 5)
  for i = 1, 4 do near(times[i], 50) end
end)

-- --- dssp ---

-- Whether the rule admits a fast worker, `lead` steps ahead, at time `now`. A step of the fast worker takes a second;
-- the slow worker began its second step at 0, and its steps take `slow` seconds.
local function lead_at(now, lead, slow, rule)
  local progress = barrier.progress()
  progress:add(0, 10)
  progress:add(1, 10 - lead)
  progress:start(1, -slow)
  progress:complete(1, 0)
  progress:start(1, 0)
  progress:start(0, now - 1)
  progress:complete(0, now)
  progress:request(0, now)
  return #barrier.evaluator(rule):poll(progress, now) == 1
end

test("dssp admits when further steps would end nearer to a finish of the slowest worker", function()
  local rule = barrier.dssp { lower = 2, upper = 6 }
  -- After `complete` both workers are a step further, so the leads are the given leads.
  equal(lead_at(5, 2, 100, rule), true) -- within lower: independent of the times
  equal(lead_at(5, 3, 8, rule), true) -- three steps end at 8, together with the slow worker
  equal(lead_at(7.9, 3, 8, rule), false) -- stopping now costs 0.1; the next finish is at 16, too far ahead
  equal(lead_at(7.9, 3, 2, rule), false)
  equal(lead_at(6.6, 3, 8, rule), true) -- one more step costs 0.4 instead of 1.4
  equal(lead_at(5, 7, 8, rule), false) -- never above upper
end)

test("dssp equals ssp(lower) until it has measured steps", function()
  local rule = barrier.dssp { lower = 1, upper = 6 }
  equal(passing(rule, { 3, 2, 2 }, { 0 }), "0")
  equal(passing(rule, { 4, 2, 2 }, { 0 }), "")
end)

test("dssp's threshold is in its range: less waiting than under ssp(lower), less lead than under ssp(upper)", function()
  for _, seconds in ipairs { exponential, three_speeds } do
    local dssp = measured("dssp:1:6", seconds, 300, 9)
    local strict, loose = measured("ssp:1", seconds, 300, 9), measured("ssp:6", seconds, 300, 9)
    holds(dssp.most, ">", 1)
    holds(dssp.most, "<=", 6)
    holds(dssp.wait, "<", 0.99 * strict.wait)
    holds(dssp.steps, ">", strict.steps)
    holds(dssp.lead, "<", 0.7 * loose.lead)
    holds(dssp.wait, ">", loose.wait) -- no threshold in the range waits less than upper itself
  end
  equal(measured("dssp:3:3", three_speeds, 100, 9).world.log, measured("ssp:3", three_speeds, 100, 9).world.log)
end)

-- --- assp ---

test("assp's bound is the step difference between the fastest and the slowest worker, within its range", function()
  equal(measured("assp:0:9", { 1, 1, 1 }, 100).most, 0)
  equal(measured("assp:0:9", { 1, 1, 4 }, 100).most, 3)
  equal(measured("assp:0:2", { 1, 1, 4 }, 100).most, 2)
  holds(measured("assp:1:9", { 1, 1, 1 }, 100).most, "<=", 1)
end)

test("assp's bound narrows again when the slow worker becomes fast", function()
  local most, world = 0, nil
  local function recovering(id, step) return id == 2 and step < 10 and 4 or 1 end
  world = worlds.new("assp:0:9", recovering)
  world.on_pass = function(_, lead)
    if world.now > 80 then most = math.max(most, lead) end
  end
  for id = 0, 2 do world:join(id) end
  world:run(120)
  equal(most, 0)
end)

-- --- elastic ---

test("elastic places barriers where all workers finish together", function()
  -- After the first steps, three steps of the fast workers end together with one step of three seconds.
  local world = measured("elastic:6", { 1, 1, 3 }, 300).world
  equal(world:step(2), 100)
  holds(world:step(0), ">=", 295)
  holds(world:total_wait(), "<=", 10)
  equal(measured("elastic:6", { 2, 2, 2 }, 100).wait, 0)
end)

test("elastic waits less than bsp, and its lookahead limits a worker's steps between two barriers", function()
  for _, seconds in ipairs { exponential, three_speeds, { 1, 2.7, 1.4 } } do
    local n = type(seconds) == "table" and #seconds or 9
    local bsp, elastic = measured("bsp", seconds, 300, n), measured("elastic:4", seconds, 300, n)
    holds(elastic.wait / elastic.steps, "<", bsp.wait / bsp.steps)
    holds(elastic.steps, ">", bsp.steps)
  end
  local world = worlds.run("elastic:4", { 1, 100 }, 1000)
  holds(world:step(0), "<=", 4 * (world:step(1) + 1))
end)

test("under elastic a late joiner waits until the next barrier at most", function()
  local world = worlds.run("elastic:4", { 1, 2, 1, 2, 1 }, 20, 4)
  world:join(4)
  local joined, longest = world:step(4), 0
  world.on_pass = function(id)
    if id == 4 then longest = math.max(longest, world.now - world.requested_at[4]) end
  end
  world:run(60)
  holds(longest, "<=", 8) -- four steps of the slowest worker
  holds(world:step(4), ">=", joined + 10)
end)

test("under elastic a steady stream of joining workers does not postpone the barrier for ever", function()
  local world = worlds.new("elastic:4", function(id) return id < 2 and 1 or 3 end)
  for id = 0, 1 do world:join(id) end
  world:run(5)
  local before = world:step(0)
  for id = 2, 120 do -- each leaves before its first step ends, and a new worker is always there
    world:join(id)
    world:run(5 + (id - 1) * 0.5)
    if id > 6 then world:leave(id - 5) end
  end
  holds(world:step(0), ">=", before + 12)
end)

-- A rule that counts its evaluations. As a plain function it is evaluated at each event.
local function counted(spec, as_function)
  local inner, count = barrier.from(spec), { evaluations = 0 }
  local function run(view)
    count.evaluations = count.evaluations + 1
    return inner(view)
  end
  return as_function and run or rules.new { name = "counted", watches = inner.watches, run = run }, count
end

test("elastic makes the same decisions as an evaluation of all workers at each event", function()
  for _, spec in ipairs { "elastic:4", "delay_bounded:2.5:elastic:3" } do
    for _, seconds in ipairs { exponential, three_speeds } do
      local rule, few = counted(spec, false)
      local always, all = counted(spec, true)
      local logs = {}
      for i, each in ipairs { rule, always } do
        local world = worlds.new(each, seconds, 5)
        for id = 0, 11 do world:join(id) end
        world:run(40)
        world:leave(3)
        world:join(12)
        world:run(80)
        logs[i] = world.log
      end
      equal(logs[1], logs[2], spec)
      holds(few.evaluations, "<", 0.6 * all.evaluations, ("%d of %d"):format(few.evaluations, all.evaluations))
    end
  end
end)

test("elastic evaluates a waiting worker about log(n) times between barriers, also if workers arrive by id", function()
  local n = 300
  for name, seconds in pairs {
    ascending = function(id) return 1 + id / n end, descending = function(id) return 2 - id / n end,
    rotating = function(id, step) return 1 + (id + step) % n / n end, -- the last worker of a round is the next first
    random = exponential,
  } do
    local rule, count = counted("elastic:1")
    local world = worlds.run(rule, seconds, 21, n)
    local per_step = count.evaluations / world.passes
    holds(per_step, "<", 3 * math.log(n) / math.log(2), ("%s: %.1f a step"):format(name, per_step))
  end
end)

test("a result that names no valid worker or step is an error", function()
  local function naming(...)
    local values = { ... }
    return rules.new { name = "odd", watches = "worker", run = function() return false, nil, values[1], values[2] end }
  end
  for _, wrong in ipairs { { "x", 1 }, { 1, 0 }, { -1, 2 }, { 1 }, { 1, 2 ^ 31 }, { 2 ^ 32, 1 } } do
    raises(function() worlds.run(naming(unpack(wrong)), { 1, 2 }, 5) end, "returned false and named worker .* at step")
  end
end)

-- --- gssp ---

test("under gssp two workers of very different speed do not wait for each other", function()
  for _, ahead in ipairs { 0, 1 } do
    local progress = barrier.progress()
    for id = 0, 1 do
      progress:add(id, id == ahead and 9 or 1)
      progress:start(id, 0)
      progress:complete(id, id == 0 and 1 or 4)
    end
    progress:request(ahead, 5)
    equal(#barrier.evaluator("gssp:1"):poll(progress, 5), 1)
    equal(#barrier.evaluator("gssp:1:5"):poll(progress, 5), 0)
    equal(#barrier.evaluator("gssp:1:2:6"):poll(progress, 5), 0)
  end
end)

test("gssp keeps each group of similar speed within s, and the groups within between", function()
  local seconds = { 1, 1.2, 0.9, 4, 5, 4.4 }
  local function spreads(rule)
    local fast, all = 0, 0
    local world
    world = worlds.new(rule, function(id) return seconds[id + 1] end)
    world.on_pass = function(id, lead, step)
      if step < 3 then return end -- not yet measured
      if id < 3 then
        fast = math.max(fast, step - math.min(world:step(0), world:step(1), world:step(2)))
      end
      all = math.max(all, lead)
    end
    for id = 0, 5 do world:join(id) end
    world:run(200)
    return fast, all, world
  end
  local fast, all, world = spreads("gssp:1")
  equal(fast, 1)
  holds(all, ">", 100)
  holds(world:step(0), ">=", 160) -- at the pace of its group, 1.2 s
  fast, all = spreads("gssp:1:2:5")
  holds(fast, "<=", 1)
  equal(all, 5)
end)

-- --- awpsp ---

-- The share of rounds in which worker 0, which is ahead, is admitted with a sample of one. Worker 1 is suspected if
-- `down(round)`.
local function passes_of(down)
  local progress = barrier.progress()
  progress:add(0, 1)
  progress:add(1, 0)
  progress:add(2, 1)
  progress:add(3, 1)
  local evaluator = barrier.evaluator("awpsp:1")
  local passed, rounds = 0, 3000
  for now = 1, rounds do
    progress:suspect(1, down(now))
    progress:complete(3, now) -- an event, which evaluates the waiting workers again
    progress:request(0, now)
    passed = passed + #evaluator:poll(progress, now)
  end
  return passed / rounds
end

test("awpsp draws equally from all available workers, and seldom a worker that was down for long", function()
  near(passes_of(function() return false end), 3 / 4, 0.05)
  holds(passes_of(function() return true end), ">", 0.97)
end)

test("awpsp's sample is drawn without replacement", function()
  local function chance(beta, steps)
    local passed, rounds = 0, 4000
    for seed = 1, rounds do
      if passing(barrier.awpsp(beta), steps, { 0 }, seed) == "0" then passed = passed + 1 end
    end
    return passed / rounds
  end
  near(chance(2, { 1, 1, 1, 1, 1, 1, 1, 0, 0, 0 }), 7 * 6 / (10 * 9), 0.03)
  near(chance(6, { 1, 1, 1, 1, 1, 1, 1, 1, 0, 0 }), 4 * 3 / (10 * 9), 0.03) -- both are among the 4 not drawn
end)

test("awpsp draws a briefly suspected worker more often than a worker that was down for long", function()
  local blinking = passes_of(function(now) return now % 2 == 0 end)
  local long_absent = passes_of(function(now) return now > 100 end)
  holds(blinking, "<", long_absent - 0.02, ("%g against %g"):format(blinking, long_absent))
end)

test("awpsp with a sample of all workers equals ssp", function()
  equal(measured("awpsp:9:2", three_speeds, 100, 9).world.log, measured("ssp:2", three_speeds, 100, 9).world.log)
end)

-- --- sync_switch and delay_bounded ---

test("sync_switch is bsp for the first steps and asp afterwards", function()
  local most, world = {}, nil
  world = worlds.new("sync_switch:10", { 1 })
  world.duration = function(id) return id == 0 and 1 or 3 end
  world.on_pass = function(_, lead, step) most[step] = math.max(most[step] or 0, lead) end
  for id = 0, 2 do world:join(id) end
  world:run(100)
  for step = 0, 9 do equal(most[step], 0) end
  equal(world:step(0), 82) -- the 10th step begins at 27, then one step a second
  near(world:step(1), 33, 1)
end)

test("grace lets a round's workers go on together, at most its seconds after the first", function()
  -- Steps of 1, 1.2 and 10 s: workers 0 and 1 go on together 0.5 s after worker 0 has ended its step.
  local world = worlds.run("grace:0.5", { 1, 1.2, 10.1 }, 3.5)
  equal(world.log, {
    "0.000000 0 0", "0.000000 1 0", "0.000000 2 0", "1.500000 0 1", "1.500000 1 1", "3.000000 0 2", "3.000000 1 2",
  })
  world:run(11)
  matches(table.concat(world.log, ","), "10.100000 2 1", true) -- late, so it does not wait
  equal(worlds.run("grace:0.5", { 1, 1.2 }, 1.3).log[3], "1.200000 0 1") -- all have completed the step
end)

test("no worker waits longer than the limit of delay_bounded", function()
  local world = worlds.new("delay_bounded:2:bsp", function(id) return id == 0 and 10 or 1 end)
  local longest = 0
  world.on_pass = function(id) longest = math.max(longest, world.now - world.requested_at[id]) end
  for id = 0, 2 do world:join(id) end
  world:run(100)
  near(longest, 2, 1e-3)
  near(world:step(1), 33, 1)
end)
