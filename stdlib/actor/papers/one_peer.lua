--- One-peer exponential graphs: one partner a round, and an exact mean after log2(n) rounds.
local graph = require("actor.graph")
local runs = require("actor.reproduce.runs")

local function consensus(nodes)
  return runs.consensus(("numbers, %d nodes"):format(nodes), "one_peer", nodes, graph.one_peer.period(nodes))
end

---@type actor.reproduce.Paper
return {
  title = "Exponential graph is provably efficient for decentralized deep training",
  authors = "Ying, Yuan, Chen, Hu, Pan, Yin",
  venue = "NeurIPS 2021",
  read = "the abstract; the graphs in the authors' code",
  setting = "a variety of tasks and models (the sizes were not read)",
  here = "consensus of random numbers; and a quadratic whose centre differs from node to node, on 16 nodes. All graphs have the same rate. A round takes a tenth of a "
    .. "second, and a second for each partner",
  plots = { { y = "loss", log_y = true }, { y = "distance", log_y = true, only = "numbers", axis = "rounds" } },
  runs = function(scale)
    local function run(name)
      return runs.gossip(name, {
        graph = name, nodes = 16, rounds = math.floor(600 * scale), model = { noise = 0.1, spread = 1, dims = 10 }, compute = 0.1,
        link = 1, rate = 0.1,
      })
    end
    return { consensus(16), consensus(64), run("one_peer"), run("exponential"), run("ring") }
  end,
  claims = {
    {
      text = "log2(n) one-peer graphs together average exactly, 16 nodes", place = "abstract", measure = "after_period",
      of = "numbers, 16 nodes", against = 1e-9, wants = "less",
    },
    {
      text = "log2(n) one-peer graphs together average exactly, 64 nodes", place = "abstract", measure = "after_period",
      of = "numbers, 64 nodes", against = 1e-9, wants = "less",
    },
    {
      text = "one-peer averages as effectively as the static graph (loss within 25 %)", place = "abstract", measure = "loss",
      of = "one_peer", against = "exponential", wants = "as", within = 0.25,
    },
    {
      text = "one-peer communicates more efficiently (time to the target)", place = "abstract", measure = "to_target", of = "one_peer",
      against = "exponential", wants = "less",
    },
  },
}
