--- Clipped asynchronous SGD: clipping bounds what a late gradient can do.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "Clipping makes distributed and federated asynchronous SGD robust to stragglers",
  authors = "Erickson, Johansson",
  venue = "arXiv 2606.13287, 2026",
  read = "the abstract and the introduction; the rule in a third party's audit of the paper",
  setting = "theory under heavy-tailed noise, and experiments (not read)",
  here = "a quadratic on 32 simulated workers with noise of Student's t distribution with 3 degrees of freedom; a quarter of the "
    .. "workers is 30 times as slow; clipped to norms of at most 2",
  target = 0.01,
  runs = function(scale)
    local function run(name, merge, straggler)
      return runs.train(name, {
        barrier = "asp", merge = merge, nodes = 32, time = 600 * scale, work = "exp(1)", straggler = straggler,
        model = { noise = 0.2, heavy = true, condition = 50 }, rates = runs.around(1 / 32, 4, 3),
      })
    end
    return {
      run("asp, 30x", "all", "0.25:30x"), run("clip:2, 30x", "clip:2", "0.25:30x"), run("asp, equal workers", "all", "0:1x"),
      run("clip:2, equal workers", "clip:2", "0:1x"),
    }
  end,
  claims = {
    {
      text = "clipped ASGD is robust to stragglers (within 25 % of equal workers)", place = "title, abstract", measure = "to_target",
      of = "clip:2, 30x", against = "clip:2, equal workers", wants = "as", within = 0.25,
    },
    {
      text = "without clipping slow workers harm (more time than with equal workers)", place = "abstract", measure = "to_target",
      of = "asp, 30x", against = "asp, equal workers", wants = "greater",
    },
    {
      text = "with stragglers clipping is faster than none", place = "abstract", measure = "to_target", of = "clip:2, 30x",
      against = "asp, 30x", wants = "less",
    },
  },
}
