--- Workers with a small network each, one step after the other in this process: for experiments on local steps and on
--- compressed gradients, where only the number of steps counts. The network has a hidden layer and classifies MNIST's
--- digits (generated digits, without the files).
local data = require("actor.data")
local new_rng = require("actor.rng")
local nn = require("actor.nn")
local optim = require("actor.optim")
local tensor = require("actor.tensor")

local M = {}

local classes = 10
local batch = 16
local tested = 1000

---@class actor.reproduce.Lockstep
---@field workers integer
---@field params actor.Tensor all parameters of the network, which `gradient` uses
---@field net actor.nn.Network
local Lockstep = {}
Lockstep.__index = Lockstep

-- The positions of the images of each class.
local function by_class(set)
  local out = {}
  for class = 1, classes do out[class] = {} end
  for first = 1, set.n, 1000 do
    local last = math.min(first + 999, set.n)
    local _, labels = set:batch(data.range(first, last))
    for i, class in ipairs(labels:totable()) do
      local list = out[class]
      list[#list + 1] = first + i - 1
    end
  end
  return out
end

local images, of_class -- the data of all runs, loaded once, and the positions of each class

---Makes the workers. With `split`, half of the images of worker w are of one or two classes.
---@param options {workers: integer, seed: integer, hidden?: integer, split?: boolean}
---@return actor.reproduce.Lockstep
function M.new(options)
  images = images or data.mnist(nil, { train = 10000, test = tested })
  local set = images
  local hidden = options.hidden or 32
  local self = setmetatable({ workers = options.workers, seed = options.seed, set = set, step = 0, split = options.split }, Lockstep)
  self.net = nn.sequential {
    nn.linear(784, hidden, { seed = options.seed }), nn.relu(), nn.linear(hidden, classes, { seed = options.seed + 1 }),
  }
  self.params = self.net.flat_params
  self.images, self.labels = set.test:batch(data.range(1, math.min(tested, set.test.n)))
  if options.split then
    of_class = of_class or by_class(set.train)
    self.classes = of_class
  end
  return self
end

-- The positions of a worker's batch. With `split`, every second image of worker w is of the classes w, w + workers and
-- so on.
function Lockstep:positions(worker, random)
  local out = {}
  for i = 1, batch do
    if self.split and i % 2 == 0 then
      local own = (worker + self.workers * random:below(math.ceil((classes - worker) / self.workers))) % classes + 1
      local list = self.classes[own]
      out[i] = list[random:below(#list) + 1]
    else
      out[i] = random:below(self.set.train.n) + 1
    end
  end
  return out
end

---Computes a worker's gradient of its next batch, at the present parameters.
---@param worker integer from 0
---@return actor.Tensor gradient of all parameters; valid until the next call
function Lockstep:gradient(worker)
  self.step = self.step + 1
  local random = new_rng(self.seed, (worker + 1) * 2 ^ 24 + self.step)
  self.net:loss(self.set.train:batch(self:positions(worker, random)))
  return self.net.flat_grads
end

---Trains a worker by AdamW.
---@param worker integer from 0
---@param inner table<integer, actor.Optimiser> the workers' optimisers, made here
---@param start actor.Tensor the parameters before
---@param steps integer
---@param rate number
---@return actor.Tensor difference start - the parameters after
function Lockstep:local_steps(worker, inner, start, steps, rate)
  inner[worker] = inner[worker] or optim.adamw { lr = rate }
  self.params:copy_(start)
  for _ = 1, steps do inner[worker]:step({ self.params }, { self:gradient(worker) }) end
  return start - self.params
end

---DiLoCo: rounds of local steps, each with an outer step of rate 0.7 and momentum 0.9 on the mean difference.
---@param options {workers: integer, rounds: integer, steps: integer, rate: number, split?: boolean, size_of?: fun(round: integer, rounds: integer): integer}
---  size_of: the number of workers of a round, default all
---@return fun(seed: integer): actor.reproduce.Result its x counts local steps
function M.diloco(options)
  return function(seed)
    local run = M.new { workers = options.workers, seed = seed, split = options.split }
    local outer, inner = optim.sgd { lr = 0.7, momentum = 0.9, nesterov = true }, {}
    local result, shared = { x = {}, loss = {}, accuracy = {}, values = {} }, run.params:clone()
    run:record(result, 0)
    for round = 1, options.rounds do
      local size = options.size_of and options.size_of(round, options.rounds) or options.workers
      local difference = tensor.zeros_like(shared)
      for worker = 0, size - 1 do
        difference:axpy_(1 / size, run:local_steps(worker, inner, shared, options.steps, options.rate))
      end
      outer:step({ shared }, { difference })
      run.params:copy_(shared)
      run:record(result, round * options.steps)
    end
    return result
  end
end

---Adds a point to a result.
---@param result actor.reproduce.Result
---@param x number
function Lockstep:record(result, x)
  local k = #result.x + 1
  result.x[k], result.loss[k], result.accuracy[k] = x, self.net:loss(self.images, self.labels), self.net:accuracy(self.images, self.labels)
end

return M
