--- The experiments of the literature on probabilistic barriers as data: simulations, plots, and published figures.
--- Sources: Wang, Catterall, Mortier, Probabilistic synchronous parallel, 2017, and the simulators of that work. The
--- figures are those of independent programs with the same settings.
local util = require("actor.util")

local five = { "bsp", "ssp:4", "asp", "pbsp:10", "pssp:10:4" }

---@class actor.sim.Reference
---@field barrier string
---@field varied? table<string, number|string> the point in the sweep, if an option varies
---@field mean number mean of the steps started
---@field sd? number over the nodes

---@class actor.sim.Experiment
---@field id string stem of its file names
---@field title string
---@field about string description
---@field sweep actor.sim.Sweep without repeats
---@field varied string[]
---@field plots {kind: string, id: string, title?: string, [string]: any}[]
---@field references? actor.sim.Reference[]
---@field beside? actor.sim.Sweep a second sweep for plots with `beside`
---@field train? string a model to train during the simulation

---@param repeats integer
---@param seed integer the first seed
---@return actor.sim.Experiment[]
return function(repeats, seed)
  local function sweep(base, barriers, vary)
    base.work = base.work or "1+exp(1)"
    base.seed = seed
    return { base = base, barriers = barriers, vary = vary, repeats = repeats }
  end
  -- Uses fewer seeds, since a run takes seconds.
  local function trained(base)
    local out = sweep(base, five)
    out.repeats = math.min(repeats, 3)
    return out
  end
  local function at(name, values, barrier)
    local out = {}
    for _, pair in ipairs(values) do
      out[#out + 1] = { barrier = barrier:gsub("{beta}", tostring(pair[1])), varied = { [name] = pair[1] }, mean = pair[2] }
    end
    return out
  end
  return {
    {
      id = "barriers", title = "Five barriers",
      about = "Steps that each node has started by the end. Strict barriers pay for every slow step of any node; a sample of "
        .. "ten keeps most of the progress, with a spread of a few steps.",
      sweep = sweep({ nodes = 200, time = 200 }, five), varied = {},
      plots = {
        { id = "cdf", kind = "cdf" }, { id = "mean", kind = "mean" }, { id = "progress", kind = "progress" },
        { id = "waiting", kind = "waiting" },
      },
      references = {
        { barrier = "bsp", mean = 29.0, sd = 0 }, { barrier = "ssp:4", mean = 82.4, sd = 0.9 },
        { barrier = "pbsp:10", mean = 69.9, sd = 0.4 }, { barrier = "pssp:10:4", mean = 97.7, sd = 2.7 },
        { barrier = "asp", mean = 101.0, sd = 4.8 },
      },
    },
    {
      id = "sample-size", title = "Sample size",
      about = "pBSP between ASP (an empty sample) and BSP (a sample of all), drawing again at each event; SSP, which lets nodes be "
        .. "four steps apart, is where a sample of four is, without its leaders.",
      sweep = sweep({ nodes = 200, time = 200 }, { "pbsp:{beta}" }, { { "beta", { 0, 1, 2, 4, 8, 16, 32, 64 } } }),
      beside = sweep({ nodes = 200, time = 200 }, { "ssp:4" }),
      varied = { "beta" },
      plots = {
        { id = "cdf", kind = "cdf", beside = true }, { id = "mean", kind = "mean", x_label = "sample size" },
        { id = "checks", kind = "checks", x_label = "sample size" },
      },
      references = at("beta", { { 0, 101 }, { 1, 99 }, { 2, 94 }, { 4, 85 }, { 8, 74 }, { 16, 61 }, { 32, 50 }, { 64, 42 } }, "pbsp:{beta}"),
    },
    {
      id = "resampling", title = "When a waiting node draws again",
      about = "The same sample size under three policies: a fresh sample at each event, every half second, or one fixed sample "
        .. "that has to catch up. One run of the sticky policy scatters by more than a step, so its published figures "
        .. "are single draws from that.",
      sweep = sweep({ nodes = 200, time = 200 }, { "pbsp:{beta}@event", "pbsp:{beta}@poll:0.5", "pbsp:{beta}@sticky" },
        { { "beta", { 1, 2, 4, 10, 20 } } }),
      varied = { "beta" }, plots = { { id = "mean", kind = "mean", x_label = "sample size" } },
      references = {
        { barrier = "pbsp:10@sticky", varied = { beta = 10 }, mean = 39.1 },
        { barrier = "pbsp:1@sticky", varied = { beta = 1 }, mean = 61 },
        { barrier = "pbsp:10@event", varied = { beta = 10 }, mean = 69.9 },
      },
    },
    {
      id = "large", title = "A thousand nodes",
      about = "Exponential steps without a constant part, twice as long a run.",
      sweep = sweep({ nodes = 1000, time = 400, work = "exp(1)" }, { "bsp", "pbsp:10", "pssp:10:4", "asp" }), varied = {},
      plots = { { id = "cdf", kind = "cdf" }, { id = "mean", kind = "mean" } },
      references = {
        { barrier = "bsp", mean = 54 }, { barrier = "pbsp:10", mean = 259 }, { barrier = "pssp:10:4", mean = 367 },
        { barrier = "asp", mean = 402 },
      },
    },
    {
      id = "large-sample-size", title = "Sample size among a thousand nodes", about = "As above, for pBSP.",
      sweep = sweep({ nodes = 1000, time = 400, work = "exp(1)" }, { "pbsp:{beta}" }, { { "beta", { 2, 4, 8, 16, 32, 64 } } }),
      varied = { "beta" }, plots = { { id = "mean", kind = "mean", x_label = "sample size", log_x = 2 } },
      references = at("beta", { { 2, 384 }, { 4, 342 }, { 8, 279 }, { 16, 220 }, { 32, 172 }, { 64, 136 } }, "pbsp:{beta}"),
    },
    {
      id = "stragglers", title = "Stragglers",
      about = "A growing share of the nodes is three times as slow.",
      sweep = sweep({ nodes = 100, time = 200 }, five,
        { { "straggler", { "0:3x", "0.05:3x", "0.1:3x", "0.15:3x", "0.2:3x" } } }),
      varied = { "straggler" },
      plots = {
        { id = "mean", kind = "mean", x_label = "share of stragglers" },
        { id = "normalised", kind = "mean", x_label = "share of stragglers", normalise = true },
      },
      references = util.joined(
        { { barrier = "asp", varied = { straggler = "0:3x" }, mean = 101 }, { barrier = "asp", varied = { straggler = "0.2:3x" }, mean = 88 } },
        { { barrier = "bsp", varied = { straggler = "0:3x" }, mean = 33 }, { barrier = "bsp", varied = { straggler = "0.2:3x" }, mean = 14 } },
        { { barrier = "ssp:4", varied = { straggler = "0:3x" }, mean = 85 }, { barrier = "ssp:4", varied = { straggler = "0.2:3x" }, mean = 30 } },
        { { barrier = "pbsp:10", varied = { straggler = "0:3x" }, mean = 67 }, { barrier = "pbsp:10", varied = { straggler = "0.2:3x" }, mean = 43 } },
        { { barrier = "pssp:10:4", varied = { straggler = "0:3x" }, mean = 96 }, { barrier = "pssp:10:4", varied = { straggler = "0.2:3x" }, mean = 74 } }),
    },
    {
      id = "slowness", title = "How slow the stragglers are",
      about = "Five nodes in a hundred, from as fast as the others to ten times as slow.",
      sweep = sweep({ nodes = 100, time = 200 }, five,
        { { "straggler", { "0.05:1x", "0.05:2x", "0.05:4x", "0.05:6x", "0.05:8x", "0.05:10x" } } }),
      varied = { "straggler" },
      plots = {
        { id = "mean", kind = "mean", x_label = "times as slow", x_of = "factor" },
        { id = "normalised", kind = "mean", x_label = "times as slow", x_of = "factor", normalise = true },
      },
      references = {
        { barrier = "asp", varied = { straggler = "0.05:10x" }, mean = 97 }, { barrier = "bsp", varied = { straggler = "0.05:10x" }, mean = 6 },
        { barrier = "ssp:4", varied = { straggler = "0.05:10x" }, mean = 13 },
        { barrier = "pbsp:10", varied = { straggler = "0.05:10x" }, mean = 59 },
        { barrier = "pssp:10:4", varied = { straggler = "0.05:10x" }, mean = 91 },
      },
    },
    {
      id = "scalability", title = "Scalability",
      about = "From 100 to 1000 nodes, five in a hundred of them ten times as slow: the loss of a strict barrier grows, "
        .. "the loss of a sample does not.",
      sweep = sweep({ time = 40, straggler = "0.05:10x" }, five, { { "nodes", { 100, 200, 400, 600, 800, 1000 } } }),
      varied = { "nodes" }, plots = { { id = "mean", kind = "mean", x_label = "nodes" }, { id = "normalised", kind = "mean", x_label = "nodes", normalise = true } },
    },
    {
      id = "inconsistency", title = "Inconsistency",
      about = "The distance of the model at a step's begin from the model at its end: steps of others in between, averaged over the "
        .. "nodes; and the distance of a node's view from a serial round-robin execution.",
      sweep = sweep({ nodes = 200, time = 200 }, five), varied = {},
      plots = {
        { id = "progress", kind = "inconsistency" }, { id = "sequence", kind = "sequence" }, { id = "staleness", kind = "staleness" },
      },
    },
    {
      id = "inconsistency-sample-size", title = "Inconsistency and sample size", about = "As above, for pBSP and pSSP.",
      sweep = sweep({ nodes = 200, time = 200 }, { "pbsp:{beta}", "pssp:{beta}:4" }, { { "beta", { 1, 2, 4, 8, 16, 32, 64 } } }),
      varied = { "beta" },
      plots = {
        { id = "progress", kind = "inconsistency", x_label = "sample size", log_x = 2 },
        { id = "sequence", kind = "sequence", x_label = "sample size", log_x = 2 },
      },
    },
    {
      id = "regression", title = "Training: linear regression",
      about = "Gradients are computed from the model at a step's begin and applied at its end, in simulated order. Against "
        .. "time loose barriers win; against updates, with a rate as small as this model's, staleness hardly shows.",
      sweep = trained({ nodes = 100, time = 100 }), train = "linear", varied = {},
      plots = {
        { id = "time", kind = "loss", log_y = true }, { id = "updates", kind = "loss", by_updates = true, log_y = true },
      },
    },
    {
      id = "digits", title = "Training: handwritten digits",
      about = "Softmax regression on the digits of MNIST (or generated digits, without the files), split over the nodes, "
        .. "five in a hundred of them four times as slow.",
      sweep = trained({ nodes = 100, time = 100, straggler = "0.05:4x" }), train = "mnist", varied = {},
      plots = {
        { id = "accuracy-time", kind = "accuracy" }, { id = "accuracy-updates", kind = "accuracy", by_updates = true },
        { id = "loss-time", kind = "loss" },
      },
    },
  }
end
