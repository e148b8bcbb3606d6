-- Jobs of average_test.cpp; the first argument selects the job.
local actor = require "actor"
local ffi = require "ffi"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

-- Workers train until each has taken part in up to `most` more rounds, abort, compare, and resume; `times` times. The
-- additions to `b` are known, and so is its mean.
function jobs.training(...)
  local average, tensor, co = actor.average, actor.tensor, actor.collective
  local peers, times, count, most = (...), tonumber((select(2, ...))), tonumber((select(3, ...))), tonumber((select(4, ...)) or 5)
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
  print("averaged", stats.bytes > 0)
end

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
  print "averaged"
end

function jobs.rank_that_is_killed_while_it_averages(...)
  local average, tensor, co = actor.average, actor.tensor, actor.collective
  ffi.cdef "int getpid(); int kill(int, int);"
  local peers, seed = (...), tonumber((select(2, ...)))
  local model = { w = tensor.full({ 300000 }, actor.rank) }
  local handle = average.start(model, { sync_interval_ms = 1, peers = peers })
  local last = actor.rng(seed):int(1, 400)
  local step = 0
  -- Survivors stop only after one of them has seen the loss.
  while actor.size == 4 or step < 500 do
    step = step + 1
    handle:step(function() model.w:add_(0.001) end)
    if actor.id == 2 and step == last then ffi.C.kill(ffi.C.getpid(), 9) end
    require("actor.events").deliver()
  end
  handle:abort()
  local hash = actor.hash(model)
  local all = co.allgather(hash)
  for r = 1, all.n do assert(all[r] == hash, "ranks hold different models") end
  local x = model.w:get(1)
  assert(x - x == 0)
  handle:resume()
  local rounds = handle:stats().rounds
  while handle:stats().rounds < rounds + 3 do handle:step(function() model.w:add_(0.001) end) end
  handle:abort()
  print(all.n .. " ranks hold the same model")
end

function jobs.rank_that_is_killed_while_others_wait()
  ffi.cdef "int getpid(); int kill(int, int);"
  local model = actor.tensor.full({ 10 }, actor.rank)
  local handle = actor.average.start(model, { sync_interval_ms = 1e6 })
  if actor.id == 2 then
    await "rank 0 goes to abort"
    await "rank 1 goes to abort"
    ffi.C.kill(ffi.C.getpid(), 9)
  end
  announce(("rank %d goes to abort"):format(actor.rank))
  handle:abort()
  print(model:get(1))
end

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
  print "kept"
end

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
  print "warm"
end

function jobs.script_of_one_worker_ends_early()
  local handle = actor.average.start(actor.tensor.ones { 3 })
  if actor.rank == 1 then return end
  handle:abort()
end

function jobs.worker_may_leave_without_abort_and()
  local model = actor.tensor.full({ 1000 }, actor.rank)
  local handle = actor.average.start(model, { sync_interval_ms = 1 })
  while actor.rank > 0 and handle:stats().rounds < 50 do handle:step(function() model:add_(0.01) end) end
end

function jobs.model_that_is_not_finite_is_error_on()
  local model = { w = actor.tensor.full({ 4 }, actor.rank) }
  local handle = actor.average.start(model, { sync_interval_ms = 1 })
  if actor.rank == 1 then
    handle:step(function() model.w:set(3, 0 / 0) end)
    local ok, message
    repeat ok, message = pcall(handle.step, handle, function() end) until not ok
    print(message)
  end
  local ok, message = pcall(handle.abort, handle)
  assert(not ok)
  print(message)
  if actor.rank == 1 then model.w:set(3, 1) end
  handle:resume()
  handle:abort()
  print(model.w:get(3) - model.w:get(3))
end

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
  print "locked"
end

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
  print "far"
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

jobs[(...)](select(2, ...))
