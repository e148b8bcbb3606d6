-- Batches of a loader's thread beside batches gathered by the script itself, in turns: rows of --width numbers, from
-- --rows of them in random order, and --work products of a batch with a matrix between two batches.
local actor = require "actor"
local data, tensor = actor.data, actor.tensor
local opt = actor.options { rows = 20000, width = 3072, batch = 128, work = 1, turns = 7, ahead = 2 }

local images = data.digits { n = 20000, seed = 1 }
local set = tensor.normal({ opt.rows, opt.width }, { seed = 1 })
local plan = { wide = data.batches { n = opt.rows, size = opt.batch }, digits = data.batches { n = images.n, size = opt.batch } }
local weights = { wide = tensor.normal({ opt.width, 64 }, { seed = 2 }), digits = tensor.normal({ 784, 64 }, { seed = 2 }) }
local sources = { wide = set, digits = images.images }

local function work(name, x)
  local sum = 0
  for _ = 1, opt.work do sum = sum + x:matmul(weights[name]):get(1, 1) end
  return sum
end

local ways = {}

function ways.script(name)
  local sum = 0
  for number = 1, plan[name]:count() do sum = sum + work(name, data.batch(sources[name], plan[name]:positions(number))) end
  return sum
end

function ways.loader(name)
  local sum = 0
  for x in data.loader { set = sources[name], plan = plan[name], ahead = opt.ahead } do sum = sum + work(name, x) end
  return sum
end

for _, name in ipairs { "wide", "digits" } do
  local ratios, least, sums = {}, {}, {}
  for turn = 0, opt.turns do
    local took = {}
    for _, way in ipairs { "script", "loader" } do
      local began = actor.now()
      sums[way] = ways[way](name)
      took[way] = (actor.now() - began) / plan[name]:count() * 1e6
      if turn > 0 then least[way] = math.min(least[way] or math.huge, took[way]) end
    end
    assert(sums.script == sums.loader, "the batches differ")
    if turn > 0 then ratios[turn] = took.loader / took.script end
  end
  table.sort(ratios)
  print(("%s: %.0f us a batch, with a loader %.0f; ratio %.2f (%.2f to %.2f)"):format(name, least.script, least.loader,
    ratios[math.ceil(#ratios / 2)], ratios[1], ratios[#ratios]))
end
