-- Searches the settings of a small network: `actorhost -n 4 examples/grid_search.lua`. The trials are in one queue, and
-- each free rank takes the next, so a slow trial delays no other. The other ranks repeat the trials of a lost rank.
local actor = require "actor"
local nn, optim = actor.nn, actor.optim
local function number(word) return assert(tonumber(word), "'" .. word .. "' is no number") end
local opt = actor.options {
  images = { 600, least = 10, whole = true }, epochs = { 5, least = 1, whole = true },
  hidden = { "8,32", each = number }, lr = { "0.001,0.01,0.1", each = number },
}

local set = actor.data.digits { n = opt.images, seed = actor.seed }
local trials = {}
for _, hidden in ipairs(opt.hidden) do
  for _, lr in ipairs(opt.lr) do trials[#trials + 1] = { hidden = tonumber(hidden), lr = tonumber(lr) } end
end

-- The same result on any rank: the seeds are the trial's.
local function accuracy(trial)
  local net = nn.sequential {
    nn.linear(784, trial.hidden, { seed = actor.seed }), nn.relu(), nn.linear(trial.hidden, 10, { seed = actor.seed + 1 }),
  }
  local history = net:fit {
    set = set, epochs = opt.epochs, validation = 0.25, optimiser = optim.sgd { lr = trial.lr, momentum = 0.9 },
    progress = false, on_nan = "stop",
  }
  return history[#history].validation_accuracy
end

local scheduler = assert(actor.collective.scheduler { dynamic = trials })
local found = assert(scheduler:run(accuracy))
local best = 1
for i, trial in ipairs(trials) do
  print(("hidden %2d, lr %5g: %.1f %%"):format(trial.hidden, trial.lr, 100 * found[i]))
  if found[i] > found[best] then best = i end
end
print(("best: hidden %d, lr %g"):format(trials[best].hidden, trials[best].lr))
