--- Dynamic stale synchronous parallel: SSP with a bound that each worker chooses at run time.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "Dynamic stale synchronous parallel distributed training for deep learning",
  authors = "Zhao, An, Liu, Chen",
  venue = "ICDCS 2019",
  read = "the abstract (its last sentences are cut off in the copy), and the algorithm for this library's rule dssp",
  setting = "deep networks on clusters of equal and of different GPUs",
  here = "linear regression on 8 simulated workers, of which some are up to 4 times as slow as others; the bound is 3, or from 3 "
    .. "to 15 for DSSP",
  runs = function(scale)
    local function run(name, barrier)
      return runs.train(name, {
        barrier = barrier, nodes = 8, time = 200 * scale, work = "0.8+exp(0.2)", speed = "uniform(1,4)", model = "linear",
        rates = runs.around(1 / 8, 3, 2),
      })
    end
    return { run("bsp", "bsp"), run("ssp:3", "ssp:3"), run("dssp:3:15", "dssp:3:15"), run("asp", "asp") }
  end,
  claims = {
    {
      text = "reduces the waiting time against SSP", place = "abstract", measure = "waiting", of = "dssp:3:15", against = "ssp:3",
      wants = "less",
    },
    {
      text = "makes more updates than SSP in the same time", place = "abstract", measure = "done", of = "dssp:3:15",
      against = "ssp:3", wants = "greater",
    },
    {
      text = "converges faster than SSP", place = "abstract", measure = "to_target", of = "dssp:3:15", against = "ssp:3",
      wants = "less",
    },
  },
}
