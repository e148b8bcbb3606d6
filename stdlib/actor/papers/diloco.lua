--- DiLoCo: many local AdamW steps, then an outer step with Nesterov momentum.
local lockstep = require("actor.reproduce.lockstep")
local optim = require("actor.optim")
local runs = require("actor.reproduce.runs")
local tensor = require("actor.tensor")

local inner_steps = 50
local per_point = 50

-- AdamW on the mean gradient of all workers in each step.
local function synchronous(workers, steps, rate, split)
  return function(seed)
    local run = lockstep.new { workers = workers, seed = seed, split = split }
    local optimiser, params = optim.adamw { lr = rate }, run.params
    local result = { x = {}, loss = {}, accuracy = {}, values = {} }
    run:record(result, 0)
    for step = 1, steps do
      local mean = tensor.zeros_like(params)
      for worker = 0, workers - 1 do mean:axpy_(1 / workers, run:gradient(worker)) end
      optimiser:step({ params }, { mean })
      if step % per_point == 0 then run:record(result, step) end
    end
    return result
  end
end

---@type actor.reproduce.Paper
return {
  title = "DiLoCo: distributed low-communication training of language models",
  authors = "Douillard and others",
  venue = "arXiv 2311.08105, 2023",
  read = "the abstract and parts of the text; the outer step in two other implementations",
  setting = "language models on C4, 8 workers with 500 local AdamW steps a round",
  here = "a toy: a network with 32 hidden units on MNIST's digits, 8 workers with 50 local AdamW steps a round; the outer step has the "
    .. "rate 0.7 and the momentum 0.9. Where data differ, half of each batch is of one or two classes that the worker has; the paper divides texts by clusters",
  axis = "inner steps",
  runs = function(scale)
    local rounds = math.max(2, math.floor(24 * scale))
    local rate = 0.002
    local function diloco(name, options)
      options.workers, options.rounds, options.steps, options.rate = 8, rounds, inner_steps, rate
      return runs.custom(name, ("8 workers, %d rounds of %d steps"):format(rounds, inner_steps), lockstep.diloco(options))
    end
    return {
      runs.custom("synchronous", ("8 workers, %d steps"):format(rounds * inner_steps), synchronous(8, rounds * inner_steps, rate)),
      diloco("diloco", {}),
      diloco("diloco, data differ", { split = true }),
      diloco("diloco, 8 then 4 workers", { size_of = function(round, all) return round <= all / 2 and 8 or 4 end }),
    }
  end,
  claims = {
    {
      text = "performs as well as fully synchronous training (error within 10 %)", place = "abstract", measure = "error",
      of = "diloco", against = "synchronous", wants = "as", within = 0.1,
    },
    {
      text = "communicates 500 times less", place = "abstract",
      untested = "the number of inner steps sets it: 50 times less here",
    },
    {
      text = "robust to the data distribution of each worker (error within 25 %)", place = "abstract", measure = "error",
      of = "diloco, data differ", against = "diloco", wants = "as", within = 0.25,
    },
    {
      text = "robust to workers that become unavailable (error within 10 %)", place = "abstract", measure = "error",
      of = "diloco, 8 then 4 workers", against = "diloco", wants = "as", within = 0.1,
    },
  },
}
