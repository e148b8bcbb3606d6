-- DESIGN section 11, Visibility: each worker adds 1 to its place in a vector at each step, and checks the values that it
-- reads for all workers. Clocks begin with 0, so an update of clock c is the worker's (c + 1)th. The argument is the
-- staleness of the rule: 0 for bsp.
-- case: 0 {,--local,--lua_pull --width 100} flags: --barrier bsp --servers {1,3} --inject straggler=0.34:3x,delay=uniform(0,0.002) at: threads isolate
-- case: 2 {,--local,--lua_pull --width 100} flags: --barrier ssp:2 --servers {1,3} --inject straggler=0.34:3x,delay=uniform(0,0.002) at: threads isolate
local actor = require "actor"
local each = require "each_worker"

-- `wide` is large enough to be split over servers: a row per worker, whose elements must all be equal.
local param, tensor = actor.param, actor.tensor
local opt = actor.options { "STALENESS", ["local"] = false, lua_pull = false, width = 40000 }
local keys = { "a", "b", "wide" }
local clock = 0

-- Whether a push at this clock may see so many updates of a worker under staleness s.
local function allowed(s, clock, updates, own)
  local least = own and clock or math.max(0, clock - s) -- updates of clock <= clock - s - 1
  local most = (own or s == 0) and clock or clock + s + 1 -- no worker may be further ahead
  return updates >= least and updates <= most
end
assert(allowed(0, 3, 3, true) and allowed(0, 3, 3) and not allowed(0, 3, 2, true) and not allowed(0, 3, 2) and not allowed(0, 3, 4))
assert(allowed(2, 3, 1) and allowed(2, 3, 6) and allowed(2, 1, 0) and not allowed(2, 3, 0) and not allowed(2, 3, 7))
assert(not allowed(2, 3, 2, true) and not allowed(2, 3, 4, true))

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
  schedule = not opt["local"] and each(function() return { { "a" }, { "b" }, { "wide" } } end) or nil,
  schedule_local = opt["local"] and function() return keys end or nil,
  push = function(ctx, entries)
    local a, b, wide = entries[1][2], entries[2][2], entries[3][2]
    local row = tensor.zeros(actor.size)
    for j = 1, actor.size do
      local seen = wide[j]
      for _, updates in ipairs { a:get(j), b:get(j), seen:min(), seen:max() } do
        assert(allowed(tonumber(actor.args[1]), clock, updates, j == ctx.id + 1),
          ("worker %d at clock %d saw %d updates of worker %d"):format(ctx.id, clock, updates, j - 1))
      end
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
if actor.role == "worker" then assert(clock >= 25) end
