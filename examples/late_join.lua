-- An elastic run: start it with --nnodes 1:3 --rdzv-endpoint HOST:PORT, and run the same command later on other
-- machines. A late worker gets work at once and starts at the minimum clock; no worker waits for a departed worker.
local actor = require "actor"
local param = actor.param

local opt = actor.options { seconds = 5 }

actor.on_membership(function(change)
  for _, id in ipairs(change.joined) do print(("worker %d joined, now %d workers"):format(id, actor.size)) end
  for _, id in ipairs(change.lost) do print(("worker %d left, now %d workers"):format(id, actor.size)) end
end)

local mine = 0

local summary = param.run {
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
    return tasks
  end,
  push = function(ctx)
    mine = mine + 1
    local until_ = actor.now() + 0.01
    while actor.now() < until_ do end -- some work
    return { { ctx.id, mine } }
  end,
  stop = function(ctx) return ctx.seconds >= opt.seconds end,
}

local pieces = {}
for _, id in ipairs(param.keys()) do pieces[#pieces + 1] = ("worker %d: %d"):format(id, param.get(id)) end
print(("%d updates (%s)"):format(summary.updates, table.concat(pieces, ", ")))
