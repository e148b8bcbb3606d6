--- Stale synchronous parallel: a worker may be some steps ahead of the slowest.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "More effective distributed ML via a stale synchronous parallel parameter server",
  authors = "Ho, Cipar, Cui, Lee, Kim, Gibbons, Gibson, Ganger, Xing",
  venue = "NIPS 2013",
  read = "the abstract, in the proceedings",
  setting = "several machine learning problems on a cluster (the sizes were not read)",
  here = "linear regression on 32 simulated workers; at any time a tenth of the workers is 3 times as slow, and the slow "
    .. "workers change every 10 seconds; the staleness bound is 3",
  runs = function(scale)
    local function run(name, barrier)
      return runs.train(name, {
        barrier = barrier, nodes = 32, time = 200 * scale, work = "0.5+exp(0.5)", straggler = "0.1:3x@10", model = "linear",
        rates = runs.around(1 / 32, 3, 2),
      })
    end
    return { run("bsp", "bsp"), run("ssp:3", "ssp:3"), run("asp", "asp") }
  end,
  claims = {
    {
      text = "workers spend less time waiting than under BSP", place = "abstract", measure = "waiting", of = "ssp:3",
      against = "bsp", wants = "less",
    },
    {
      text = "converges faster than fully synchronous training", place = "abstract", measure = "to_target", of = "ssp:3",
      against = "bsp", wants = "less",
    },
    {
      text = "converges faster than asynchronous training", place = "abstract", measure = "to_target", of = "ssp:3",
      against = "asp", wants = "less",
    },
  },
}
