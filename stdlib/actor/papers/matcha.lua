--- MATCHA: each round averages over some matchings of a graph only.
local graph = require("actor.graph")
local new_rng = require("actor.rng")
local runs = require("actor.reproduce.runs")
local util = require("actor.util")

local nodes = 16

-- A random geometric graph: nodes at random places of a square, with edges up to a distance of 0.4. Draws until it is
-- connected.
local function geometric(seed)
  local random, x, y = new_rng(seed), {}, {}
  for id = 0, nodes - 1 do x[id], y[id] = random:uniform(), random:uniform() end
  local made = graph.of(function(_, id, n)
    local out = {}
    for other = 0, n - 1 do
      if other ~= id and (x[other] - x[id]) ^ 2 + (y[other] - y[id]) ^ 2 <= 0.16 then out[other] = 1 / n end
    end
    return out
  end, "matcha")
  return graph.is_connected(made, nodes, 1) and made or geometric(seed + 1)
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
    .. "second, and a second for each partner of the node with the most partners; the budget is a half or a fifth of all matchings; all have the same rate",
  plots = { { y = "loss", log_y = true }, { y = "distance", log_y = true } },
  runs = function(scale)
    local base
    local function run(name, budget)
      local plan
      local function of_plan(round, id)
        base = base or geometric(1)
        plan = plan or graph.matcha(base, budget)
        return plan(round, id, nodes)
      end
      return runs.gossip(name, {
        graph = of_plan, nodes = nodes, rounds = math.floor(400 * scale / budget), budget = budget,
        seconds = function(round)
          local most = 0
          for id = 0, nodes - 1 do most = math.max(most, #util.sorted_keys(of_plan(round, id))) end
          return 0.1 + most
        end,
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
