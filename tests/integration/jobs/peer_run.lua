-- Runs of the peer-to-peer engine. peer_run.lua JOB ...
local actor = require "actor"
local peer, co, tensor, optim = actor.peer, actor.collective, actor.tensor, actor.optim
local jobs = {}

local function keys_of(n)
  local keys = {}
  for i = 1, n do keys[i] = "k" .. i end
  return keys
end

-- The same on all ranks, or an error that names what differs.
local function agreed(value)
  local all = co.allgather(value)
  for i = 2, all.n do assert(actor.hash(all[i]) == actor.hash(all[1]), "ranks differ") end
  return value
end

local function told(summary)
  print(("steps: %d updates: %d reason: %s"):format(summary.steps, summary.updates, summary.reason))
  agreed { summary.steps, summary.updates }
end

-- Each update counts exactly once: n keys, to each of which every worker adds 1 in each of its steps.
function jobs.counts(how, rule, steps)
  local n = 12
  local keys, each = keys_of(n), tonumber(steps) or 10
  local zero, one = {}, how == "native" and -tensor.ones(3) or tensor.ones(3)
  for _, key in ipairs(keys) do zero[key] = how == "table" and { n = 0 } or tensor.zeros(3) end
  local pulls = {
    native = optim.sgd { lr = 1 },
    lua = function(_, updates)
      local sums, out = {}, {}
      for _, u in ipairs(updates) do
        sums[u[1]] = (sums[u[1]] or peer.get(u[1])) + u[2]
        assert(u[3] >= 1 and u[4] >= 0)
      end
      for key, sum in pairs(sums) do out[#out + 1] = { key, sum } end
      return out
    end,
    table = function(_, updates)
      local sums, out = {}, {}
      for _, u in ipairs(updates) do
        sums[u[1]] = { n = (sums[u[1]] or peer.get(u[1])).n + u[2].n }
      end
      for key, sum in pairs(sums) do out[#out + 1] = { key, sum } end
      return out
    end,
  }
  told(peer.run {
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
  local wrong = 0
  for _, key in ipairs(keys) do
    local value = peer.get(key)
    local count = how == "table" and value.n or value[1]
    if count ~= actor.size * each then
      wrong = wrong + 1
      actor.log.warn("%s is %g, not %g", key, count, actor.size * each)
    end
  end
  agreed(wrong)
  print("wrong:", wrong)
end

local job = table.remove(actor.args, 1)
jobs[job](unpack(actor.args))
