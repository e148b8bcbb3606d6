--- NoLoCo: DiLoCo without a call of all workers.
local lockstep = require("actor.reproduce.lockstep")
local new_rng = require("actor.rng")
local runs = require("actor.reproduce.runs")
local tensor = require("actor.tensor")

local workers, inner_steps, rate = 8, 50, 0.002
local outer_rate, outer_momentum = 0.7, 0.5

-- Each round has random pairs. `x` counts local steps; the loss is that of worker 0's model.
local function noloco(rounds)
  return function(seed)
    local run = lockstep.new { workers = workers, seed = seed }
    local result = { x = {}, loss = {}, accuracy = {}, values = {} }
    local inner, models, momenta, differences = {}, {}, {}, {}
    for worker = 0, workers - 1 do
      models[worker], momenta[worker] = run.params:clone(), tensor.zeros_like(run.params)
    end
    run:record(result, 0)
    for round = 1, rounds do
      local order = {}
      for worker = 0, workers - 1 do
        order[worker + 1] = worker
        differences[worker] = run:local_steps(worker, inner, models[worker], inner_steps, rate)
      end
      new_rng(seed, round):shuffle(order)
      for first = 1, workers, 2 do
        local a, b = order[first], order[first + 1]
        local model, difference = (models[a] + models[b]) * 0.5, (differences[a] + differences[b]) * 0.5
        for _, worker in ipairs { a, b } do
          momenta[worker]:mul_(outer_momentum):axpy_(outer_rate, model - models[worker] - difference)
          models[worker]:add_(momenta[worker])
        end
      end
      run.params:copy_(models[0])
      run:record(result, round * inner_steps)
    end
    return result
  end
end

---@type actor.reproduce.Paper
return {
  title = "NoLoCo: no-all-reduce low communication training method for large models",
  authors = "Kolehmainen, Blagoev, Donaghy, Ersoy, Nies",
  venue = "arXiv 2506.10911, 2025",
  read = "the abstract; the outer step and its settings in the authors' code",
  setting = "language models of 125M to 6.8B parameters",
  here = "a toy: a network with 32 hidden units on MNIST's digits, 8 workers with 50 local AdamW steps a round, pairs of workers; the outer "
    .. "step has the rate 0.7 and the momentum 0.5, and DiLoCo's 0.7 and 0.9",
  axis = "inner steps", target = { accuracy = 0.85 },
  runs = function(scale)
    local rounds = math.max(2, math.floor(24 * scale))
    local words = ("%d workers, %d rounds of %d steps"):format(workers, rounds, inner_steps)
    return {
      runs.custom("noloco", words, noloco(rounds)),
      runs.custom("diloco", words, lockstep.diloco { workers = workers, rounds = rounds, steps = inner_steps, rate = rate }),
    }
  end,
  claims = {
    {
      text = "converges faster than DiLoCo", place = "abstract", measure = "to_target", of = "noloco", against = "diloco", wants = "less",
      published = "up to 4 % faster",
    },
    {
      text = "the synchronisation step is ten times as fast as DiLoCo's all-reduce", place = "abstract",
      untested = "an estimate for hundreds of accelerators that communicate over the internet",
    },
  },
}
