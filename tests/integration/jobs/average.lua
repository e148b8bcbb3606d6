-- Averaging: the first argument selects the job. average_test.cpp has further runs of it.
local actor = require "actor"
local expect = require "expect"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

-- Workers train until each has taken part in up to `most` more rounds, abort, compare, and resume; `times` times. The
-- additions to `b` are known, and so is its mean.
-- case: training {all,ring,random} 5 300 5 at: rehearsal:{1,2,3,5,8,3x2}
-- case: training {all,ring,random} 5 30000 5 threads flags: --seed SEED within: 120 at: threads
-- case: training {all,ring,random} 5 30000 5 wire flags: --seed SEED within: 120 at: isolate:5
-- deep: training {all,ring,random} 5 100000 5 wire flags: --seed SEED within: 120 at: hosts:3x2
-- case: training {all,ring,random} 30 1000 2 at: rehearsal:4
-- case: training all 30 1000 2 flags: --seed SEED within: 120 at: isolate
function jobs.training(...)
  local average, tensor, co = actor.average, actor.tensor, actor.collective
  local peers, times, count, most, wire = ...
  times, count, most = tonumber(times), tonumber(count), tonumber(most)
  local model = {
    w = tensor.full({ count }, actor.rank + 1),
    b = tensor.full({ 7 }, actor.rank, { dtype = "float64" }),
  }
  local rng = actor.rng(actor.seed, actor.rank)
  local handle = average.start(model, { sync_interval_ms = 2, peers = peers })
  local steps = 0
  for k = 1, times do
    local rounds = handle:stats().rounds + rng:int(1, most)
    while handle:stats().rounds < rounds do
      handle:step(function()
        model.w:add_(0.001)
        model.b:add_(0.5)
        steps = steps + 1
      end)
    end
    handle:abort()
    if k % 3 == 0 then handle:abort() end
    local hash = actor.hash(model)
    local all = co.allgather { hash = hash, steps = steps }
    local sum = 0
    for r = 1, all.n do
      assert(all[r].hash == hash, "ranks hold different models")
      sum = sum + all[r].steps
    end
    local due = (actor.size - 1) / 2 + 0.5 * sum / actor.size
    assert(math.abs(model.b:get(7) - due) < 1e-6 * due, ("%.9g instead of %.9g"):format(model.b:get(7), due))
    handle:resume()
  end
  local stats = handle:stats()
  assert(stats.steps == steps and stats.broken == 0 and stats.waiting >= 0)
  if wire and actor.rank == 0 then assert((stats.bytes > 0) == (wire == "wire")) end
end

-- Without steps a round has the mean of its definition.
-- case: one_round {all,ring,random} at: rehearsal:{1,2,3,8} isolate
function jobs.one_round(...)
  local peers, n, r = (...), actor.size, actor.rank
  local function start_of(rank) return (rank % n) ^ 2 end
  local x = actor.tensor.full({ 70000 }, start_of(r))
  local handle = actor.average.start(x, { sync_interval_ms = 500, peers = peers })
  repeat actor.sleep(0.001) until handle:stats().rounds == 1
  local mean, fits = x[1], false
  assert(x:min() == mean and x:max() == mean)
  if peers == "all" then
    fits = math.abs(mean - (n - 1) * (2 * n - 1) / 6) < 1e-4
  elseif peers == "ring" then
    local left, right = start_of(r - 1), start_of(r + 1)
    fits = math.abs(mean - (n > 2 and (left + start_of(r) + right) / 3 or (start_of(r) + right) / 2)) < 1e-4
  end
  for other = 0, n - 1 do
    fits = fits or peers == "random" and mean == (start_of(r) + start_of(other)) / 2
  end
  assert(fits, mean)
  handle:abort()
end

-- Rounds continue during the long steps of the last rank, and include it once in each of its steps.
-- case: rounds_continue_during_long_steps {all,ring,random} at: rehearsal:4
function jobs.rounds_continue_during_long_steps(...)
  local x, last = actor.tensor.zeros(100), actor.rank + 1 == actor.size
  local handle = actor.average.start(x, { sync_interval_ms = 50, peers = (...) })
  local till = actor.now() + 20
  while actor.now() < till do
    handle:step(function() actor.sleep(last and 0.8 or 0.01) end)
  end
  local stats = handle:stats()
  if last then
    assert(stats.steps < 30 and stats.rounds >= stats.steps / 3, tostring(stats.rounds))
  else
    assert(stats.rounds > 300 and stats.missed < stats.rounds / 10, tostring(stats.rounds))
  end
  handle:abort()
end

-- deep: sixty_four_nodes_average {all,ring,random} within: 120 at: rehearsal:64
function jobs.sixty_four_nodes_average(...)
  local model = actor.tensor.full({ 1000 }, actor.rank, { dtype = "float64" })
  local handle = actor.average.start(model, { sync_interval_ms = 1, peers = (...) })
  for _ = 1, 20 do handle:step(function() model:add_(1) end) end
  handle:abort()
  assert(math.abs(model:get(1000) - (20 + 31.5)) < 1e-9, model:get(1000))
  handle:resume()
  handle:abort()
  local hash = actor.hash(model)
  local all = actor.collective.allgather(hash)
  for r = 1, all.n do assert(all[r] == hash) end
end

-- case: rank_that_is_killed_while_others_wait within: 60 at: isolate
function jobs.rank_that_is_killed_while_others_wait()
  local model = actor.tensor.full({ 10 }, actor.rank)
  local handle = actor.average.start(model, { sync_interval_ms = 1e6 })
  if actor.id == 2 then
    await "rank 0 goes to abort"
    await "rank 1 goes to abort"
    meeting.die()
  end
  announce(("rank %d goes to abort"):format(actor.rank))
  handle:abort()
  assert(model:get(1) == 0.5)
end

-- case: aborted_worker_keeps_its_model within: 60 at: threads isolate rehearsal
function jobs.aborted_worker_keeps_its_model()
  local model = { w = actor.tensor.full({ 10 }, actor.rank) }
  local handle = actor.average.start(model, { sync_interval_ms = 1 })
  handle:resume() -- nothing to resume from
  handle:abort()
  assert(model.w:get(1) == 1)
  local function more_rounds()
    local rounds = handle:stats().rounds
    while handle:stats().rounds < rounds + 5 do handle:step(function() end) end
  end
  if actor.rank == 2 then
    model.w:add_(30)
  else
    handle:resume()
    more_rounds()
  end
  actor.collective.barrier()
  assert(model.w:get(1) == (actor.rank == 2 and 31 or 1), model.w:get(1))
  actor.collective.barrier()
  if actor.rank == 2 then handle:resume() end
  handle:abort()
  assert(model.w:get(1) == 11)
  model.w:add_(actor.rank)
  handle:abort() -- no worker has resumed
  assert(model.w:get(1) == 11 + actor.rank)
end

-- case: warm_up_averages_after_each_step_as within: 60 at: threads isolate rehearsal
function jobs.warm_up_averages_after_each_step_as()
  local model = { w = actor.tensor.full({ 10 }, actor.rank, { dtype = "float64" }) }
  local handle = actor.average.start(model, { sync_interval_ms = 1, warmup_steps = 10 })
  for i = 1, 10 do
    handle:step(function() model.w:add_(i * (actor.rank + 1)) end)
    assert(math.abs(model.w:get(3) - (1 + i * (i + 1))) < 1e-9, model.w:get(3))
    if i == 4 then
      handle:abort()
      handle:resume()
    end
  end
  while handle:stats().rounds < 20 do handle:step(function() end) end
  handle:abort()
  assert(math.abs(model.w:get(3) - 111) < 1e-9, model.w:get(3))
end

function jobs.script_of_one_worker_ends_early()
  local handle = actor.average.start(actor.tensor.ones { 3 })
  if actor.rank == 1 then return end
  handle:abort()
end

-- case: worker_may_leave_without_abort_and within: 60 at: threads isolate rehearsal:{2,5}
function jobs.worker_may_leave_without_abort_and()
  local model = actor.tensor.full({ 1000 }, actor.rank)
  local handle = actor.average.start(model, { sync_interval_ms = 1 })
  while actor.rank > 0 and handle:stats().rounds < 50 do handle:step(function() model:add_(0.01) end) end
end

-- case: model_that_is_not_finite_is_error_on_its_rank_and_in_abort_on_all within: 60 at: threads:2
function jobs.model_that_is_not_finite_is_error_on_its_rank_and_in_abort_on_all()
  local model = { w = actor.tensor.full({ 4 }, actor.rank) }
  local began = debug.getinfo(1, "l").currentline + 1
  local handle = actor.average.start(model, { sync_interval_ms = 1 })
  local why = "rank 1: tensor 'w' is not finite at element 3"
  if actor.rank == 1 then
    handle:step(function() model.w:set(3, 0 / 0) end)
    local function fails() repeat handle:step(function() end) until false end
    expect.refused(fails, "average: tensor 'w' is not finite at element 3, so it cannot be averaged (rank 1); averaged since average.lua:" .. began)
  end
  expect.raises(function() handle:abort() end, "average.abort: " .. why)
  if actor.rank == 1 then model.w:set(3, 1) end
  handle:resume()
  handle:abort()
  assert(model.w:get(3) == model.w:get(3))
end

-- case: lock_and_unlock_are_step_and_step_gives within: 60 at: threads
function jobs.lock_and_unlock_are_step_and_step_gives(...)
  local model = actor.tensor.full({ 4 }, actor.rank)
  local handle = actor.average.start(model, { sync_interval_ms = 1 })
  while handle:stats().rounds < 5 do
    handle:lock()
    model:add_(1)
    local before = model:get(1)
    for _ = 1, 1000 do model:get(1) end
    assert(model:get(1) == before)
    handle:unlock()
  end
  local a, b, c = handle:step(function(...) return ..., nil, 7 end, "x")
  assert(a == "x" and b == nil and c == 7)
  handle:abort()
end

-- case: rank_that_stays_in_step_holds_up {all,ring,random} within: 60 at: threads isolate
function jobs.rank_that_stays_in_step_holds_up(...)
  local model = actor.tensor.full({ 1000 }, 0, { dtype = "float64" })
  local handle = actor.average.start(model, { sync_interval_ms = 1, deadline_ms = 20, peers = (...) })
  if actor.rank == 2 then
    handle:step(function()
      model:add_(3)
      await "rank 0 is far"
      await "rank 1 is far"
      model:add_(3)
    end)
  else
    while handle:stats().rounds < 10 or handle:stats().steps < 1000 do handle:step(function() model:add_(0.001) end) end
    announce(("rank %d is far"):format(actor.rank))
  end
  local steps = actor.collective.allreduce(actor.tensor.full({ 1 }, handle:stats().steps)):get(1) - 1
  handle:abort()
  assert(math.abs(model:get(5) - (6 + 0.001 * steps) / 3) < 1e-6, model:get(5))
end

function jobs.worker_that_joins_running_job_takes(...)
  local model = actor.tensor.full({ 10 }, actor.id == 0 and 5 or 1000)
  local handle = actor.average.start(model, { sync_interval_ms = 1, peers = (...), warmup_steps = 3 })
  for _ = 1, 3 do handle:step(function() end) end
  actor.log.info("worker %d averages.", actor.id)
  if actor.id == 0 then
    local file
    repeat
      handle:step(function() end)
      file = io.open "the late one is in"
    until file
  else
    while handle:stats().rounds < 3 do handle:step(function() end) end
    announce "the late one is in"
  end
  handle:abort()
  print(("%d workers: %g"):format(actor.size, model:get(1)))
end

-- case: wrong_calls_are_errors_at_the_line_of_the_user at: threads:2
function jobs.wrong_calls_are_errors_at_the_line_of_the_user()
  local average, tensor, refused = actor.average, actor.tensor, expect.refused
  local t = tensor.ones { 3 }
  refused(function() average.start(3) end, "bad argument 'tensors' to average.start: expected tensors in a table, got number")
  refused(function() average.start {} end, "expected at least one tensor")
  refused(function() average.start { w = 3 } end, "bad argument 'tensors[w]' to average.start: expected tensor, got number")
  refused(function() average.start({ t }, { every = 3 }) end, "unknown option 'every' to average.start")
  refused(function() average.start({ t }, { peers = "some" }) end, "average.start: there is no graph 'some'")
  refused(function() average.start({ t }, { sync_interval_ms = -1 }) end, "bad argument 'sync_interval_ms' to average.start")
  refused(function() average.start({ t }, { warmup_steps = 1.5 }) end, "bad argument 'warmup_steps' to average.start")
  refused(function() average.start { tensor.ones({ 3, 4 }):narrow(2, 1, 2) } end, "tensor '1' is not contiguous")
  refused(function() average.start { a = t, b = t:narrow(1, 2, 2) } end, "tensors 'a' and 'b' share memory")
  local model = { w = t }
  local start = debug.getinfo(1, "l").currentline + 1
  local handle = average.start(model)
  refused(function() handle:step(3) end, "bad argument 'fn' to average.step: expected function, got number")
  refused(function() handle:step(function() handle:lock() end) end, "the lock is held already, since average.lua:" .. start + 2)
  refused(function() handle:unlock() end, "the lock is not held")
  refused(function() handle:step(function() handle:abort() end) end, "within a step, or the lock, of average.lua:" .. start + 4)
  refused(function() handle:step(function() error("no step") end) end, "no step")
  model.w = t * 2
  refused(function() handle:step(print) end, "tensor 'w' is not the tensor that average.start received at average.lua:" .. start)
  model.w = t
  handle:abort()
end

jobs[(...)](select(2, ...))
