--- AD-PSGD: workers average in pairs, and no worker waits.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "Asynchronous decentralized parallel stochastic gradient descent",
  authors = "Lian, Zhang, Zhang, Liu",
  venue = "ICML 2018",
  read = "the abstract and the introduction; the algorithm in two other implementations",
  setting = "ResNet-50 on ImageNet on up to 128 GPUs",
  here = "a quadratic whose centre differs from worker to worker, on 16 simulated workers on a ring with 4 neighbours each; one "
    .. "worker is 10 times as slow. Messages take no time, so a congested server has no counterpart",
  runs = function(scale)
    local function run(name, rule, slow, rates)
      return runs.decentralised(name, {
        rule = rule, nodes = 16, degree = 4, time = 400 * scale, slow = slow, factor = 10, model = { noise = 0.2, spread = 0.3 },
        rates = rates or runs.around(1 / 2, 3, 3),
      })
    end
    return {
      run("all-reduce", "all", 1), run("d-psgd", "neighbours", 1), run("ad-psgd", "pairs", 1), run("all-reduce, equal workers", "all", 0),
      run("ad-psgd, equal workers", "pairs", 0),
    }
  end,
  claims = {
    {
      text = "faster than all-reduce SGD in a heterogeneous environment", place = "abstract", measure = "to_target", of = "ad-psgd",
      against = "all-reduce", wants = "less", published = "often by orders of magnitude",
    },
    {
      text = "faster than decentralised SGD in a heterogeneous environment", place = "abstract", measure = "to_target", of = "ad-psgd",
      against = "d-psgd", wants = "less", published = "often by orders of magnitude",
    },
    {
      text = "converges per update like all-reduce SGD (within 25 %)", place = "abstract", measure = "updates",
      of = "ad-psgd, equal workers", against = "all-reduce, equal workers", wants = "as", within = 0.25,
    },
  },
}
