--- Advice about the rules of a recorded run: the replay, the search and its results. The traces are of simulated runs.
local sim = require("actor.sim")
local barrier = require("actor.barrier")
local merge = require("actor.merge")
local candidates = require("actor.sim.candidates")
local rng = require("actor.rng")
local without_jit = not jit.status()
local with_file = require("text_file").with

-- The text of a trace, from the events of a simulated run.
local function text_of(result, rule)
  local lines = { "# actorhost trace 1", "# barrier=" .. rule, "# merge=all", "event,id,step,time,released,compute", "run,1,,0.0,," }
  local trace, released, started, work = result.trace, {}, {}, {}
  for i, event in ipairs(trace.event) do
    local id, step, time = trace.id[i], trace.step[i], trace.time[i]
    if event == "join" then
      lines[#lines + 1] = ("join,%d,%d,%.9f,,"):format(id, step, time)
    elseif event == "release" then
      released[id] = time
    elseif event == "start" then
      started[id] = time
    elseif event == "finish" then
      work[id] = time - started[id]
    elseif event == "apply" then
      lines[#lines + 1] = ("step,%d,%d,%.9f,%.9f,%.9f"):format(id, step, time, released[id], work[id])
    end
  end
  lines[#lines + 1] = ("stop,,,%.9f,,\n"):format(result.ended)
  return table.concat(lines, "\n")
end

local function with_trace(options, use)
  options.trace = true
  with_file(text_of(sim.run(options), options.barrier), use)
end

test("a shifted replay has the workers of the recording's end, and begins at that share of the recorded time", function()
  local lines = { "# actorhost trace 1", "event,id,step,time,released,compute", "run,1,,0.0,,", "join,0,0,0.0,,", "join,1,0,0.0,," }
  for k = 1, 4 do lines[#lines + 1] = ("step,0,%d,%d.0,%d.0,0.%d"):format(k, k, k - 1, k) end
  lines[#lines + 1] = "leave,1,0,4.0,,\nstop,,,4.0,,\n"
  with_file(table.concat(lines, "\n"), function(path)
    local run = sim.replay.load(path)
    equal(sim.replay.nodes(run)[1].work, { 0.1, 0.2, 0.3, 0.4 })
    for shift, work in pairs { [0] = { 0.1, 0.2, 0.3, 0.4 }, [0.5] = { 0.3, 0.4, 0.1, 0.2 }, [1] = { 0.4, 0.1, 0.2, 0.3 } } do
      local nodes = sim.replay.nodes(run, shift)
      equal(#nodes, 1) -- worker 1 has left
      equal({ nodes[1].work, nodes.period }, { work, nil })
      for k = 1, 4 do near(nodes[1].work[k] + nodes[1].network[k], 1) end
    end
  end)
end)

-- The lines of a run of 60 s with four workers, whose k-th step from a time takes seconds_of(random, time).
local function recording(seconds_of, seed)
  local lines = { "# actorhost trace 1", "event,id,step,time,released,compute", "run,1,,0.0,," }
  for id = 0, 3 do lines[#lines + 1] = ("join,%d,0,0.0,,"):format(id) end
  local steps = {}
  for id = 0, 3 do
    local random, time, step = rng(seed, id), 0, 0
    while true do
      local seconds = seconds_of(random, time)
      step, time = step + 1, time + seconds
      if time > 60 then break end
      steps[#steps + 1] = { time, ("step,%d,%d,%.9f,%.9f,%.9f"):format(id, step, time, time - seconds, seconds) }
    end
  end
  table.sort(steps, function(a, b) return a[1] < b[1] end)
  for _, step in ipairs(steps) do lines[#lines + 1] = step[2] end
  lines[#lines + 1] = "stop,,,60.0,,\n"
  return table.concat(lines, "\n")
end

test("slow phases are found, and random steps are none", function()
  local function of(seconds_of)
    local found = 0
    for seed = 1, 40 do
      with_file(recording(seconds_of, seed), function(path)
        local nodes = sim.replay.nodes(sim.replay.load(path), 0.5)
        if nodes.period then
          equal({ nodes.period, nodes.offset }, { 60, 30 })
          found = found + 1
        end
      end)
    end
    return found
  end
  equal(of(function(random) return 0.4 + random:gamma(1, 0.1) end), 0)
  equal(of(function(random) return 0.01 + random:exponential(0.5) end), 0)
  equal(of(function(random) return math.min(50, 0.2 * random:uniform() ^ (-1 / 1.5)) end), 0)
  equal(of(function(random, time) return (time % 30 < 15 and 5 or 0.8) * (0.4 + random:gamma(1, 0.1)) end), 40)
end)

test("every rule of the libraries is compared with values of its parameters that are valid", function()
  for workers = 1, 64 do
    local found = {}
    for _, spec in ipairs(candidates.barriers(workers, 0.7)) do found[barrier.from(spec).name:match("^[%w_]+")] = true end
    for _, spec in ipairs(candidates.merges(workers, { robust = true, optimisers = true })) do found[merge.from(spec).name:match("^[%w_]+")] = true end
    if workers >= 8 then
      found.fedasync = true -- its pushes are models
      for _, library in ipairs { barrier, merge } do
        for _, rule in ipairs(library.list()) do assert(found[rule.name], rule.name) end
      end
    end
  end
  for _, spec in ipairs(candidates.merges(8, {})) do assert(not spec:find("median") and not spec:find("heloco"), spec) end
end)

test("with a straggler advice replaces bsp, and the factor is that of runs with equal seeds", function()
  with_trace({ barrier = "bsp", nodes = 8, time = 40, work = "0.8+exp(0.2)", straggler = "0.125:6x", seed = 3 }, function(path)
    local report = sim.advise.run { replay = path, train = "linear rate=0.03", seeds = 4 }
    local best = report.ranked[1]
    equal(report.recorded.barrier, "bsp")
    equal(report.workers, 8)
    equal(report.refused, {})
    holds(report.recorded.seconds.mean, ">", 2 * best.seconds.mean)
    holds(best.factor.low, ">", 1)
    local product = 1
    for k = 1, 4 do product = product * report.recorded.times[k] / best.times[k] end
    near(best.factor.mean, product ^ (1 / 4), 1e-9)
    near(report.recorded.factor.mean, 1)
    equal(#report.ranked, 11)
    holds(report.compared, ">", 100)
    for i = 2, #report.ranked do
      assert(report.ranked[i - 1].reached >= report.ranked[i].reached)
    end
    -- The same seed gives the same report.
    local again = not without_jit and sim.advise.run { replay = path, train = "linear rate=0.03", seeds = 4 } or report
    for i, one in ipairs(report.ranked) do equal(again.ranked[i].times, one.times) end
  end)
end)

test("one worker, and a target of accuracy or loss", function()
  with_trace({ barrier = "asp", nodes = 1, time = 40, work = "const(0.1)" }, function(path)
    local report = sim.advise.run { replay = path, train = "linear rate=0.05", target = { name = "loss", value = 1 }, seeds = 2 }
    near(report.recorded.factor.mean, 1)
    equal(report.target, { name = "loss", value = 1 })
    raises(function()
      sim.advise.run { replay = path, train = "linear", target = { name = "accuracy", value = 1 } }
    end, "accuracy: the model 'linear' has no accuracy")
  end)
end)

test("advice about an unusable recording or model names the remedy", function()
  with_trace({ barrier = "asp", nodes = 4, time = 30 }, function(path)
    raises(function() sim.advise.run { replay = path, target = { name = "loss", value = 0.001 } } end, "under no rule the loss reaches 0.001")
    raises(function() sim.advise.run { replay = path, train = "linear rate=5" } end, "does not learn under the recorded rules")
    raises(function() sim.advise.run { replay = path, train = "linear merge=drop:1" } end, "leave out merge= and points=")
    raises(function() sim.advise.run { replay = path, train = "lineal" } end, "there is no model 'lineal'")
  end)
  with_file(text_of(sim.run { barrier = "asp", nodes = 2, time = 5, trace = true }, "mine"), function(path)
    raises(function() sim.advise.run { replay = path } end, "the recorded barrier rule 'mine' is not of the library")
    sim.advise.run { replay = path, barrier = "asp", seeds = 2, target = { name = "loss", value = 5 } }
  end)
  -- Rules that the job has made, by their names.
  local named = text_of(sim.run { barrier = "asp", nodes = 2, time = 5, trace = true }, "delay_bounded(2, ssp(4))")
  with_file((named:gsub("merge=all", "merge=drop(3)")), function(path)
    local run = sim.replay.load(path)
    equal(sim.replay.merge(run), "drop:3")
    equal(sim.replay.barrier(run), "delay_bounded:2:ssp:4")
  end)
end)
