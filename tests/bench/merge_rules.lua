-- The cost of merge rules: microseconds an update of N floats (100) between threads, for each rule the least of five
-- turns. `all` runs in C++ and stores no push; "1" is a Lua function that returns 1.
-- Usage: actorhost -n 2 --log-level error tests/bench/merge_rules.lua [--updates N] [--size N]
local actor = require "actor"
local param, tensor = actor.param, actor.tensor
local opt = actor.options { updates = 20000, size = 100 }

local rules = {
  { "all", "all" }, { "1", function() return 1 end }, { "drop", "drop:1000000" }, { "scale", "scale" }, { "buffer", "buffer:2" },
  { "fedbuff", "fedbuff:4" },
}
local update, least = tensor.ones(opt.size), {}

for _ = 1, 5 do
  for _, named in ipairs(rules) do
    local name, rule = unpack(named)
    local summary = param.run {
      init = function() return { w = tensor.zeros(opt.size) } end,
      schedule_local = function() return { "w" } end,
      push = function() return { { "w", update } } end,
      pull = actor.optim.sgd { lr = 1e-6 }, barrier = "asp", merge = rule,
      stop = function(ctx) return ctx.updates >= opt.updates end,
    }
    least[name] = math.min(least[name] or math.huge, 1e6 * summary.seconds / summary.updates)
  end
end
if actor.rank == 0 then
  for _, named in ipairs(rules) do
    print(("%-8s %6.2f us  %.2fx"):format(named[1], least[named[1]], least[named[1]] / least.all))
  end
end
