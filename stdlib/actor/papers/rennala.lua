--- Rennala SGD: a step with each B gradients of the present model.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "Optimal time complexities of parallel stochastic optimization methods under a fixed computation model",
  authors = "Tyurin, Richtarik",
  venue = "NeurIPS 2023",
  read = "what later papers of the authors say of it in their abstracts; the rule in a transcription and in code of the authors' group",
  setting = "theory (its experiments were not read)",
  here = "a quadratic with noise on 128 simulated workers; their seconds for a step differ by a factor from 1 to 50; steps of 8 "
    .. "gradients",
  target = 0.01,
  runs = function(scale)
    local function run(name, barrier, merge, rates)
      return runs.train(name, {
        barrier = barrier, merge = merge, nodes = 128, time = 2000 * scale, work = "const(1)", speed = "uniform(1,50)",
        model = { noise = 0.1 }, rates = rates,
      })
    end
    return {
      run("rennala:8", "asp", "rennala:8", runs.around(1 / 4, 4, 3)), run("bsp", "bsp", "all", runs.around(1 / 64, 3, 4)),
      run("asp", "asp", "all", runs.around(1 / 64, 3, 4)),
    }
  end,
  claims = {
    {
      text = "faster than synchronous mini-batch SGD under different speeds", place = "abstract of arXiv 2408.04929",
      measure = "to_target", of = "rennala:8", against = "bsp", wants = "less",
    },
    {
      text = "faster than asynchronous SGD under different speeds", place = "abstract of arXiv 2501.16168", measure = "to_target",
      of = "rennala:8", against = "asp", wants = "less",
    },
  },
}
