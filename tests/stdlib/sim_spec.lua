--- The simulator as a library: runs, sweeps, summaries and tables. tests/host/sim tests the core.
local sim = require("actor.sim")
local barrier = require("actor.barrier")
local grid = require("actor.sim.grid")
local text_file = require("text_file")

local function run(options)
  options.nodes, options.time = options.nodes or 30, options.time or 30
  options.seed = options.seed or scratch_seed
  return sim.run(options)
end

local function steps_of(options) return run(options).steps end

test("equal seeds give equal results, different seeds different results", function()
  equal(steps_of { barrier = "pbsp:3", seed = 5 }, steps_of { barrier = "pbsp:3", seed = 5 })
  equal(steps_of { barrier = "asp", seed = 5 } == steps_of { barrier = "asp", seed = 6 }, false)
end)

test("a strict barrier with constant work runs in lockstep", function()
  local result = run { barrier = "bsp", work = "const(2)", time = 21, nodes = 7 }
  equal({ result.mean_step, result.sd_step, result.min_step, result.max_step, result.updates }, { 11, 0, 11, 11, 70 })
  near(result.busy, 7 * 21)
  near(result.waiting, 0)
end)

test("the classic rules make the same decisions in Lua and in C++", function()
  for _, spec in ipairs { "bsp", "ssp:2", "asp", "pbsp:4@sticky", "pssp:4:1@sticky", "pbsp:4@poll:0.3", "pssp:3:2@poll:0.7" } do
    local native, lua = run { barrier = spec, straggler = "0.1:4x" }, run { barrier = spec, straggler = "0.1:4x", native = false }
    equal(lua.steps, native.steps, spec)
    equal(lua.waiting, native.waiting, spec)
    equal(lua.checks, native.checks, spec)
  end
end)

test("a user's function makes the same decisions as the equivalent rule", function()
  local mine = run { barrier = function(view) return view:min() >= view.step - 2 end }
  equal(mine.steps, steps_of { barrier = "ssp:2" })
end)

-- Other events than completed steps must not cause draws: messages in flight draw nothing again.
for _, topology in ipairs { "oracle", "server:3" } do
  test("a new draw at each event has the same mean result in C++ and in Lua: " .. topology, function()
    local native, lua, n = {}, {}, jit.status() and 12 or 4
    for seed = 1, n do
      local options = { barrier = "pbsp:4", seed = seed, topology = topology, delay = topology ~= "oracle" and "exp(0.1)" or nil }
      options.native = true
      native[seed] = run(options).mean_step
      options.native = false
      lua[seed] = run(options).mean_step
    end
    local a, b = sim.summary.mean(native), sim.summary.mean(lua)
    near(a.mean, b.mean, 4 * math.sqrt((a.sd ^ 2 + b.sd ^ 2) / n) + 0.05)
  end)
end

test("work does not depend on the barrier: asp starts at least as many steps as any other rule", function()
  local free = steps_of { barrier = "asp" }
  for _, spec in ipairs { "bsp", "ssp:1", "pbsp:3", "pssp:3:1", "quorum:0.5:1" } do
    for i, steps in ipairs(steps_of { barrier = spec }) do holds(steps, "<=", free[i], spec) end
  end
end)

test("errors name wrong options", function()
  raises(function() sim.run { barrier = "bsp", nods = 3 } end, "sim_spec.lua:%d+: unknown option 'nods' to sim.run")
  raises(function() sim.run {} end, "'barrier' to sim.run")
  raises(function() sim.run { barrier = "bsp", nodes = 0 } end, "nodes has to be from 1")
  raises(function() sim.run { barrier = "bsp", nodes = 1.5 } end, "whole number")
  raises(function() sim.run { barrier = "bsp", time = -1 } end, "time has to be a number of seconds above 0")
  raises(function() sim.run { barrier = "bsp", time = 0 / 0 } end, "time has to be")
  raises(function() sim.run { barrier = "bsp", work = "exp(-1)" } end, "work: bad distribution 'exp%(%-1%)'")
  raises(function() sim.run { barrier = "bsp", work = "const(0)" } end, "takes no time")
  raises(function() sim.run { barrier = "bsp", straggler = "2:3x" } end, "a share from 0 to 1")
  raises(function() sim.run { barrier = "bsp", loss = 1 } end, "loss has to be")
  raises(function() sim.run { barrier = "bsp", topology = "ring" } end, "oracle, server:SHARDS")
  raises(function() sim.run { barrier = "bsp", churn = "1" } end, "JOIN:LEAVE")
  raises(function() sim.run { barrier = "bps" } end, "did you mean bsp")
end)

test("an error, a wrong result and a deadlock of a rule name the rule and the waiting nodes", function()
  raises(function() run { barrier = function() error("boom") end } end, "sim_spec.lua:%d+.*boom")
  raises(function() run { barrier = function() end } end, "returned nil.*is a 'return' missing")
  raises(function() run { barrier = function() return 1 end } end, "returned number 1")
  raises(function() run { barrier = function(view) return view.step < 3 end } end,
    "deadlock at .* all 30 nodes wait.*Node %d+ has waited longest.*slowest, with 3 completed")
end)

test("a rule that admits no node is a deadlock from the start, as on the cluster", function()
  raises(function() run { barrier = function(view) return view.step > 0 end } end,
    "deadlock at 0 s: all 30 nodes wait.*slowest, with 0 completed")
end)

test("a rule is evaluated before a node's first step, also for joining nodes; a classic rule admits at once", function()
  local first = {}
  local function note(view)
    first[view.id] = first[view.id] or { view.step - view:min(), view.waited }
    return view:min() >= view.step
  end
  local options = { nodes = 5, time = 50, churn = "0.2:0", seed = 3 }
  options.barrier = note
  local result = run(options)
  holds(result.joined, ">", 3)
  for id = 0, 5 + result.joined - 1 do equal(first[id], { 0, 0 }, "node " .. id) end
  options.barrier = "bsp"
  equal(run(options).steps, result.steps)
end)

test("a rule that requests a later evaluation is no deadlock", function()
  -- Steps begin at 0.5 + 1.5 k seconds: the rule delays the first step too.
  local result = run { barrier = function(view) return view.waited >= 0.5, 0.5 end, work = "const(1)", time = 15.5, nodes = 3 }
  equal(result.mean_step, 11)
end)

-- --- sweeps and summaries ---

test("a sweep has a row for each point, rule and seed, in that order", function()
  local rows = sim.sweep.run {
    base = { time = 10, seed = 4 }, barriers = { "bsp", "asp" }, vary = { { "nodes", { 2, 3 } } }, repeats = 2,
  }
  local seen = {}
  for i, row in ipairs(rows) do seen[i] = ("%s %d %d"):format(row.barrier, row.nodes, row.seed) end
  equal(seen, { "bsp 2 4", "bsp 2 5", "asp 2 4", "asp 2 5", "bsp 3 4", "bsp 3 5", "asp 3 4", "asp 3 5" })
  local groups = sim.summary.groups(rows)
  equal(#groups, 4)
  near(groups[1].stats.mean_step.mean, (rows[1].mean_step + rows[2].mean_step) / 2)
end)

test("intervals are Student's", function()
  local values = { 4.1, 5.2, 6.3, 4.9 }
  local mean = sim.summary.mean(values)
  near(mean.mean, 5.125)
  near(mean.high - mean.mean, 3.182446305284263 * mean.sd / 2, 1e-9) -- Student's t of 0.975, 3 degrees of freedom
  near(sim.summary.mean({ 1, 3 }, 0.9).high - 2, 6.313751514675043, 1e-8)
  local many = {}
  for i = 1, 1001 do many[i] = i % 2 end
  near((sim.summary.mean(many).high - sim.summary.mean(many).mean) / (sim.summary.mean(many).sd / math.sqrt(1001)), 1.9623390808, 1e-8)
  equal(sim.summary.mean({ 7 }).low, 7)
end)

test("shares of a node's time add up to one", function()
  local row = sim.sweep.run({ base = { nodes = 10, time = 20, delay = "exp(0.1)", loss = 0.1, topology = "server:2", service = "0.001" },
    barriers = { "bsp" } })[1]
  near(row.busy_share + row.waiting_share + row.network_share, 1)
  holds(row.network_share, ">", 0)
  holds(row.lost, ">", 0)
end)

test("a joining node pulls the model when it joins", function()
  local result = run { barrier = "asp", nodes = 5, time = 100, work = "const(1)", churn = "0.2:0.2" }
  holds(result.joined, ">", 5)
  holds(result.staleness.max, "<=", 2 * 30, "largest staleness " .. result.staleness.max)
end)

-- --- the command line's part ---

local function values(more)
  local out = { ["repeat"] = 1, confidence = 0.95, seed = 1, topology = "oracle" }
  for name, value in pairs(more) do out[name] = value end
  return out
end

local function points(text, barriers)
  local sweep, wrong = grid.sweep(values { sweep = { text }, nodes = 5 }, barriers or { "bsp" })
  assert(sweep, wrong)
  local out = {}
  for i, task in ipairs(sweep.tasks) do out[i] = task.varied[sweep.names[1]] end
  return out, sweep
end

test("a sweep's values are ranges or lists", function()
  equal((points("nodes=100:500:100")), { 100, 200, 300, 400, 500 })
  equal((points("straggler=0:0.3:0.1")), { 0, 0.1, 0.2, 0.3 })
  equal((points("nodes=3,1,2")), { 3, 1, 2 })
  equal((points("nodes=5:1:-2")), { 5, 3, 1 })
  equal((points("work=exp(1),gamma(2,0.5)")), { "exp(1)", "gamma(2,0.5)" })
  local _, sweep = points("beta=1,2", { "pbsp:{beta}" })
  equal(sweep.tasks[2].barrier, "pbsp:2")
  sweep = assert(grid.sweep(values { sweep = { "rate=0.1,0.2" }, train = "linear rate={rate} dims=3", nodes = 5, ["repeat"] = 2 }, { "asp" }))
  equal({ sweep.tasks[2].train, sweep.tasks[3].train }, { "linear rate=0.1 dims=3", "linear rate=0.2 dims=3" })
  local losses = {}
  for i, task in ipairs(sweep.tasks) do losses[i] = sim.sweep.execute(task).training_loss end
  equal(losses[1] ~= losses[3], true, "another rate, another loss")
  _, sweep = points("straggler=0.1,0.2")
  equal(sweep.tasks[2].options.straggler, "0.2:3x")
end)

test("invalid sweeps are errors", function()
  local function refused(more, pattern, barriers)
    local sweep, wrong = grid.sweep(values(more), barriers or { "bsp" })
    equal(sweep, nil)
    matches(wrong, pattern)
  end
  refused({ sweep = { "nodes=1:5:0" } }, "never gets from 1 to 5")
  refused({ sweep = { "nodes=5:1:1" } }, "never gets")
  refused({ sweep = { "nodes" } }, "NAME=START:STOP:STEP")
  refused({ sweep = { "nodes=a,b" } }, "wants numbers")
  refused({ sweep = { "nodes=1,2", "nodes=3" } }, "given twice")
  refused({ sweep = { "nods=1,2" } }, "did you mean nodes")
  refused({ sweep = { "rate=1,2" }, train = "linear" },
    "no {rate} in a rule or in %-%-train. These can vary: nodes, time, work, .*'linear rate={rate}'")
  refused({ sweep = { "rate=1,0" }, train = "linear rate={rate}" }, "rate wants a number above 0, got '0'")
  refused({ train = "linear rate={rate}" }, "{rate} of %-%-train needs %-%-sweep rate=VALUES")
  refused({ train = "lineal" }, "did you mean linear")
  refused({ sweep = { "nodes=1:1e9:1" } }, "too many")
  refused({ sweep = { "nodes=0,5" } }, "nodes has to be from 1")
  refused({ nodes = -3 }, "nodes has to be from 1 .* got %-3")
  refused({ sweep = { "nodes=1.5,5" } }, "and whole, got 1.5")
  refused({ sweep = { "seed=1,-1" } }, "seed has to be from 0")
  refused({ service = "const(1)" }, "%-%-service .* server:SHARDS")
  refused({ sweep = { "bandwidth=1e6,1e7" } }, "%-%-bandwidth .* server:SHARDS")
  refused({ sweep = { "work=exp(1),exp(-1)" } }, "out of range")
  refused({ ["repeat"] = 0 }, "%-%-repeat")
  refused({ confidence = 1 }, "%-%-confidence")
  refused({}, "needs %-%-sweep beta", { "pbsp:{beta}" })
  refused({}, "did you mean bsp", { "bps" })
  refused({}, "No such file", { "nowhere.lua" })
end)

test("a table file is complete or absent, and a sweep resumes from its rows", function()
  local path = os.tmpname()
  os.remove(path)
  local rows = sim.sweep.run { base = { nodes = 3, time = 5, seed = 1 }, barriers = { "bsp", "asp" }, repeats = 2 }
  local function write(from, to, resume)
    local file = assert(sim.table.open(path, "csv", { "a sweep" }, {}, resume))
    for i = from, to do file:add(rows[i]) end
    return file
  end
  local first = write(1, 2)
  equal(text_file.read(path), nil)
  local before = text_file.read(path .. ".part")
  local second = write(3, 2, true)
  equal(second.done, 2)
  equal(text_file.read(path .. ".part"), before)
  local known = second:rows_before()
  equal({ known[2].barrier, known[2].seed, known[2].mean_step }, { rows[2].barrier, rows[2].seed, rows[2].mean_step })
  for i = 3, 4 do second:add(rows[i]) end
  second:finish()
  equal(text_file.read(path .. ".part"), nil)
  local whole = text_file.read(path)
  write(1, 4):finish()
  equal(text_file.read(path), whole)
  local file, wrong = sim.table.open(path, "csv", { "another sweep" }, {}, true)
  equal(file, nil)
  matches(wrong, "belongs to another sweep")
  first.file:close()
  os.remove(path)
  matches(select(2, sim.table.open("/nowhere/at/all.csv", "csv", {}, {})), "No such file")
end)

test("quoted cells survive a round trip", function()
  local path = os.tmpname()
  local row = sim.sweep.run({ base = { nodes = 2, time = 3 }, barriers = { "bsp" } })[1]
  row.barrier = 'a,"b",c""'
  local first = assert(sim.table.open(path, "csv", { "x" }, { "work" }))
  row.varied = { work = "gamma(1,2)" }
  first:add(row)
  first:finish()
  local again = assert(sim.table.open(path, "csv", { "x" }, { "work" }, true))
  equal(again:rows_before()[1].barrier, row.barrier)
  equal(again:rows_before()[1].varied.work, "gamma(1,2)")
  near(again:rows_before()[1].mean_step, row.mean_step, 1e-8)
  again:finish()
  os.remove(path)
end)

test("cells of a table are quoted where necessary", function()
  local format = sim.table.formats.csv
  equal(format.line({ barrier = 'a,"b"', nodes = 3, mean_step = 1 / 3, sd_step = 2 ^ 60 }, { "barrier", "nodes", "mean_step", "sd_step" }),
    '"a,""b""",3,0.3333333333,1.152921505e+18\n')
  equal(sim.table.formats.json.line({ barrier = 'x"\n', nodes = 0 / 0 }, { "barrier", "nodes" }), '{"barrier":"x\\u0022\\u000a","nodes":null}\n')
end)

test("a trace has a release, a start, a finish and an apply for each step", function()
  local result = run { barrier = "ssp:1", nodes = 4, time = 12, trace = true }
  local last, counts = {}, {}
  for i, event in ipairs(result.trace.event) do
    counts[event] = (counts[event] or 0) + 1
    local id = result.trace.id[i]
    if event == "release" then equal(last[id] == "join" or last[id] == "apply", true) end
    if event == "start" then equal(last[id], "release") end
    if event == "finish" then equal(last[id], "start") end
    if event == "apply" then equal(last[id], "finish") end
    last[id] = event
  end
  equal(counts.apply, result.updates)
  equal(counts.join, 4)
  equal(counts.release, counts.start)
  equal(barrier.from("ssp:1").name, "ssp(1)")
end)

test("a run that ends without nodes reports the departure time of the last node", function()
  for _, topology in ipairs { "oracle", "peers" } do
    local result = run { barrier = "asp", nodes = 5, churn = "0:1", time = 200, topology = topology, trace = true }
    equal({ result.alive, result.departed }, { 0, 5 })
    local last
    for i, event in ipairs(result.trace.event) do
      if event == "leave" then last = result.trace.time[i] end
    end
    equal(result.emptied, last)
    equal(run { barrier = "asp", nodes = 5, topology = topology }.emptied, nil)
  end
end)

test("the summary remarks on runs that end without nodes", function()
  local function rows(...)
    local out = {}
    for i, emptied in ipairs { ... } do
      out[i] = { barrier = "asp", varied = { nodes = 5 }, alive = emptied and 0 or 3, emptied = emptied or nil }
    end
    return sim.summary.groups(out)
  end
  equal(sim.summary.remarks(rows(false, false)), {})
  equal(sim.summary.remarks(rows(4.5)), {
    "asp, nodes = 5: no node was left at the end of the run, where the steps are 0; the last node disappeared at 4.5 s",
  })
  equal(sim.summary.remarks(rows(4.5, false, 2.25)), {
    "asp, nodes = 5: no node was left at the end of 2 of 3 runs, where the steps are 0; the last node disappeared at 2.25 to 4.5 s",
  })
  equal(sim.summary.remarks { { barrier = "asp", varied = {}, rows = { { alive = 0 } } } },
    { "asp: no node was left at the end of the run, where the steps are 0" })
end)

test("standard output is written in place, also if redirected to a regular file", function()
  equal(sim.table.regular("/dev/stdout"), nil)
  equal(sim.table.regular("/proc/self/fd/1"), nil)
end)
