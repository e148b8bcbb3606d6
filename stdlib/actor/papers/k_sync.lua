--- K-sync: waits for the fastest K workers only.
local runs = require("actor.reproduce.runs")

local rate = 1.5 / 32 -- near the limit of synchronous SGD, where staleness shows

---@type actor.reproduce.Paper
return {
  title = "Slow and stale gradients can win the race: error-runtime trade-offs in distributed SGD",
  authors = "Dutta, Joshi, Ghosh, Dube, Nagpurkar",
  venue = "AISTATS 2018",
  read = "the abstract; the rule ksync names its departure (late workers do not abandon their step)",
  setting = "theory, and CIFAR-10 with random delays",
  here = "linear regression on 32 simulated workers with exponential steps, all with the same learning rate; K is 16, and late "
    .. "gradients are dropped",
  runs = function(scale)
    local function run(name, barrier, merge)
      return runs.train(name, {
        barrier = barrier, merge = merge, nodes = 32, time = 300 * scale, work = "exp(1)", model = "linear", rate = rate,
      })
    end
    return { run("bsp", "bsp", "all"), run("ksync:16", "ksync:16", "drop:0"), run("asp", "asp", "all") }
  end,
  claims = {
    {
      text = "fully synchronous SGD waits for the slowest: K-sync makes more steps", place = "abstract", measure = "steps",
      of = "ksync:16", against = "bsp", wants = "greater",
    },
    {
      text = "asynchronous SGD is fastest: more steps than K-sync", place = "abstract", measure = "steps", of = "asp",
      against = "ksync:16", wants = "greater",
    },
    {
      text = "staleness affects the error: asynchronous SGD ends with a higher loss", place = "abstract", measure = "loss", of = "asp",
      against = "ksync:16", wants = "greater",
    },
    {
      text = "a balance of both is faster than fully synchronous SGD", place = "abstract", measure = "to_target", of = "ksync:16",
      against = "bsp", wants = "less",
    },
  },
}
