--- Gap-Aware: gradients are divided by how far the model has moved.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "Gap-aware mitigation of gradient staleness",
  authors = "Barkai, Hakimi, Schuster",
  venue = "ICLR 2020",
  read = "the abstract; the rule in code of the authors' group",
  setting = "CIFAR, ImageNet and WikiText-103 on many workers",
  here = "softmax regression on MNIST on 32 and 64 simulated workers without a barrier, plain SGD. The accepted penalty is the "
    .. "division by the staleness (here by 1 + staleness). The paper's momentum is left out",
  plots = { { y = "accuracy" } },
  runs = function(scale)
    local function run(name, merge, nodes, rates)
      return runs.train(name, {
        barrier = "asp", merge = merge, nodes = nodes, time = 40 * scale, work = "gamma(4,0.25)", model = "mnist", rates = rates,
      })
    end
    return {
      run("asp, 32 workers", "all", 32, runs.around(1 / 32, 1, 2)), run("gap_aware, 32 workers", "gap_aware", 32, runs.around(1 / 32, 0, 4)),
      run("staleness-aware, 32 workers", "polynomial:1", 32, runs.around(1 / 2, 1, 3)),
      run("gap_aware, 64 workers", "gap_aware", 64, runs.around(1 / 32, 0, 4)),
      run("staleness-aware, 64 workers", "polynomial:1", 64, runs.around(1 / 2, 1, 3)),
    }
  end,
  claims = {
    {
      text = "lower test error than division by the staleness, 32 workers", place = "abstract", measure = "error",
      of = "gap_aware, 32 workers", against = "staleness-aware, 32 workers", wants = "less",
    },
    {
      text = "lower test error than division by the staleness, 64 workers", place = "abstract", measure = "error",
      of = "gap_aware, 64 workers", against = "staleness-aware, 64 workers", wants = "less",
    },
    {
      text = "lower test error than asynchronous SGD without a penalty", place = "abstract", measure = "error",
      of = "gap_aware, 32 workers", against = "asp, 32 workers", wants = "less",
    },
    {
      text = "momentum becomes beneficial in asynchronous training", place = "abstract",
      untested = "the simulator's server makes plain SGD steps",
    },
  },
}
