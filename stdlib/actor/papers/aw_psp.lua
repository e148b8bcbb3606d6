--- Availability-weighted PSP: samples that favour nodes that are often available.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "Robust synchronisation for federated learning in the face of correlated device failure",
  authors = "Behfar, Mortier",
  venue = "arXiv 2604.16090, 2026",
  read = "the abstract; the rule awpsp lacks the paper's correlations, freshness and utility, which a barrier's view does not have",
  setting = "federated learning under traces of device failures",
  here = "linear regression on 50 simulated workers that fail after 60 seconds on average and return after 10; a sample of 5 "
    .. "workers and a bound of 2 steps. Failures are independent, and label coverage has no counterpart here",
  runs = function(scale)
    local function run(name, barrier)
      return runs.train(name, {
        barrier = barrier, nodes = 50, time = 200 * scale, work = "0.5+exp(0.5)", failures = "60:10", model = "linear",
        rates = runs.around(1 / 50, 2, 2),
      })
    end
    return { run("pssp:5:2", "pssp:5:2"), run("awpsp:5:2", "awpsp:5:2") }
  end,
  claims = {
    {
      text = "more robust to failures than PSP (here: sooner at the target)", place = "abstract", measure = "to_target",
      of = "awpsp:5:2", against = "pssp:5:2", wants = "less",
    },
    {
      text = "less variance of fairness than PSP (here: of the nodes' steps)", place = "abstract", measure = "sd_step",
      of = "awpsp:5:2", against = "pssp:5:2", wants = "less",
    },
    {
      text = "increases label coverage", place = "abstract",
      untested = "the simulated workers draw from the same data, so labels are not tied to devices",
    },
  },
}
