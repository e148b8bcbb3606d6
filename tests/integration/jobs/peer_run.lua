-- Runs of the peer-to-peer engine. peer_run.lua JOB ...
local actor = require "actor"
local expect = require "expect"
local peer, co, tensor, optim = actor.peer, actor.collective, actor.tensor, actor.optim
local jobs = {}

local function keys_of(n)
  local keys = {}
  for i = 1, n do keys[i] = "k" .. i end
  return keys
end

-- Asserts that `value` is equal on all ranks.
local function agreed(value)
  local all = co.allgather(value)
  for i = 2, all.n do assert(actor.hash(all[i]) == actor.hash(all[1]), "ranks differ") end
  return value
end

-- Runs, and asserts that the run makes `steps` steps and has the same totals on all ranks.
local function run_to(steps, run)
  local summary = peer.run(run)
  assert(agreed { summary.steps, summary.updates }[1] == steps, summary.steps)
  return summary
end

-- A pull that adds each update to the value of its key.
local function pull_by(add)
  return function(_, updates)
    local sums, out = {}, {}
    for _, u in ipairs(updates) do
      assert(u[3] >= 1 and u[4] >= 0)
      sums[u[1]] = add(sums[u[1]] or peer.get(u[1]), u[2])
    end
    for key, sum in actor.pairs(sums) do out[#out + 1] = { key, sum } end
    return out
  end
end
local plus = pull_by(function(a, b) return a + b end)

local function nothing() return {} end

-- A run whose workers write their step to one key.
local function run_steps(run)
  run.schedule = run.schedule or function() return { "k" } end
  run.push = function(ctx) return { { "k", ctx.step } } end
  return peer.run(run)
end

-- Each update counts exactly once: `count` keys with tensors of `size` numbers; every worker adds 1 to each tensor in
-- each of its steps. The cases cover each pair of a rule, a kind of pull and a place.
-- case: counts native {bsp,pbsp:2@poll:0.005,pbsp:9@sticky} at: threads
-- case: counts lua {bsp,pbsp:2@poll:0.005,pbsp:9@sticky} at: isolate
-- case: counts table {bsp,pbsp:2@poll:0.005,pbsp:9@sticky} at: hosts
-- case: counts lua {asp,pssp:2:4@sticky} at: threads
-- case: counts table {asp,pssp:2:4@sticky} at: isolate
-- case: counts native {asp,pssp:2:4@sticky} at: hosts
-- case: counts table {ssp:4,pbsp:0} at: threads
-- case: counts native {ssp:4,pbsp:0} at: isolate
-- case: counts lua {ssp:4,pbsp:0} at: hosts
-- Three tensors of 8 MB:
-- deep: counts lua ssp:2 2 2000000 3 at: rehearsal:3
-- case: counts lua asp 2 2000000 3 at: threads:2 isolate hosts
function jobs.counts(how, rule, steps, size, count)
  local n, size = tonumber(count) or 12, tonumber(size) or 3
  local keys, each = keys_of(n), tonumber(steps) or 10
  local zero, one = {}, how == "native" and -tensor.ones(size) or tensor.ones(size)
  for _, key in ipairs(keys) do zero[key] = how == "table" and { n = 0 } or tensor.zeros(size) end
  local pulls = {
    native = optim.sgd { lr = 1 },
    lua = plus,
    table = pull_by(function(a, b) return { n = a.n + b.n } end),
  }
  run_to(each, {
    init = function() return zero end,
    schedule = function() return keys end,
    push = function(ctx, entries)
      assert(#entries == n and ctx.workers == actor.size)
      local out = {}
      for i, e in ipairs(entries) do out[i] = { e[1], how == "table" and { n = 1 } or one } end
      return out
    end,
    pull = pulls[how],
    barrier = rule,
    stop = function(ctx) return ctx.step >= each end,
  })
  for _, key in ipairs(keys) do
    local value = peer.get(key)
    expect.same(how == "table" and value.n or value:min(), actor.size * each)
    expect.same(how == "table" and value.n or value:max(), actor.size * each)
  end
end

-- Updates that depend on their order. Under bsp each node reads the same bits, in threads, processes and hosts.
function jobs.bits(how, rule, size)
  local keys, zero = keys_of(9), {}
  for i, key in ipairs(keys) do zero[key] = tensor.full({ tonumber(size) or 4 }, i / 7) end
  run_to(12, {
    init = function() return zero end,
    schedule = function(ctx) return { keys[ctx.id % 9 + 1], keys[(ctx.id + ctx.step) % 9 + 1], "nothing" } end,
    push = function(ctx, entries)
      assert(#entries == 3 and entries[3][1] == "nothing" and entries[3][2] == nil)
      local out = {}
      for i = 1, entries[1][1] == entries[2][1] and 1 or 2 do
        out[i] = { entries[i][1], entries[i][2] * (0.1 + ctx.id / 10) + 1 / (3 + ctx.step) }
      end
      return out
    end,
    pull = how == "lua" and pull_by(function(a, b) return a * 0.7 + b * 0.3 end) or how == "native" and optim.adam { lr = 0.01 } or nil,
    barrier = rule,
    stop = function(ctx) return ctx.step >= 12 end,
  })
  local all = {}
  for _, key in ipairs(keys) do all[key] = peer.get(key) end
  print("bits: " .. agreed(actor.hash(all)))
end

-- The largest lag of the slowest worker that a worker sees while it works: none works more than s steps ahead under
-- ssp:s, and bsp shows whole steps.
-- case: bound bsp 0 at: threads
-- case: bound ssp:0 0 at: threads
-- case: bound ssp:2 2 at: threads
-- case: bound asp more at: threads
function jobs.bound(rule, limit)
  local clocks, lag = {}, 0
  for rank = 0, actor.size - 1 do clocks[rank + 1] = "clock" .. rank end
  run_to(30, {
    schedule = nothing,
    push = function(ctx)
      local seen = peer.get(clocks)
      for i = 1, actor.size do lag = math.max(lag, ctx.step - (seen[i] or 0)) end
      for _, state in ipairs(peer.sample(actor.size)) do
        local own = state.id == actor.id
        assert(own and state.step == ctx.step and state.busy or not own and state.step >= (seen[state.rank + 1] or 0) - 1)
      end
      if actor.rank == 0 then actor.sleep(0.002) end
      return { { clocks[actor.rank + 1], ctx.step + 1 } }
    end,
    barrier = rule,
    stop = function(ctx) return ctx.step >= 30 end,
  })
  local most = 0
  local all = co.allgather(lag)
  for i = 1, all.n do most = math.max(most, all[i]) end
  assert(limit == "more" and most > 4 or limit ~= "more" and most <= tonumber(limit), most)
  for _, state in ipairs(peer.sample(actor.size)) do assert(state.step == 30 and not state.busy) end
end

-- Workers that stop at different steps, with different keys, some of them without updates.
-- case: uneven {bsp,asp,ssp:2,pbsp:2@sticky,pbsp:2@poll:0.01} at: rehearsal:{1,3,2x2,8}
-- case: uneven asp at: threads isolate hosts
function jobs.uneven(rule)
  local mine = "of" .. actor.rank
  run_to(3, {
    schedule = function(ctx)
      if ctx.step % 3 == actor.rank % 3 then return {} end
      return { mine, "all" }
    end,
    push = function(ctx, entries)
      if #entries == 0 then return {} end
      return { { mine, (entries[1][2] or 0) + 1 } }
    end,
    barrier = rule,
    stop = function(ctx) return ctx.step >= 3 * (actor.rank + 1) end,
  })
  for rank = 0, actor.size - 1 do expect.same(peer.get("of" .. rank), 2 * (rank + 1)) end
  expect.same(peer.get("all"), nil)
end

-- Each step pushes to a few keys of the worker while earlier pushes are in flight; all reads include these pushes.
-- case: own {native,replace} {asp,ssp:8} at: rehearsal:{3,2x2}
-- case: own native asp at: threads isolate hosts
function jobs.own(how, rule)
  local keys = {}
  for i = 1, 5 do
    keys[i] = ("of%d %d"):format(actor.rank, i)
    peer.set(keys[i], tensor.zeros(3))
  end
  local pushed = { 0, 0, 0, 0, 0 }
  local function check(i, value) assert(value[1] == pushed[i], ("%s is %g, not %d"):format(keys[i], value[1], pushed[i])) end
  run_to(200, {
    schedule = function(ctx)
      if ctx.step % 7 == 0 then check(1, peer.get(keys[1])) end
      return ctx.step % 3 == 0 and keys or {}
    end,
    push = function(ctx, entries)
      for i, entry in ipairs(entries) do check(i, entry[2]) end
      if ctx.step % 11 == 0 then
        peer.set(keys[2], tensor.full({ 3 }, 100))
        pushed[2] = 100
      end
      local i = math.random(5)
      pushed[i] = pushed[i] + 1
      return { { keys[i], how == "native" and -tensor.ones(3) or tensor.full({ 3 }, pushed[i]) } }
    end,
    pull = how == "native" and optim.sgd { lr = 1 } or nil,
    barrier = rule,
    stop = function(ctx) return ctx.step >= 200 end,
  })
  for i = 1, 5 do check(i, peer.get(keys[i])) end
end

-- Tensors from a get without a copy hold the most recently set value, whichever worker set it.
-- case: handles at: threads isolate hosts
function jobs.handles()
  local keys = keys_of(20)
  peer.run {
    shared = true, barrier = "asp", schedule = nothing, push = nothing,
    stop = function(ctx) return ctx.step >= 1 end,
  }
  local copies = 0
  for round = 1, 100 do
    for i, key in ipairs(keys) do
      if (round + i) % actor.size == actor.rank then peer.set(key, tensor.full({ 3 }, round)) end
    end
    co.barrier()
    for _, key in ipairs(keys) do
      local value = peer.get(key)
      assert(value[1] == round, ("%s is %g in round %d"):format(key, value[1], round))
      if value ~= peer.get(key) then copies = copies + 1 end
    end
    co.barrier()
  end
  copies = co.allreduce(tensor.full({ 1 }, copies))[1]
  assert(copies < 100 * actor.size * #keys)
end

-- Several runs of a job, and values between them.
-- case: again at: threads isolate hosts
function jobs.again()
  peer.set("x" .. actor.rank, tensor.ones(2))
  co.barrier()
  local values, steps = peer.get { "x0", "x" .. actor.size - 1, "y" }
  assert(values[1]:equal(tensor.ones(2)) and values[2]:equal(tensor.ones(2)) and values[3] == nil and steps[1] == 0)
  for run = 1, 3 do
    local summary = run_to(4, {
      init = function() return { x0 = 5, n = 0 } end,
      schedule = function() return { "n" } end,
      push = function() return { { "n", 1 } } end,
      pull = plus,
      barrier = run == 2 and "asp" or "bsp",
      stop = function(ctx) return ctx.step >= 4 end,
    })
    assert(run ~= 2 or summary.messages.decisions <= 4) -- of this run only
    local x0, step = peer.get("x0")
    assert(agreed(peer.get("n")) == 4 * run * actor.size and x0:equal(tensor.ones(2)) and step == 0)
    co.barrier()
  end
end

-- Alternates runs of peers and of the parameter server, and its servers run the script as well.
-- case: beside at: threads isolate hosts
function jobs.beside()
  for run = 1, 2 do
    local peers = run_steps { stop = function(ctx) return ctx.step >= 2 * run end }
    local server = actor.param.run {
      schedule_local = function() return { "k" } end,
      push = function(ctx) return { { "k", ctx.id } } end,
      stop = function(ctx) return ctx.step >= 3 * run end,
    }
    assert(peers.steps == 2 * run and server.steps == 3 * run)
  end
end

-- case: original ssp:1 at: threads
function jobs.original(rule)
  peer.register_schedule(function() return { "k" } end)
  peer.register_push(function(ctx, entries) return { { "k", ctx.step + (entries[1][2] or 0) } } end)
  peer.register_pull(function(ctx, updates) return { { "k", updates[#updates][2] } } end)
  peer.register_stop(function(ctx) return ctx.step >= 5 end)
  peer.register_barrier(rule)
  expect.same(peer.start().steps, 5)
end

-- An error in one callback.
function jobs.wrong(what)
  local run = {
    schedule = function() return { "k" } end,
    push = function() return { { "k", 1 } } end,
    pull = function(_, updates) return { { "k", #updates } } end,
    init = function() return { k = 0 } end,
    barrier = "bsp",
    stop = function(ctx) return ctx.step >= 5 end,
  }
  local wrongs = {
    schedule = function() return nil end,
    key = function() return { {} } end,
    push = function() return 7 end,
    twice = function() return { { "k", 1 }, { "k", 2 } } end,
    pull = function() return { { "other", 1 } } end,
    nothing = function() end,
    stop = function() return 1 end,
    init = function() return 1 end,
    raises = function(view)
      if view.id == 1 and view.step == 3 then error("no way") end
      return view:min() >= view.step
    end,
    single = function(view) return view.steps[1] >= view.step end,
    stuck = function(view)
      while view.step == 2 and view.id == 1 do end
      return true
    end,
    keeps = function(view) return view.shared.x ~= 1 end,
    leave = function() peer.leave() end,
    within = function() peer.run(run) end,
  }
  local place = { key = "schedule", twice = "push", nothing = "pull", raises = "barrier", single = "barrier", keeps = "barrier",
    stuck = "barrier", leave = "push", within = "push" }
  if what == "nan" then
    run.check_finite, run.push = true, function() return { { "k", tensor.full({ 2 }, 0 / 0) } } end
  elseif what == "merge" then
    run.merge = "drop:1"
  elseif what == "event" then
    run.barrier = "pbsp:2@event"
  elseif what == "filter" then
    run.filter = { push = "fp16" }
  elseif what == "checkpoint" then
    run.checkpoint = { steps = 10 }
  elseif what == "endless" then
    run.stop = nil
  else
    run[place[what] or what] = wrongs[what]
  end
  pcall(peer.run, run)
  peer.run(run)
end

-- A callback that all workers wait for, and that does not return.
function jobs.hangs(what)
  local run = {
    schedule = function() return { "k" } end,
    push = function() return { { "k", 1 } } end,
    stop = function(ctx) return ctx.step >= 5 end,
  }
  if what == "pull" then run.pull = function() while true do end end end
  if what == "init" then run.init = function() while true do end end end
  peer.run(run)
end

-- Runs of peers before and after a run of the parameter server, and its server makes the calls, too.
-- case: in_turns at: threads isolate hosts
function jobs.in_turns()
  local function of_peers()
    peer.run {
      init = function() return { k = 7 } end,
      schedule = nothing,
      push = nothing,
      stop = function(ctx) return ctx.step >= 2 end,
    }
  end
  of_peers()
  if actor.role == "worker" then
    local value, step = peer.get("k")
    assert(value == 7 and step == 0)
    local none, message = peer.get("nothing")
    assert(none == nil and message == 'peer.get: there is no key "nothing"', message)
  end
  local summary = actor.param.run {
    schedule_local = nothing,
    push = nothing,
    stop = function(ctx) return ctx.step >= 3 end,
  }
  expect.same(summary.steps, 3)
  of_peers()
  if actor.role == "worker" then expect.same(peer.get("k"), 7) end
end

-- A run without stop: --seconds ends it.
function jobs.seconds()
  local summary = run_steps {}
  print("reason:", summary.reason, summary.seconds >= 0.3 and summary.seconds < 5, summary.steps > 3)
end

-- Blocked until the console swaps the rule of all workers.
function jobs.held()
  local summary = run_steps {
    barrier = function(view) return view.step < 3 end,
    stop = function(ctx) return ctx.step >= 6 end,
  }
  assert(summary.steps == 6 and summary.updates == 18)
end

-- One worker swaps its own rule in a callback; the others retain theirs.
-- case: swaps at: threads
function jobs.swaps()
  local summary = run_steps {
    schedule = function(ctx)
      if actor.rank == 0 and ctx.step == 2 then peer.set_barrier("pssp:2:3@sticky") end
      return { "k" }
    end,
    barrier = "bsp",
    stop = function(ctx) return ctx.step >= 20 end,
  }
  assert(summary.steps == 20 and summary.updates == 60)
end

-- Some workers are killed after the values are set. The survivors count the missing values.
function jobs.outlived()
  local keys = keys_of(1000)
  peer.sample(1) -- each worker is a peer from now on
  if actor.rank == 0 then
    for i, key in ipairs(keys) do peer.set(key, i) end
  end
  co.barrier()
  actor.log.info("values are there")
  while not io.open("killed") do actor.sleep(0.01) end
  local missing = 0
  for i, key in ipairs(keys) do
    local value = peer.get(key)
    assert(value == nil or value == i)
    missing = missing + (value and 0 or 1)
  end
  actor.log.info("of 1000 keys %d are missing", missing)
end

-- The worker that provides the initial values is killed before it does.
function jobs.beginning()
  local summary = peer.run {
    init = function()
      if actor.id == 0 then
        actor.log.info("gives the first values.")
        actor.sleep(60)
      end
      return { k = 5 }
    end,
    schedule = function() return { "k" } end,
    push = function(ctx, entries)
      assert(entries[1][2] == 5 + ctx.step * ctx.workers)
      return { { "k", 1 } }
    end,
    pull = plus,
    stop = function(ctx) return ctx.step >= 3 end,
  }
  actor.log.info("steps %d, k is %d.", summary.steps, peer.get("k"))
end

local job = table.remove(actor.args, 1)
jobs[job](unpack(actor.args))
