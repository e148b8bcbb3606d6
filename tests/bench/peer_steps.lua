-- The start time of a first run, and the steps a second of runs whose workers all push one key, under several rules:
-- among peers (with the messages of rank 0 for each of its steps) or on the parameter server. With --size 0 the pushes
-- are empty: a step is only the barrier.
-- Usage: peer_steps.lua [--engine peer|param] [--steps N] [--size N]
local actor = require("actor")
local optim, tensor = actor.optim, actor.tensor

local options = actor.options {
  engine = { "peer", "param" },
  steps = { 200, least = 1, whole = true },
  size = { 8, least = 0, whole = true },
}
local rules = { "asp", "bsp", "ssp:4", "pbsp:2@poll:0.002", "pbsp:2@sticky", "pssp:2:4@sticky" }

local gradient = tensor.ones { options.size }
local keys = options.size > 0 and { "w" } or {}
local updates = options.size > 0 and { { "w", gradient } } or {}

local function run_of(rule)
  return {
    init = function() return { w = tensor.zeros { options.size } } end,
    push = function() return updates end,
    pull = optim.sgd { lr = 0.1 },
    barrier = rule,
    stop = function(ctx) return ctx.step >= options.steps end,
  }
end

local function by_peers(rule, stop)
  local run = run_of(rule)
  run.stop = stop or run.stop
  run.schedule = function() return keys end
  local summary = actor.peer.run(run)
  local words = {}
  for _, name in ipairs { "decisions", "draws", "lookups", "watches", "clocks", "keys" } do
    words[#words + 1] = ("%s %.1f"):format(name, summary.messages[name] / summary.steps)
  end
  return summary, "; a step: " .. table.concat(words, ", ")
end

local function by_server(rule, stop)
  local run = run_of(rule)
  run.stop = stop or run.stop
  run.schedule_local = function() return keys end
  return actor.param.run(run), ""
end

local run = options.engine == "peer" and by_peers or by_server
local began = actor.now()
run("asp", function() return true end)
local start = actor.now() - began
print(("%s: %d workers, %d steps, %d numbers; a run without steps, the first: %.2f s"):format(options.engine, actor.size,
  options.steps, options.size, start))
for _, rule in ipairs(rules) do
  local summary, more = run(rule)
  print(("%-18s %6.0f steps a second%s"):format(rule, summary.steps / summary.seconds, more))
end
