--- Probabilistic synchronous parallel: barriers over a random sample of the workers. The published figures are those of
--- independent programs with the same settings (actor.sim.experiments).
local experiments = require("actor.sim.experiments")
local paper = require("actor.sim.paper")
local psp = require("actor.psp")
local runs = require("actor.reproduce.runs")
local util = require("actor.util")

local compared = { barriers = "figure of five barriers", stragglers = "figure of stragglers", slowness = "figure of slowness" }

local function name_of(id, reference)
  local varied = reference.varied and (", " .. select(2, next(reference.varied))) or ""
  return ("%s: %s%s"):format(id, reference.barrier, varied)
end

-- The runs of the published figures, and the figures.
local function of_experiments()
  local simulated, published = {}, {}
  for _, experiment in ipairs(experiments(1, 1)) do
    for _, reference in ipairs(compared[experiment.id] and experiment.references or {}) do
      local name = name_of(experiment.id, reference)
      simulated[#simulated + 1] = runs.simulate(name, util.merged(experiment.sweep.base, reference.varied or {}, { barrier = reference.barrier }))
      published[#published + 1] = {
        what = name .. ", mean step", place = compared[experiment.id], value = reference.mean, run = name, measure = "steps",
      }
    end
  end
  for _, row in ipairs(paper.published_minima) do
    for moment, name in ipairs { "mean", "second moment" } do
      published[#published + 1] = {
        what = ("beta %d: least bound of the %s"):format(row[1], name), place = "figure of the bounds", value = row[moment + 1],
        here = psp.best_a({ beta = row[1], r = 4, T = 10000, moment = moment }).value,
      }
    end
  end
  return simulated, published
end

---@type actor.reproduce.Paper
return {
  title = "Probabilistic synchronous parallel",
  authors = "Wang, Catterall, Mortier",
  venue = "arXiv 1709.07772, 2017",
  read = "the abstract, the definitions, and the published figures by way of independent simulators with the same settings",
  setting = "a simulator with 100 to 1000 nodes, and linear regression",
  here = "the same settings for the figures; linear regression on 100 nodes, of which five are 4 times as slow, for convergence; 100 "
    .. "and 500 nodes for scalability",
  published = select(2, of_experiments()),
  runs = function(scale)
    local out = of_experiments()
    for _, barrier in ipairs { "bsp", "ssp:4", "asp", "pbsp:10", "pssp:10:4" } do
      out[#out + 1] = runs.train(barrier, {
        barrier = barrier, nodes = 100, time = 160 * scale, work = "1+exp(1)", straggler = "0.05:4x", model = "linear",
        rates = runs.around(1 / 100, 2, 2),
      })
    end
    for _, barrier in ipairs { "bsp", "pbsp:10" } do
      for _, nodes in ipairs { 100, 500 } do
        out[#out + 1] = runs.simulate(("%s, %d nodes"):format(barrier, nodes), {
          barrier = barrier, nodes = nodes, time = 100 * scale, work = "1+exp(1)", straggler = "0.05:10x",
        })
      end
    end
    return out
  end,
  claims = {
    {
      text = "pBSP converges faster than BSP", place = "abstract", measure = "to_target", of = "pbsp:10", against = "bsp",
      wants = "less",
    },
    {
      text = "pSSP converges faster than SSP", place = "abstract", measure = "to_target", of = "pssp:10:4", against = "ssp:4",
      wants = "less",
    },
    {
      text = "pBSP converges faster than ASP", place = "abstract", measure = "to_target", of = "pbsp:10", against = "asp",
      wants = "less",
    },
    {
      text = "pBSP scales: with 500 nodes as many steps as with 100 (within 10 %)", place = "abstract", measure = "time_of_step",
      of = "pbsp:10, 500 nodes", against = "pbsp:10, 100 nodes", wants = "as", within = 0.1,
    },
  },
  more = function(dir, options)
    local done, message = paper.run(dir, options)
    if not done then return nil, message end
    return "all experiments on barriers, with plots and tables"
  end,
}
