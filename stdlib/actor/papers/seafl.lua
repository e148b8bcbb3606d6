--- SEAFL: buffered federated learning, with weights by staleness and by importance.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "SEAFL: enhancing efficiency in semi-asynchronous federated learning through adaptive aggregation and selective training",
  authors = "Islam, Panta, Xu, Yuan, Chen, Tzeng",
  venue = "arXiv 2503.05755, 2025",
  read = "the abstract; the formula of its weights could not be read, so no rule here has its name",
  setting = "three data sets split over clients of different speeds",
  here = "the nearest rule that could be read, Port (Su, Li, IWQoS 2022: weights by staleness and by similarity to the last updates, "
    .. "from the authors' code), against a buffer with equal weights: a quadratic whose centre differs from client to client, on "
    .. "32 simulated clients with 10 local steps a round; a fifth of the clients is 5 times as slow; a buffer of 8",
  runs = function(scale)
    local function run(name, barrier, merge, rates, straggler)
      return runs.train(name, {
        barrier = barrier, merge = merge, nodes = 32, time = 300 * scale, work = "0.5+exp(0.5)", straggler = straggler or "0.2:5x",
        model = { steps = 10, inner = 0.05, spread = 1, noise = 0.5 }, rates = rates,
      })
    end

    local rates = runs.around(1, 3, 2)
    return { run("buffer:8", "asp", "buffer:8", runs.around(1 / 4, 2, 3)), run("fedbuff:8", "asp", "fedbuff:8", rates), run("port:8", "asp", "port:8", rates) }
  end,
  claims = {
    {
      text = "SEAFL is faster than its closest counterpart", place = "abstract", published = "up to 22 % less time to the target",
      untested = "its weights could not be read",
    },
    {
      text = "weights by staleness and importance are faster than equal weights (with Port's)", place = "abstract",
      measure = "to_target", of = "port:8", against = "buffer:8", wants = "less",
    },
  },
}
