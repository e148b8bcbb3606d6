-- Robust merge rules, attacks and barrier rules in one table: the accuracy of softmax regression on MNIST after
-- simulated training with 10 nodes, 2 of them attackers. Run it with
--     actorhost tests/bench/robust_rules.lua [--time 60] [--barriers bsp,ssp:4,asp]
local actor = require "actor"
local train = actor.sim.train

local opt = actor.options { time = { 60, above = 0 }, barriers = "bsp,ssp:4,asp", nodes = 10, attackers = 2, seed = 1 }
local f, n = opt.attackers, opt.nodes
local attacks = { "none", "sign:" .. f .. ":5", "noise:" .. f, "label:" .. f, "lie:" .. f }

-- Under BSP a rule merges a step's pushes together, under other rules every n pushes.
local function rules_for(barrier)
  local suffix = barrier == "bsp" and "" or ":" .. n
  return {
    barrier == "bsp" and "mean" or "buffer:" .. n, "trimmed_mean:" .. f .. suffix, "median" .. suffix,
    ("krum:%d:%d"):format(f, n - f) .. suffix, "clip:1", "centred_clip:1" .. suffix,
    "basgd:" .. (2 * f + 1),
  }
end

for barrier in opt.barriers:gmatch("[^,]+") do
  local lines = {}
  for _, rule in ipairs(rules_for(barrier)) do
    local cells = { rule }
    for _, attack in ipairs(attacks) do
      local result = train.run({ barrier = barrier, nodes = n, time = opt.time, seed = opt.seed, work = "exp(1)" },
        train.models.mnist(),
        { merge = rule, attack = attack ~= "none" and attack or nil, points = 1, rate = (rule == "clip:1") and 0.02 or 0.2 })
      local accuracy = result.training.accuracy
      cells[#cells + 1] = ("%.1f"):format(100 * accuracy[#accuracy])
    end
    lines[#lines + 1] = cells
  end
  print("accuracy %, " .. barrier)
  print(require("actor.inspect.text").columns({ "rule", unpack(attacks) }, lines))
end
