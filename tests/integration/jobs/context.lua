-- Jobs that run on both engines: context.lua ENGINE JOB ..., where ENGINE is param or peer.
local actor = require "actor"
local each = require "each_worker"
local expect = require "expect"
local meeting = require "meeting"
local tensor = actor.tensor
local name, job = actor.args[1], actor.args[2]
local engine = actor[name]
local jobs = {}

local keys, zeros = {}, {}
for i = 1, 24 do
  keys[i] = i % 2 == 0 and i or "k" .. i
  zeros[keys[i]] = tensor.zeros(1)
end

-- Asserts the fields of a ctx on a worker.
local function check_worker(ctx, step, size)
  assert(actor.role == "worker" and ctx.id == actor.id and ctx.step == step)
  assert(ctx.size == size and ctx.rank >= 0 and ctx.rank < size, ctx.size)
end

-- Adds 1 to the owned keys.
local function pushed(ctx)
  local updates = {}
  for _, key in ipairs(keys) do
    if ctx.owns(key) then updates[#updates + 1] = { key, tensor.ones(1) } end
  end
  return updates
end

local function add(updates)
  local sums, out = {}, {}
  for _, u in ipairs(updates) do sums[u[1]] = (sums[u[1]] or engine.get(u[1])) + u[2] end
  for key, sum in actor.pairs(sums) do out[#out + 1] = { key, sum } end
  return out
end

--- Every callback has its ctx; each key is pushed by exactly one worker in each of 20 steps.
-- case: {param,peer} fields {bsp,asp} flags: --servers 2 at: threads isolate hosts
function jobs.fields(rule)
  local size, steps, done = actor.size, 20, 0 -- done: the completed steps of this worker
  engine.run {
    init = function(from) return from.updates == 0 and zeros end,
    schedule_local = function(ctx)
      check_worker(ctx, done, size)
      return { "k1", 2 }
    end,
    push = function(ctx, entries)
      check_worker(ctx, done, size)
      done = done + 1
      assert(entries[1][1] == "k1" and entries[2][1] == 2)
      -- Only under bsp are the values those of this step.
      assert(rule ~= "bsp" or entries[1][2][1] == ctx.step and entries[2][2][1] == ctx.step)
      return pushed(ctx)
    end,
    pull = function(ctx, updates)
      local newest = 0
      for _, u in ipairs(updates) do newest = math.max(newest, u[3]) end
      assert(ctx.size == size and ctx.step == newest)
      if name == "param" then
        assert(ctx.id == nil and ctx.rank == nil and not ctx.owns("k1"))
      else
        check_worker(ctx, newest, size)
      end
      return add(updates)
    end,
    barrier = rule,
    stop = function(ctx)
      assert(ctx.size == size and ctx.workers <= size and ctx.updates >= 0 and ctx.seconds >= 0)
      assert((ctx.id == nil) == (name == "param"))
      return ctx.step >= steps
    end,
  }
  local values, least, most = engine.get(keys), math.huge, 0
  for i = 1, #keys do least, most = math.min(least, values[i][1]), math.max(most, values[i][1]) end
  if actor.rank == 0 and rule == "bsp" then assert(least == 20 and most == 20) end
end

--- The last worker dies, before its first push or in a later one. The others continue with the remaining size, and
--- divide its keys.
function jobs.loses(at)
  local victim, size, owned = actor.size - 1, actor.size, {}
  engine.run {
    init = function() return zeros end,
    schedule_local = function() return {} end,
    push = function(ctx)
      if ctx.id == victim and ctx.step == tonumber(at) then meeting.die() end
      if ctx.size < size then
        assert(ctx.size == size - 1 and ctx.rank == ctx.id)
        for _, key in ipairs(keys) do owned[key] = ctx.owns(key) or nil end
      end
      actor.sleep(0.005)
      return pushed(ctx)
    end,
    pull = function(_, updates) return add(updates) end,
    barrier = "bsp",
    -- 20 steps after the loss
    stop = function(ctx)
      if ctx.size == size then return false end
      jobs.last = jobs.last or ctx.step + 20
      return ctx.step >= jobs.last
    end,
  }
  local count = 0
  for _, other in ipairs(actor.collective.allgather(owned)) do
    for _ in pairs(other) do count = count + 1 end
  end
  actor.log.warn(("%d of %d keys have an owner."):format(count, #keys))
end

--- The original names keep their arguments: the parameter server's functions have no ctx.
-- case: {param,peer} original at: threads:2
function jobs.original(how)
  local server = name == "param"
  engine.register_schedule(server and each(function() return { { "k" } } end) or function() return { "k" } end)
  engine.register_push(function(first, entries)
    if how == "wrong" then return 7 end
    assert((server and first or first.id) == actor.id and entries[1][1] == "k")
    return { { "k", (entries[1][2] or 0) + 1 } }
  end)
  engine.register_pull(server and function(updates, none)
    assert(updates[1][1] == "k" and none == nil)
    return { { "k", updates[#updates][2] } }
  end or function(ctx, updates)
    assert(ctx.id == actor.id)
    return { { "k", updates[#updates][2] } }
  end)
  engine.register_stop(function(ctx) return ctx.step >= 5 end)
  engine.start("bsp")
  local value, step = engine.get("k")
  if actor.role == "worker" then assert(value == 5 and step == 5) end
end

--- peer.run refuses by name the options that only the parameter server has, and a wrong `schedule`.
-- case: peer refused at: threads:1
function jobs.refused()
  local function refused(option, value, ...)
    local function none() return {} end
    local run = { schedule_local = none, push = none, stop = function() return true end }
    run[option] = value or nil
    expect.refused(function() engine.run(run) end, ...)
  end
  refused("tasks", actor.data.batches { n = 10, size = 1 }, "peer.run cannot honour tasks: no server deals out tasks; each worker chooses its own keys")
  refused("lost", print, "peer.run cannot honour lost: no server deals out entries that a failed worker could lose")
  refused("filter", { push = "fp16" }, "peer.run cannot honour filter: ")
  refused("checkpoint", { steps = 1 }, "peer.run cannot honour checkpoint: ")
  refused("merge", "buffer:2", "peer.run cannot honour merge rule 'buffer(2)'")
  refused("schedule", print, "peer.run: give schedule_local=, or schedule=, its other name, not both")
  refused("schedule_local", false, "peer.run: give schedule_local=, or schedule=, its other name")
end

jobs[job](select(3, unpack(actor.args)))
