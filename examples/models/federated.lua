-- MNIST spread over workers that share no images, for the examples of federated learning. The images are sorted by
-- label and cut into two shards for each worker, so a worker has images of a few digits. Worker r has about 1 + r % 3
-- times as many images as worker 0.
--     local task = require "models.federated" (opt)   -- opt.data, opt.small, opt.batch, perhaps opt.net = "cnn"
--     task.net, task.batch(), task.examples, task.total, task.accuracy()
local actor = require "actor"
local data, nn = actor.data, actor.nn

-- The positions of this worker's images: two ranges of the images in the order of their labels.
local function own_positions(set)
  local by_label, positions = {}, {}
  for i = 1, set.n do by_label[i] = i end
  local labels = data.batch(set.labels, data.range(1, set.n)):totable()
  table.sort(by_label, function(a, b)
    local x, y = labels[a], labels[b]
    if x ~= y then return x < y end
    return a < b
  end)
  local total, bounds = 0, { [0] = 0 }
  for part = 0, 2 * actor.size - 1 do
    total = total + 1 + part % actor.size % 3
    bounds[part + 1] = total
  end
  for _, part in ipairs { actor.rank, actor.size + actor.rank } do
    local first = math.floor(bounds[part] / total * set.n) + 1
    for i = first, math.floor(bounds[part + 1] / total * set.n) do positions[#positions + 1] = by_label[i] end
  end
  return positions
end

return function(opt)
  local set = opt.small
    and { train = data.digits { n = 600 }, test = data.digits { n = 200, first = 601 }, source = "few digits" }
    or data.mnist(opt.data ~= "" and opt.data or nil)
  local width = opt.small and 32 or 128
  local task = { total = set.train.n, examples = 0 }
  if opt.net == "cnn" then
    task.net = require "models.cnn" (actor.seed, actor.rank, opt.small)
  else
    task.net = nn.sequential {
      nn.linear(784, width, { seed = actor.seed }), nn.relu(), nn.linear(width, 10, { seed = actor.seed + 1 }),
    }
  end
  if actor.role == "worker" then
    local positions, rng = own_positions(set.train), actor.rng(actor.seed, actor.rank + 1)
    task.examples = #positions
    function task.batch()
      local rows = {}
      for i = 1, opt.batch do rows[i] = positions[rng:int(1, #positions)] end
      return set.train:batch(rows)
    end
  else
    function task.batch() error("a server trains nothing") end
  end

  -- The accuracy on the test images.
  function task.accuracy()
    local rows = data.range(1, math.min(2000, set.test.n))
    return task.net:accuracy(set.test:batch(rows))
  end
  if actor.rank == 0 then
    print(("data: %s; %d workers, %d of %d images here"):format(set.source, actor.size, task.examples, task.total))
  end
  return task
end
