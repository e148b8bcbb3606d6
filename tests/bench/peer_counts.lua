-- The job of peer_kills.lua: each worker adds 1 to its own element of each key in each step, and records its progress
-- in FOLDER/ID as lines "WORD NUMBER TIME". `step`: this many pushes of the worker are acknowledged, since it has
-- fetched all keys with them. `last`: it takes no further step. `has KEY ...`: the values at the end.
-- Usage: peer_counts.lua FOLDER RULE STEPS KEYS
local actor = require "actor"
local now = require "monotonic"
local peer, optim, tensor = actor.peer, actor.optim, actor.tensor
local folder, rule, steps, n = actor.args[1], actor.args[2], tonumber(actor.args[3]), tonumber(actor.args[4])

local out = assert(io.open(folder .. "/" .. actor.id, "w"))
local function report(word, number)
  out:write(("%s %d %.6f\n"):format(word, number, now()))
  out:flush()
end

local keys, zero, mine = {}, {}, tensor.zeros(8)
for i = 1, n do
  keys[i] = "key " .. i
  zero[keys[i]] = tensor.zeros(8)
end
mine[actor.id + 1] = -1

report("born", 0)
peer.size_estimate()
report("peer", 0)
local summary = peer.run {
  init = function()
    report("init", 0)
    actor.sleep(0.1)
    return zero
  end,
  schedule = function() return keys end,
  push = function(ctx, entries)
    report("step", ctx.step)
    local updates = {}
    for i, entry in ipairs(entries) do
      local own, most = entry[2][actor.id + 1], entry[2]:max()
      -- Under bsp the values contain all updates of the completed steps and no others.
      if own ~= ctx.step or (rule == "bsp" and most > ctx.step) then
        report(("sees %s in %d:"):format(tostring(entry[2]), ctx.step), 0)
      end
      updates[i] = { entry[1], mine }
    end
    actor.sleep(0.005)
    return updates
  end,
  pull = optim.sgd { lr = 1 },
  barrier = rule,
  stop = function(ctx)
    if ctx.step >= steps then report("last", ctx.step) end
    return ctx.step >= steps
  end,
}
report("step", steps)
report("summary", summary.updates)
for _, key in ipairs(keys) do
  local value, all = peer.get(key), {}
  for i = 1, 8 do all[i] = value[i] end
  out:write("has ", table.concat(all, " "), "\n")
end
report("end", 0)
