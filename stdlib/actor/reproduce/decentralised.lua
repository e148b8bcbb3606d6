--- Decentralised training without common rounds: each worker has its own copy of a model and its own time. Events in
--- the order of time, for experiments with stragglers.
---
--- * rule "neighbours": a worker makes a step, then waits for the model of the same step of each neighbour, and
---   averages (Lian et al., Can decentralized algorithms outperform centralized algorithms?, NeurIPS 2017). With
---   `backup` it does not wait for so many neighbours, and leaves out their models. With `bound` it waits only for
---   models at most so many steps older than its own, and averages the newest.
--- * rule "all": every worker is a neighbour, so this is synchronous training by an all-reduce.
--- * rule "pairs": no worker waits. At the end of a step the worker and a random neighbour replace their models by the
---   mean, and then the worker applies its gradient, which belongs to its model at the step's begin.
local check = require("actor.check")
local new_rng = require("actor.rng")
local train = require("actor.sim.train")
local values = require("actor.merge.values")

local M = {}

local kinds = {
  nodes = "number", time = "number", seed = "number", model = "table", rate = "number", rule = "string",
  degree = "number?", backup = "number?", bound = "number?", slow = "number?", factor = "number?", random = "number?",
  points = "number?",
}

local Run = {}
Run.__index = Run

-- Neighbours on a ring: `degree` of them, half on each side.
local function neighbours_of(id, n, degree)
  local out = {}
  for d = 1, degree / 2 do
    out[#out + 1] = (id + d) % n
    if (id - d) % n ~= (id + d) % n then out[#out + 1] = (id - d) % n end
  end
  return out
end

-- Seconds of a step: half a second and an exponential half; `factor` times as long on a slow worker, and in a share
-- `random` of all steps.
function Run:seconds(id)
  local random = self.randoms[id]
  local seconds = 0.5 + random:exponential(0.5)
  if id < self.slow or random:uniform() < self.random then seconds = seconds * self.factor end
  return seconds
end

function Run:begin(id)
  self.pending[id] = self.model.gradient(self.models[id], id, self.step[id], train.rng_of(self.seed, id, self.step[id]))
  self.finish[id] = self.now + self:seconds(id)
end

-- The models for a waiting worker's average, and whether it may go on.
function Run:received(id)
  local step, out = self.step[id], {}
  for _, other in ipairs(self.neighbours[id]) do
    local model
    if self.bound > 0 then
      model = self.step[other] >= step - self.bound and self.sent[other][self.step[other]] or nil
    else
      model = self.sent[other][step]
    end
    out[#out + 1] = model
  end
  return out, #out >= #self.neighbours[id] - self.backup
end

local function mean_of(models)
  local out
  for _, model in ipairs(models) do out = values.added(out, 1 / #models, model) end
  return out
end

-- Lets the waiting workers go on that may.
function Run:release()
  for id = 0, self.nodes - 1 do
    if self.finish[id] == math.huge then
      local models, ready = self:received(id)
      if ready then
        models[#models + 1] = self.models[id]
        self.models[id] = mean_of(models)
        self:begin(id)
      end
    end
  end
end

-- Forgets the models that no worker can still need.
function Run:forget()
  local least = math.huge
  for id = 0, self.nodes - 1 do least = math.min(least, self.step[id]) end
  for id = 0, self.nodes - 1 do
    for step in pairs(self.sent[id]) do
      if step < least and step ~= self.step[id] then self.sent[id][step] = nil end
    end
  end
end

function Run:finished(id)
  self.step[id] = self.step[id] + 1
  local model = self.models[id]
  if self.rule == "pairs" then
    local near = self.neighbours[id]
    local other = near[self.randoms[id]:below(#near) + 1]
    local mean = mean_of { model, self.models[other] }
    self.models[other], self.models[id] = mean, values.added(mean, -self.rate, self.pending[id])
    return self:begin(id)
  end
  self.models[id] = values.added(model, -self.rate, self.pending[id])
  self.sent[id][self.step[id]] = self.models[id]
  self.finish[id] = math.huge
  self:release()
  self:forget()
end

function Run:next()
  local first = 0
  for id = 1, self.nodes - 1 do
    if self.finish[id] < self.finish[first] then first = id end
  end
  return first
end

---Trains a model of tables of numbers. The workers 0 to `slow` - 1 take `factor` times as long for a step.
---@param options {nodes: integer, time: number, seed: integer, model: actor.sim.Model, rate: number, rule: "all"|"neighbours"|"pairs", degree?: integer, backup?: integer, bound?: integer, slow?: integer, factor?: number, random?: number, points?: integer}
---@return actor.reproduce.Result
function M.run(options)
  local fn = "decentralised.run"
  check.options(options, kinds, fn)
  check.one_of(options.rule, { "all", "neighbours", "pairs" }, "rule", fn)
  local n, points = options.nodes, options.points or 50
  local self = setmetatable({
    nodes = n, seed = options.seed, model = options.model, rate = options.rate, rule = options.rule, now = 0,
    backup = options.backup or 0, bound = options.bound or 0, slow = options.slow or 0, factor = options.factor or 1,
    random = options.random or 0, models = {}, step = {}, sent = {}, finish = {}, pending = {}, randoms = {}, neighbours = {},
  }, Run)
  local degree = options.rule == "all" and 2 * math.floor(n / 2) or options.degree or 2
  local first = self.model.init(new_rng(self.seed), { nodes = n, seed = self.seed, time = options.time })
  for id = 0, n - 1 do
    self.models[id], self.step[id], self.sent[id] = first, 0, {}
    self.randoms[id], self.neighbours[id] = new_rng(self.seed, 2 ^ 50 + id), neighbours_of(id, n, degree)
  end
  for id = 0, n - 1 do self:begin(id) end
  local out = { x = {}, loss = {}, updates = {}, values = {} }
  local done = 0
  for point = 0, points do
    local time, id = options.time * point / points, self:next()
    while self.finish[id] <= time do
      self.now = self.finish[id]
      self:finished(id)
      done, id = done + 1, self:next()
    end
    local all = {}
    for k = 0, n - 1 do all[k + 1] = self.models[k] end
    out.x[point + 1], out.loss[point + 1], out.updates[point + 1] = time, self.model.loss(mean_of(all)), done
  end
  out.values.steps = done / n
  return out
end

return M
