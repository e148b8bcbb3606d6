--- Grouping SSP: SSP among workers of similar speed.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "GSSP: eliminating stragglers through grouping synchronous for distributed deep learning in heterogeneous cluster",
  authors = "Sun, Gui, Guo, Qi, Wang, Liao",
  venue = "IEEE Transactions on Cloud Computing 2021",
  read = "the abstract, and the README of the authors' code; the rule gssp names its departures",
  setting = "LeNet-5 on MNIST, ResNet-18 and VGG-19 on CIFAR-10, and a translation task, on 16 workers and 4 servers",
  here = "softmax regression on MNIST on 16 simulated workers, half of them 4 times as slow; the target is an accuracy of 85 %",
  target = { accuracy = 0.85 },
  plots = { { y = "accuracy" } },
  runs = function(scale)
    local function run(name, barrier)
      return runs.train(name, {
        barrier = barrier, nodes = 16, time = 160 * scale, work = "0.8+exp(0.2)", straggler = "0.5:4x", model = "mnist",
        rates = runs.around(1 / 16, 1, 1),
      })
    end
    return { run("bsp", "bsp"), run("ssp:2", "ssp:2"), run("gssp:2", "gssp:2"), run("asp", "asp") }
  end,
  claims = {
    {
      text = "trains faster than SSP in a cluster of different speeds", place = "abstract", measure = "to_target", of = "gssp:2",
      against = "ssp:2", wants = "less", published = "46 % to 120 % faster than the baselines, which the abstract does not name",
    },
    {
      text = "trains faster than BSP", place = "abstract", measure = "to_target", of = "gssp:2", against = "bsp", wants = "less",
    },
    {
      text = "loses little accuracy (here: error within 10 % of BSP's)", place = "abstract", measure = "error", of = "gssp:2",
      against = "bsp", wants = "as", within = 0.1, published = "less than 1 % accuracy drop",
    },
  },
}
