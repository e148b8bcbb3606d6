--- FedAsync: each client's model is mixed into the global model, with a weight for its age.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "Asynchronous federated optimization",
  authors = "Xie, Koyejo, Gupta",
  venue = "arXiv 1903.03934, 2019",
  read = "the abstract; the rule in the authors' code",
  setting = "CIFAR-10 and WikiText-2 (from a summary)",
  here = "a quadratic whose centre differs from client to client, on 32 simulated clients with 10 local steps a round; a fifth of "
    .. "the clients is 5 times as slow. Federated averaging is BSP with the mean; clients push differences",
  runs = function(scale)
    local function run(name, barrier, merge, rates, straggler)
      return runs.train(name, {
        barrier = barrier, merge = merge, nodes = 32, time = 300 * scale, work = "0.5+exp(0.5)", straggler = straggler or "0.2:5x",
        model = { steps = 10, inner = 0.05, spread = 1, noise = 0.5 }, rates = rates,
      })
    end

    local mixed, mean = runs.around(1 / 4, 4, 2), runs.around(1 / 32, 2, 3)
    return {
      run("fedavg", "bsp", "all", mean), run("fedasync", "asp", "fedasync:1:0.5", mixed),
      run("fedasync, constant weight", "asp", "fedasync:1:0", mixed), run("fedasync, no stragglers", "asp", "fedasync:1:0.5", mixed, "0:1x"),
    }
  end,
  claims = {
    {
      text = "converges quickly: faster than synchronous federated averaging", place = "abstract (quickly)", measure = "to_target",
      of = "fedasync", against = "fedavg", wants = "less",
    },
    {
      text = "tolerates staleness: within 25 % of the time without stragglers", place = "abstract (tolerates)", measure = "to_target",
      of = "fedasync", against = "fedasync, no stragglers", wants = "as", within = 0.25,
    },
    {
      text = "the weight for age is better than a constant weight", place = "a summary: adaptive mixing mitigates staleness", measure = "to_target",
      of = "fedasync", against = "fedasync, constant weight", wants = "less",
    },
  },
}
