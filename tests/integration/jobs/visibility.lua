-- The job of visibility_test.cpp.
local actor = require "actor"

-- `wide` is large enough to be split over servers: a row per worker, whose elements must all be equal.
local param, tensor = actor.param, actor.tensor
local opt = actor.options { ["local"] = false, lua_pull = false, width = 40000 }
local keys = { "a", "b", "wide" }
local clock = 0

local function add_in_lua(_, updates)
  local sums = {}
  for _, update in ipairs(updates) do
    local key, value = update[1], update[2]
    sums[key] = (sums[key] or param.get(key)) + value
  end
  local out = {}
  for _, key in ipairs(keys) do
    if sums[key] then out[#out + 1] = { key, sums[key] } end
  end
  return out
end

param.run {
  init = function()
    return { a = tensor.zeros(actor.size), b = tensor.zeros(actor.size), wide = tensor.zeros { actor.size, opt.width } }
  end,
  schedule = not opt["local"] and function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = { { "a" }, { "b" }, { "wide" } } end
    return tasks
  end or nil,
  schedule_local = opt["local"] and function() return keys end or nil,
  push = function(ctx, entries)
    local a, b, wide = entries[1][2], entries[2][2], entries[3][2]
    local row = tensor.zeros(actor.size)
    for j = 1, actor.size do
      local seen = wide[j]
      print(("worker %d clock %d saw %d of %d"):format(ctx.id, clock, a:get(j), j - 1))
      print(("worker %d clock %d saw %d of %d"):format(ctx.id, clock, b:get(j), j - 1))
      print(("worker %d clock %d saw %d of %d"):format(ctx.id, clock, seen:min(), j - 1))
      print(("worker %d clock %d saw %d of %d"):format(ctx.id, clock, seen:max(), j - 1))
    end
    clock = clock + 1
    row:set(ctx.id + 1, 1)
    local mine = tensor.zeros { actor.size, opt.width }
    mine[ctx.id + 1]:fill_(1)
    return { { "a", row }, { "b", row }, { "wide", mine } }
  end,
  pull = opt.lua_pull and add_in_lua or actor.optim.add(),
  stop = function(ctx) return ctx.step >= 25 end,
}
