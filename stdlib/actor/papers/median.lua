--- The median and the trimmed mean of gradients, against Byzantine workers.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "Byzantine-robust distributed learning: towards optimal statistical rates",
  authors = "Yin, Chen, Ramchandran, Bartlett",
  venue = "ICML 2018",
  read = "the abstract; the rules median and trimmed_mean are the elementwise median and trimmed mean",
  setting = "theory (its experiments were not read)",
  here = "linear regression on 20 simulated workers under BSP, of which 4 send the negated gradient, 3 times as large",
  runs = function(scale)
    local function run(name, merge, attack)
      return runs.train(name, {
        barrier = "bsp", merge = merge, attack = attack, nodes = 20, time = 150 * scale, work = "0.5+exp(0.5)", model = "linear",
        rates = runs.around(1, 3, 2),
      })
    end
    return {
      run("mean, attacked", "mean", "sign:4:3"), run("median, attacked", "median", "sign:4:3"),
      run("trimmed mean, attacked", "trimmed_mean:4", "sign:4:3"), run("mean", "mean"), run("median", "median"),
    }
  end,
  claims = {
    {
      text = "the median is robust: lower loss under attack than the mean", place = "abstract", measure = "loss",
      of = "median, attacked", against = "mean, attacked", wants = "less",
    },
    {
      text = "the trimmed mean is robust: lower loss under attack than the mean", place = "abstract", measure = "loss",
      of = "trimmed mean, attacked", against = "mean, attacked", wants = "less",
    },
    {
      text = "order-optimal rate: the median under attack within 50 % of the mean's time without", place = "abstract (the order)",
      measure = "to_target", of = "median, attacked", against = "mean", wants = "as", within = 0.5,
    },
  },
}
