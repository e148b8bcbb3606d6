--- Hop: backup workers and bounded staleness on a graph.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "Hop: heterogeneity-aware decentralized training",
  authors = "Luo, Lin, Zhuo, Qian",
  venue = "ASPLOS 2019",
  read = "the abstract; its queues and its skipped iterations could not be read",
  setting = "a CNN and an SVM on machines of different speeds",
  here = "a worker on a ring with 4 neighbours averages with the models of its neighbours' same step, without the latest neighbour "
    .. "(a backup worker), or with models up to 4 steps old; a quadratic whose centre differs from worker to worker, 16 simulated "
    .. "workers. At random a tenth of all steps takes 6 times as long",
  runs = function(scale)
    local function run(name, more)
      local options = {
        rule = "neighbours", nodes = 16, degree = 4, time = 300 * scale, random = 0.1, factor = 6, model = { noise = 0.2, spread = 0.3 },
        rates = runs.around(1 / 2, 3, 3),
      }
      for key, value in pairs(more) do options[key] = value end
      return runs.decentralised(name, options)
    end
    return { run("standard", {}), run("backup", { backup = 1 }), run("bounded staleness", { bound = 4 }) }
  end,
  claims = {
    {
      text = "backup workers are faster than standard decentralised training", place = "abstract", measure = "to_target",
      of = "backup", against = "standard", wants = "less",
    },
    {
      text = "bounded staleness is faster than standard decentralised training", place = "abstract", measure = "to_target",
      of = "bounded staleness", against = "standard", wants = "less",
    },
    {
      text = "skipped iterations mitigate slow workers further", place = "abstract", untested = "their definition could not be read",
    },
  },
}
