--- Asynchronous local SGD: pushes of local steps one by one, and momentum on the server.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "Asynchronous local-SGD training for language modeling",
  authors = "Liu, Chhaparia, Douillard, Kale, Rusu, Shen, Szlam, Ranzato",
  venue = "arXiv 2401.09135, 2024",
  read = "the abstract and the algorithms; delayed Nesterov is algorithm 3",
  setting = "language models of up to 150M parameters on C4, workers of different speeds",
  here = "a toy: a quadratic whose centre differs from worker to worker, on 8 simulated workers with 20 local steps a round, of "
    .. "which some are up to 4 times as slow. The number of local steps does not follow the speed (DyLU is left out). The outer rates are in the range of the paper's, up to 0.7",
  target = 0.03,
  runs = function(scale)
    local function run(name, barrier, merge, rates)
      return runs.train(name, {
        barrier = barrier, merge = merge, nodes = 8, time = 400 * scale, work = "0.8+exp(0.2)", speed = "uniform(1,4)",
        model = { steps = 20, inner = 0.05, spread = 0.3, noise = 0.3, condition = 10 }, rates = rates,
      })
    end
    return {
      run("synchronous Nesterov", "bsp", "delayed_nesterov:8", runs.around(0.7, 4, 0)),
      run("asynchronous Nesterov", "asp", "delayed_nesterov:1", runs.around(0.7, 4, 0)),
      run("delayed Nesterov", "asp", "delayed_nesterov:8", runs.around(0.7, 4, 0)),
    }
  end,
  claims = {
    {
      text = "naive asynchronous training takes more updates than synchronous", place = "abstract", measure = "updates",
      of = "asynchronous Nesterov", against = "synchronous Nesterov", wants = "greater",
    },
    {
      text = "delayed Nesterov matches synchronous training per update (within 25 %)", place = "abstract", measure = "updates",
      of = "delayed Nesterov", against = "synchronous Nesterov", wants = "as", within = 0.25,
    },
    {
      text = "delayed Nesterov surpasses synchronous training in time", place = "abstract", measure = "to_target", of = "delayed Nesterov",
      against = "synchronous Nesterov", wants = "less",
    },
  },
}
