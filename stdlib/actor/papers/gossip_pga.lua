--- Gossip-PGA: gossip with a global average every H rounds.
local graph = require("actor.graph")
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "Accelerating gossip SGD with periodic global averaging",
  authors = "Chen, Yuan, Zhang, Pan, Xu, Yin",
  venue = "ICML 2021",
  read = "the abstract",
  setting = "ResNet-50 on images and BERT on text, on clusters of GPUs",
  here = "a quadratic whose centre differs from node to node, on a ring of 32 nodes, with a global average every 12 rounds; local SGD "
    .. "has only these averages. Rounds count, so all take equally long, and all have the same rate",
  axis = "rounds",
  runs = function(scale)
    local alone = graph.of(function() return {} end, "gossip_pga")
    local function run(name, of)
      return runs.gossip(name, {
        graph = of, nodes = 32, rounds = math.floor(400 * scale), model = { noise = 0.1, spread = 1, dims = 10 },
        rate = 0.1,
      })
    end
    return { run("gossip", "ring"), run("gossip-pga", graph.periodic("ring", 12)), run("local sgd", graph.periodic(alone, 12)) }
  end,
  claims = {
    {
      text = "converges in fewer rounds than gossip SGD on a sparse graph", place = "abstract", measure = "to_target",
      of = "gossip-pga", against = "gossip", wants = "less",
    },
    {
      text = "converges in fewer rounds than local SGD with the same period", place = "abstract", measure = "to_target",
      of = "gossip-pga", against = "local sgd", wants = "less",
    },
  },
}
