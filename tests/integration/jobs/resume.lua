-- Counts the merges of each batch; an error unless each was merged once. Its workers may be killed, and it may be
-- killed and resumed at any moment.
-- case: --merge {all,buffer,drop} flags: --barrier {bsp,asp} --codes 0,3 --faults kill=2,within=100ms at: rehearsal:5
-- case: --pull lua flags: --servers 2 --barrier ssp:2 --codes 0,3 --faults kill=1,stall=1:5s,within=100ms at: rehearsal:4
local actor = require "actor"
local param, tensor = actor.param, actor.tensor

local opt = actor.options { batches = 40, epochs = 2, merge = "all", pull = "native", barrier = "", work = 0.003 }
local batches = actor.data.batches { n = opt.batches, size = 1, epochs = opt.epochs, seed = actor.seed }
local count = batches:count()
local unit = opt.merge == "buffer" and 0.5 or 1 -- the merged weight of a push of 1
local names = { "a", "b", "c", "d" } -- on several servers
local rng = actor.rng(actor.seed, actor.id or 99)

-- Adds up in Lua, like optim.add.
local function added(_, updates)
  local sums, out = {}, {}
  for _, update in ipairs(updates) do
    local key = update[1]
    sums[key] = (sums[key] or param.get(key)) + update[2]
  end
  for key, value in pairs(sums) do out[#out + 1] = { key, value } end
  return out
end

local dropped = 0 -- on server 0
local tasks = {
  done = function(_, worker, number, merged)
    if not merged then dropped = dropped + 1 end
    assert(batches:done(worker, number), "a task that nobody holds")
  end,
  lost = function(_, worker, number) batches:lost(worker, number) end,
  state = function() return { batches = batches:state(), dropped = dropped } end,
  restore = function(_, state)
    batches:restore(state.batches)
    dropped = state.dropped
  end,
}

local merges = {
  all = "all", buffer = "buffer:2", drop = "drop:0",
}

local summary = param.run {
  tasks = opt.merge == "drop" and tasks or batches,
  init = function()
    local values = { large = tensor.zeros(150000), dropped = 0 } -- in parts on all servers
    for _, name in ipairs(names) do values[name] = tensor.zeros(count) end
    return values
  end,
  schedule = function(workers)
    local out = {}
    for _, id in ipairs(workers) do
      local number = batches:next(id)
      if number then out[id] = { task = number, { "batch", number } } end
    end
    return out
  end,
  push = function(_, entries)
    local one = tensor.zeros(count)
    one:set(entries[1][2], 1)
    local updates = { { "large", tensor.ones(150000) } }
    for _, name in ipairs(names) do updates[#updates + 1] = { name, one } end
    actor.sleep(rng:uniform(0, opt.work)) -- workers differ
    return updates
  end,
  pull = opt.pull == "lua" and added or actor.optim.add(),
  merge = merges[opt.merge],
  barrier = opt.barrier ~= "" and opt.barrier or nil,
  stop = function()
    local over = batches:finished()
    if over then param.set("dropped", dropped) end
    return over
  end,
  checkpoint = { steps = 1 },
}

if actor.rank == 0 and summary.reason == "stop" then
  local wrong = {}
  local merged, dropped_in_all = 0, param.get("dropped")
  for _, name in ipairs(names) do
    local value = param.get(name)
    for number = 1, count do
      local times = value:get(number) / unit
      if times ~= 1 and not (times == 0 and opt.merge == "drop") then
        wrong[#wrong + 1] = ("%s[%d] %g times"):format(name, number, times)
      end
    end
    merged = value:sum() / unit
  end
  local large = param.get("large")
  if large:min() ~= merged * unit or large:max() ~= merged * unit then
    wrong[#wrong + 1] = ("large is %g to %g, not %g"):format(large:min(), large:max(), merged * unit)
  end
  if merged ~= summary.updates then wrong[#wrong + 1] = ("%d updates, not %g"):format(summary.updates, merged) end
  if merged + dropped_in_all ~= count then wrong[#wrong + 1] = ("%g merged, %g dropped"):format(merged, dropped_in_all) end
  assert(#wrong == 0, table.concat(wrong, ", ", 1, math.min(#wrong, 9)))
  print "each batch once"
end
