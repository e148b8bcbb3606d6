--- Asynchronous SGD under arbitrary delays: the number of workers matters, not the delays.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "Asynchronous SGD beats minibatch SGD under arbitrary delays",
  authors = "Mishchenko, Bach, Even, Woodworth",
  venue = "NeurIPS 2022",
  read = "the abstract; the delay-adaptive rate in the authors' notebook",
  setting = "theory (its experiments were not read)",
  here = "a quadratic with noise on 32 simulated workers with exponential steps; a tenth of them is 10 or 100 times as slow, so their "
    .. "delays differ by a factor of ten",
  target = 0.02,
  runs = function(scale)
    local function run(name, barrier, merge, straggler, rates)
      return runs.train(name, {
        barrier = barrier, merge = merge, nodes = 32, time = 300 * scale, work = "exp(1)", straggler = straggler,
        model = { noise = 0.3 }, rates = rates or runs.around(1 / 32, 3, 3),
      })
    end

    return {
      run("bsp, 10x", "bsp", "all", "0.1:10x"), run("asp, 10x", "asp", "all", "0.1:10x"), run("asp, 100x", "asp", "all", "0.1:100x"),
      run("delay-adaptive, 10x", "asp", "delay_adaptive", "0.1:10x"), run("delay-adaptive, 100x", "asp", "delay_adaptive", "0.1:100x"),
    }
  end,
  claims = {
    {
      text = "asynchronous SGD is faster than synchronous mini-batch SGD", place = "abstract", measure = "to_target", of = "asp, 10x",
      against = "bsp, 10x", wants = "less",
    },
    {
      text = "the time does not depend on the delays (100 against 10 times, within 25 %)", place = "abstract", measure = "to_target",
      of = "asp, 100x", against = "asp, 10x", wants = "as", within = 0.25,
    },
    {
      text = "with delay-adaptive rates the time does not depend on the delays (within 25 %)", place = "abstract", measure = "to_target", of = "delay-adaptive, 100x",
      against = "delay-adaptive, 10x", wants = "as", within = 0.25,
    },
  },
}
