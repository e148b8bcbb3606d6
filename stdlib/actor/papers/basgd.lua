--- BASGD: asynchronous SGD over buffers with a robust mean.
local runs = require("actor.reproduce.runs")

---@type actor.reproduce.Paper
return {
  title = "BASGD: buffered asynchronous SGD for Byzantine learning",
  authors = "Yang, Li",
  venue = "ICML 2021",
  read = "the abstract and section 3 of an earlier version of the paper, where its algorithm 2 is missing",
  setting = "images and text, 30 workers of which 3 or 6 attack, and 10 or 15 buffers",
  here = "softmax regression on MNIST on 30 simulated workers of which 3 send the negated gradient, 10 times as large (the paper's "
    .. "negative gradient attack); 10 buffers and the median; the target is an accuracy of 80 %",
  target = { accuracy = 0.8 },
  plots = { { y = "accuracy" } },
  runs = function(scale)
    local function run(name, merge, attack, rates)
      return runs.train(name, {
        barrier = "asp", merge = merge, attack = attack, nodes = 30, time = 60 * scale, work = "exp(1)", model = "mnist", rates = rates,
      })
    end
    local plain, buffered = runs.around(1 / 30, 2, 2), runs.around(1 / 2, 2, 1)
    return {
      run("asp, attacked", "all", "sign:3:10", plain), run("basgd:10, attacked", "basgd:10", "sign:3:10", buffered),
      run("asp", "all", nil, plain), run("basgd:10", "basgd:10", nil, buffered),
    }
  end,
  claims = {
    {
      text = "under attack BASGD is better than asynchronous SGD (lower error)", place = "abstract", measure = "error",
      of = "basgd:10, attacked", against = "asp, attacked", wants = "less",
    },
    {
      text = "BASGD resists: error under attack within 25 % of the error without", place = "abstract", measure = "error",
      of = "basgd:10, attacked", against = "basgd:10", wants = "as", within = 0.25,
    },
    {
      text = "without attack BASGD is about as good as asynchronous SGD (error within 25 %)", place = "abstract of an earlier version",
      measure = "error", of = "basgd:10", against = "asp", wants = "as", within = 0.25,
    },
  },
}
