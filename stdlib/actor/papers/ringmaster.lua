--- Ringmaster ASGD: asynchronous SGD that drops gradients of a large delay.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "Ringmaster ASGD: the first asynchronous SGD with optimal time complexity",
  authors = "Maranjyan, Tyurin, Richtarik",
  venue = "ICML 2025",
  read = "the abstract, in the proceedings; the rule in a later draft of the first author and its code",
  setting = "a quadratic and MNIST with emulated speeds (from a survey; the figures were not read)",
  here = "a quadratic of 20 dimensions with noise on 128 simulated workers; their seconds for a step differ by a factor from "
    .. "1 to 50; Ringmaster drops delays of 8 updates and more; the form without cancelled steps",
  target = 0.01,
  runs = function(scale)
    local function run(name, barrier, merge, rates)
      return runs.train(name, {
        barrier = barrier, merge = merge, nodes = 128, time = 2000 * scale, work = "const(1)", speed = "uniform(1,50)",
        model = { noise = 0.1 }, rates = rates,
      })
    end
    return {
      run("ringmaster:8", "asp", "ringmaster:8", runs.around(1 / 8, 4, 3)), run("asp", "asp", "all", runs.around(1 / 64, 3, 4)),
      run("rennala:8", "asp", "rennala:8", runs.around(1 / 4, 4, 3)), run("bsp", "bsp", "all", runs.around(1 / 64, 3, 4)),
    }
  end,
  claims = {
    {
      text = "faster than asynchronous SGD under different speeds", place = "abstract", measure = "to_target",
      of = "ringmaster:8", against = "asp", wants = "less",
    },
    {
      text = "as fast as Rennala SGD, which is optimal too (within 10 %)", place = "abstract", measure = "to_target",
      of = "ringmaster:8", against = "rennala:8", wants = "as", within = 0.1,
    },
    {
      text = "faster than synchronous SGD under different speeds", place = "abstract", measure = "to_target",
      of = "ringmaster:8", against = "bsp", wants = "less",
    },
  },
}
