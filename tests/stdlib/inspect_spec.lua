--- Tables about a run, made from its state.
local barrier = require("actor.inspect.barrier")
local keys = require("actor.inspect.keys")
local links = require("actor.inspect.links")
local log = require("actor.inspect.log")
local rates = require("actor.inspect.rates")
local stages = require("actor.inspect.stages")
local steps = require("actor.inspect.steps")
local timeline = require("actor.inspect.timeline")

local function state_of(counts, more)
  local state = { run = { job = "job.lua", size = #counts, t = 10 }, hosts = { { process = 0, host = "alpha" } }, nodes = {} }
  for i, step in ipairs(counts) do
    state.nodes[i] = { id = i - 1, role = "worker", name = "rank " .. i - 1, step = step, state = "computing",
      sent = 1000 * i, updates = step, calls = 0, frames_sent = 10, wait = { server = 1 } }
  end
  state.nodes[#counts + 1] = { id = 0, role = "server", name = "server 0", step = 0, updates = 7, state = "waiting" }
  for name, value in pairs(more or {}) do state[name] = value end
  return state
end

test("the steps of few workers are listed one by one, of many workers in ranges", function()
  equal(steps.table(state_of { 10, 12, 12, 10 }), table.concat({
    "steps of 4 workers: 10 to 12, median 10",
    "10  ######## 2: rank 0, rank 3",
    "11",
    "12  ######## 2: rank 1, rank 2" }, "\n"))
  local many = {}
  for i = 1, 1000 do many[i] = i end
  local text = steps.table(state_of(many))
  equal(select(2, text:gsub("\n", "\n")), 12)
  assert(text:find("1%-84  #+ 84: rank 0, rank 1, rank 2, rank 3, rank 4 and 79 more\n"), text)
  equal(steps.table(state_of {}), "no worker has taken a step")
end)

test("a barrier table shows the waiting workers, their wait times and the awaited workers", function()
  local text = barrier.table(state_of({ 4, 9 }, { barrier = { { run = 1, rule = "ssp:4", passed = 12, refused = 3,
    waiting = { { id = 1, step = 9, since = 0.25, ["for"] = { 0 } } }, waited = { ["0"] = 0, ["1"] = 2.5 } } } }))
  equal(text, table.concat({
    "run 1: ssp:4, passed 12 times, refused 3",
    "1 of 2 wait",
    "node    step   since  waits for",
    "rank 1     9  250 ms  rank 0",
    "waited so far: rank 1 2.5 s" }, "\n"))
  assert(barrier.table(state_of({ 1 }, { barrier = { { run = 2, rule = "asp", waiting = {} } } })):find("no worker waits"))
  assert(barrier.table(state_of { 1 }):find("no engine"))
end)

local stored = { { key = "w1", shape = { 784, 10 }, dtype = "float32", bytes = 31360, version = 120, shard = 0, updates = 120 },
  { key = "b1", shape = {}, dtype = "float32", bytes = 4, version = 9, shard = 1, updates = 20 }, { key = "a.b", version = 1 } }

test("keys are found by a part of the name or a pattern, and show updates a second", function()
  local state = state_of({ 1 }, { keys = stored })
  equal(#keys.select(state), 3)
  equal(keys.select(state, "w")[1].key, "w1")
  equal(keys.select(state, "*1")[1].key, "b1")
  equal(keys.select(state, "a.?")[1].key, "a.b")
  equal(#keys.select(state, "a-b"), 0)
  assert(keys.table(state, "w1"):find("w1%s+784x10%s+float32%s+31 kB%s+120%s+server 0%s+12.0"), keys.table(state, "w1"))
  local before = state_of({ 1 }, { keys = { { key = "w1", updates = 100 } } })
  before.run.t = 8
  assert(keys.table(state, "w1", before):find("10.0$"))
  equal(keys.table(state, "zz"), "no key fits 'zz'")
  equal(keys.table(state_of { 1 }), "the parameter server has no keys; :get KEY shows those of peers")
end)

test("empty tables of links, stages and the log are a sentence", function()
  equal(links.table(state_of { 1 }), "one process: there are no links")
  local two = state_of({ 1 }, { links = { { from = 0, to = 1, sent = 5000, received = 10, frames_sent = 3, frames_received = 2 } },
    hosts = { { process = 0, host = "alpha" }, { process = 1, host = "beta", age = 0.02 } } })
  assert(links.table(two):find("0 alpha%s+1 beta%s+5.0 kB%s+10 B%s+3%s+2%s+0 B%s+20 ms"), links.table(two))
  equal(stages.table(state_of { 1 }), "no map-reduce stage has run")
  local staged = state_of({ 1 }, { stages = { { action = 3, stage = 0, name = "reduce_by_key", where = "job.lua:7", tasks = 64,
    done = 16, running = 4, seconds = 1.2, rows = 99, bytes = 12000 } } })
  assert(stages.table(staged):find("3.0%s+reduce_by_key%s+job.lua:7%s+%[#####%.+%]%s+16/64%s+4%s+99%s+12 kB%s+1.2 s"))
  equal(log.table(state_of { 1 }), "the log is empty")
  local logged = state_of({ 1 }, { log = { { t = 2, level = "warn", who = "rank 1", text = "second" },
    { t = 1, level = "info", who = "rank 0", text = "first" } }, members = { { t = 0.5, epoch = 1, text = "4 workers" } } })
  equal(log.table(logged), "     0.500  members epoch 1: 4 workers\n     1.000  info  rank 0: first\n     2.000  warn  rank 1: second")
  equal(log.table(logged, "rank 0"), "     1.000  info  rank 0: first")
  equal(log.table(logged, "rank 7"), "the log has no line of rank 7")
end)

test("rates are differences between two states", function()
  local before, now = state_of { 10, 10 }, state_of { 14, 16, 100 }
  now.run.t = 12
  now.nodes[1].wait = { server = 2 }
  local line = rates.line(now, before)
  equal(#line, #rates.head)
  assert(line:find("12.0 s%s+5.0%s+5.0%s+0.0%s+0 B%s+0%s+17 %%"), line)
end)

-- A snapshot of a worker and a server of another process. The other process's clock is 100 s ahead, and its reply takes
-- `late` seconds.
local function snapshot(t, late, first, list)
  local waits = { state = "waiting", cause = "server", since = 0.5 }
  local worker = { id = 0, role = "worker", name = "rank 0", process = 1, host = "beta", state = waits.state,
    cause = waits.cause, since = waits.since, spans = { first = first, at = t + 100 - late, list = list } }
  local server = { id = 0, role = "server", name = "server 0", process = 0, host = "alpha", state = "computing",
    spans = { first = 0, at = t, list = {} } }
  return { run = { t = t }, nodes = { server, worker } }
end

test("a timeline adds the new spans of each snapshot, on the run's clock", function()
  local line = timeline.new()
  local old, a, b = { "step", "step", 1, 108, 109 }, { "step", "step", 2, 110, 111 }, { "wait: server", "wait", 0, 111, 111.5 }
  timeline.add(line, snapshot(10, 0.5, 3, { old }))
  timeline.add(line, snapshot(11, 0, 3, { old, a }))
  timeline.add(line, snapshot(12, 0.25, 4, { a, b }))
  equal(#line.tracks["rank 0"].spans, 2)
  equal(line.tracks["rank 0"].spans[2], { "wait: server", "wait", 0, 11, 11.5 })
  local text, data = timeline.picture(line, 8)
  equal(text, table.concat({
    "2.0 s: # a step or a task, = an engine call, . waiting, else the script itself",
    "rank 0    |####....|  step 50 %, wait: server 50 %",
    "server 0  |        |" }, "\n"))
  equal(data[1], { node = "rank 0", seconds = { step = 1, ["wait: server"] = 1 } })
  local events, spans = timeline.chrome(line)
  equal(spans, 2)
  assert(events:find('{"args":{"number":2},"cat":"step","dur":1000000,"name":"step","ph":"X","pid":1,"tid":0,"ts":0}', 1, true), events)
  timeline.add(line, snapshot(13, 0, 9, {}))
  equal(line.left_out, 3)
end)
