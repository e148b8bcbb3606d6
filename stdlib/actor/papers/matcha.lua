--- MATCHA: each round averages over some matchings of a graph only.
local matchings = require("actor.reproduce.matchings")
local runs = require("actor.reproduce.runs")

local nodes = 16
local plans = {} -- by budget

-- The graph and the active matchings of a budget, a share of all matchings.
local function plan_of(budget)
  if not plans[budget] then
    local parts = matchings.decompose(nodes, matchings.geometric(nodes, 0.4))
    local p = matchings.probabilities(nodes, parts, budget * #parts)
    local graph, active = matchings.graph(parts, p, (matchings.share(nodes, parts, p)))
    plans[budget] = { graph = graph, active = active }
  end
  return plans[budget]
end

---@type actor.reproduce.Paper
return {
  title = "MATCHA: speeding up decentralized SGD via matching decomposition sampling",
  authors = "Wang, Sahu, Yang, Joshi, Kar",
  venue = "arXiv 1905.09435, 2019",
  read = "the abstract; the algorithm in the authors' code, with a search on a grid for the share of an edge; no "
    .. "node sends more than its whole model",
  setting = "a suite of data sets and deep networks, on given graphs (the sizes were not read)",
  here = "a quadratic whose centre differs from node to node, on a random geometric graph of 16 nodes. A round takes a tenth of a "
    .. "second, and a second for each active matching; the budget is a half or a fifth of all matchings; all have the same rate",
  plots = { { y = "loss", log_y = true }, { y = "distance", log_y = true } },
  runs = function(scale)
    local function run(name, budget)
      return runs.gossip(name, {
        graph = function(round, id) return plan_of(budget).graph(round, id) end, nodes = nodes, rounds = math.floor(400 * scale / budget),
        seconds = function(round) return 0.1 + plan_of(budget).active(round) end, budget = budget,
        model = { noise = 0.1, spread = 0.3, dims = 10 }, rate = 0.1,
      })
    end
    return { run("all matchings", 1), run("matcha, half", 0.5), run("matcha, a fifth", 0.2) }
  end,
  claims = {
    {
      text = "less time to the same loss than vanilla decentralised SGD, half", place = "abstract", measure = "to_target",
      of = "matcha, half", against = "all matchings", wants = "less", published = "up to 5 times less",
    },
    {
      text = "less time to the same loss than vanilla decentralised SGD, a fifth", place = "abstract", measure = "to_target",
      of = "matcha, a fifth", against = "all matchings", wants = "less", published = "up to 5 times less",
    },
    {
      text = "preserves fast error convergence (rounds to the target within 25 %), half", place = "abstract", measure = "updates",
      of = "matcha, half", against = "all matchings", wants = "as", within = 0.25,
    },
  },
}
