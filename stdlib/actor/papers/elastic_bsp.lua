--- ElasticBSP: barriers where the predicted waiting is least.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "Elastic bulk synchronous parallel model for distributed deep learning",
  authors = "Zhao, Papagelis, An, Chen, Liu, Hu",
  venue = "ICDM 2019",
  read = "the abstract, and the abstract of the longer paper of 2021 on ZipLine; the rule elastic names its departures",
  setting = "deep networks with a parameter server (the sizes were not read)",
  here = "linear regression on 8 simulated workers, of which some are up to 3 times as slow as others; a lookahead of 15 steps",
  runs = function(scale)
    local function run(name, barrier)
      return runs.train(name, {
        barrier = barrier, nodes = 8, time = 200 * scale, work = "0.8+exp(0.2)", speed = "uniform(1,3)", model = "linear",
        rates = runs.around(1 / 8, 3, 2),
      })
    end
    return { run("bsp", "bsp"), run("elastic:15", "elastic:15"), run("ssp:3", "ssp:3") }
  end,
  claims = {
    {
      text = "reduces the waiting time against BSP", place = "abstract of 2021", measure = "waiting", of = "elastic:15",
      against = "bsp", wants = "less",
    },
    {
      text = "converges faster than BSP", place = "abstract", measure = "to_target", of = "elastic:15", against = "bsp", wants = "less",
    },
    {
      text = "converges to a higher accuracy than BSP (here: a lower loss)", place = "abstract", measure = "loss", of = "elastic:15",
      against = "bsp", wants = "less",
    },
  },
}
