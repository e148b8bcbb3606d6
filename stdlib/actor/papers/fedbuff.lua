--- FedBuff: the server makes a step with each K updates of clients.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "Federated learning with buffered asynchronous aggregation",
  authors = "Nguyen, Malik, Zhan, Yousefpour, Rabbat, Malek, Huba",
  venue = "AISTATS 2022",
  read = "the abstract of both versions; the rule in the authors' code, FLSim",
  setting = "federated learning with many clients (the tasks were not read)",
  here = "a quadratic whose centre differs from client to client, on 32 simulated clients with 10 local steps a round; a fifth of "
    .. "the clients is 5 times as slow; a buffer of 8 updates. Federated averaging is BSP with the mean",
  runs = function(scale)
    local function run(name, barrier, merge, rates, straggler)
      return runs.train(name, {
        barrier = barrier, merge = merge, nodes = 32, time = 300 * scale, work = "0.5+exp(0.5)", straggler = straggler or "0.2:5x",
        model = { steps = 10, inner = 0.05, spread = 1, noise = 0.5 }, rates = rates,
      })
    end

    return {
      run("fedavg", "bsp", "all", runs.around(1 / 32, 2, 3)), run("fedbuff:8", "asp", "fedbuff:8", runs.around(1, 3, 2)),
      run("fedasync", "asp", "fedasync:1:0.5", runs.around(1 / 4, 4, 2)),
    }
  end,
  claims = {
    {
      text = "faster than synchronous federated learning", place = "abstract", measure = "to_target", of = "fedbuff:8",
      against = "fedavg", wants = "less", published = "3.3 times as efficient, up to 3.8 times in the first version",
    },
    {
      text = "faster than asynchronous federated learning (FedAsync)", place = "abstract", measure = "to_target", of = "fedbuff:8",
      against = "fedasync", wants = "less", published = "up to 2.5 times as efficient",
    },
  },
}
