--- Delay-adaptive asynchronous SGD: smaller steps for gradients of a large delay.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "Sharper convergence guarantees for asynchronous SGD for distributed and federated learning",
  authors = "Koloskova, Stich, Jaggi",
  venue = "NeurIPS 2022",
  read = "the abstract and the algorithm (algorithm 1, theorem 8, section 4.4)",
  setting = "theory (its experiments were not read)",
  here = "a quadratic with noise on 32 simulated workers with exponential steps; a tenth of them is 20 times as slow",
  target = 0.02,
  runs = function(scale)
    local function run(name, barrier, merge, straggler, rates)
      return runs.train(name, {
        barrier = barrier, merge = merge, nodes = 32, time = 300 * scale, work = "exp(1)", straggler = straggler,
        model = { noise = 0.3 }, rates = rates or runs.around(1 / 32, 3, 3),
      })
    end

    return {
      run("bsp", "bsp", "all", "0.1:20x"), run("asp", "asp", "all", "0.1:20x"), run("delay_adaptive", "asp", "delay_adaptive", "0.1:20x"),
      run("bsp, equal workers", "bsp", "all", "0:1x"), run("asp, equal workers", "asp", "all", "0:1x"),
    }
  end,
  claims = {
    {
      text = "asynchronous SGD is always faster than mini-batch SGD: with stragglers", place = "abstract", measure = "to_target",
      of = "asp", against = "bsp", wants = "less",
    },
    {
      text = "asynchronous SGD is always faster than mini-batch SGD: equal workers", place = "abstract", measure = "to_target",
      of = "asp, equal workers", against = "bsp, equal workers", wants = "less",
    },
    {
      text = "the delay-adaptive rate is faster than a constant rate with stragglers", place = "abstract", measure = "to_target",
      of = "delay_adaptive", against = "asp", wants = "less",
    },
  },
}
