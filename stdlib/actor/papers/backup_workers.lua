--- Synchronous SGD with backup workers.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "Revisiting distributed synchronous SGD",
  authors = "Chen, Pan, Monga, Bengio, Jozefowicz",
  venue = "arXiv 1604.00981, 2016",
  read = "the abstract; the rules backup and drop name the paper",
  setting = "deep networks on large data (the abstract has no figures)",
  here = "linear regression on 32 simulated workers; in each step a tenth of the workers takes 5 times as long; 4 backup workers, "
    .. "whose late gradients are dropped",
  runs = function(scale)
    local function run(name, barrier, merge)
      return runs.train(name, {
        barrier = barrier, merge = merge, nodes = 32, time = 200 * scale, work = "0.8+exp(0.2)", straggler = "0.1:5x@1", model = "linear",
        rates = runs.around(1 / 32, 3, 2),
      })
    end
    return { run("bsp", "bsp", "all"), run("backup:4", "backup:4", "drop:0"), run("asp", "asp", "all") }
  end,
  claims = {
    {
      text = "converges faster than synchronous SGD without backup workers", place = "abstract", measure = "to_target",
      of = "backup:4", against = "bsp", wants = "less",
    },
    {
      text = "converges faster than asynchronous SGD", place = "abstract", measure = "to_target", of = "backup:4", against = "asp",
      wants = "less",
    },
    {
      text = "reaches a better test accuracy than asynchronous SGD (here: a lower loss)", place = "abstract", measure = "loss",
      of = "backup:4", against = "asp", wants = "less",
    },
  },
}
