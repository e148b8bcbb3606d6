--- Base-(k+1) graphs: exact averages after a few rounds, for every number of nodes.
local runs = require("actor.reproduce.runs")

local function consensus(spec) return runs.consensus(spec .. ", 25 nodes, numbers", spec, 25, 18) end

---@type actor.reproduce.Paper
return {
  title = "Beyond exponential graph: communication-efficient topologies for decentralized learning via finite-time convergence",
  authors = "Takezawa, Sato, Bao, Niwa, Yamada",
  venue = "NeurIPS 2023",
  read = "the abstract; a review of the paper for the claim on the one-peer graph; the graph in the authors' code",
  setting = "learning on graphs, by several decentralised methods (the sizes and the figures were not read)",
  here = "consensus of random numbers on 25 nodes; and a quadratic whose centre differs from node to node, all graphs with the same rate. A "
    .. "round takes a tenth of a second, and a second for each partner",
  plots = { { y = "distance", log_y = true, only = "numbers", axis = "rounds" }, { y = "loss", log_y = true } },
  runs = function(scale)
    local function run(name)
      return runs.gossip(name, {
        graph = name, nodes = 25, rounds = math.floor(600 * scale), model = { noise = 0.1, spread = 1, dims = 10 }, compute = 0.1,
        link = 1, rate = 0.1,
      })
    end
    return {
      consensus("base:1"), consensus("base:2"), consensus("one_peer"), consensus("exponential"),
      run("base:1"), run("base:2"), run("one_peer"), run("exponential"), run("ring"),
    }
  end,
  claims = {
    {
      text = "base-2 reaches the exact mean of 25 nodes in a period", place = "abstract", measure = "after_period",
      of = "base:1, 25 nodes, numbers", against = 1e-9, wants = "less",
    },
    {
      text = "base-3 reaches the exact mean of 25 nodes in a period", place = "abstract", measure = "after_period",
      of = "base:2, 25 nodes, numbers", against = 1e-9, wants = "less",
    },
    {
      text = "one-peer exponential does not reach it unless n is a power of 2", place = "a review of the paper", measure = "after_period",
      of = "one_peer, 25 nodes, numbers", against = 1e-9, wants = "greater",
    },
    {
      text = "base-2 learns with less communication than the exponential graph", place = "abstract", measure = "to_target",
      of = "base:1", against = "exponential", wants = "less",
    },
    {
      text = "base-2 learns better than one-peer exponential", place = "abstract", measure = "loss", of = "base:1",
      against = "one_peer", wants = "less",
    },
  },
}
