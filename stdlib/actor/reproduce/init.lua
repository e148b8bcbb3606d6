--- Published experiments again: a file of actor.papers has the runs and the claims of a paper, and this module runs
--- them with several seeds and judges each claim (`verdict`). For `actorhost reproduce`.
---
--- A run with several learning rates uses the rate with which four runs with other seeds learn fastest. So no method
--- is compared at the best rate of another.
local check = require("actor.check")
local spelling = require("actor.c.names")
local summary = require("actor.sim.summary")
local train = require("actor.sim.train")
local verdict = require("actor.reproduce.verdict")

local M = {}

---The names of the papers: `stdlib/actor/papers/NAME.lua`.
M.names = {
  "psp", "ssp", "dssp", "elastic_bsp", "gssp", "aw_psp", "backup_workers", "k_sync", "fedasync", "fedbuff", "seafl",
  "gap_aware", "delay_adaptive", "arbitrary_delays", "ringmaster", "rennala", "clipped_asgd", "basgd", "median",
  "ad_psgd", "hop", "matcha", "base_k", "one_peer", "gossip_pga", "diloco", "noloco",
  "async_local_sgd", "power_sgd",
}

local tuning_seeds, tuning_from = 4, 1000 -- the seeds that choose a rate begin so far above the first seed
local least_pairs = 0.8                   -- share of the pairs of runs that a verdict needs
local default_target = 0.05               -- share of the loss at the start

---@class actor.reproduce.Paper
---@field title string
---@field authors string
---@field venue string
---@field read string what of the paper was read, and where its rules were read
---@field setting string what the paper ran
---@field here string what runs here
---@field axis? string what the x of a curve counts; default "simulated seconds"
---@field target? number|{accuracy: number} the target of the measure `to_target`: a share of the loss at the start (default 0.05), or an accuracy
---@field runs fun(scale: number): actor.reproduce.Run[] scale: 1, or less for shorter runs
---@field claims actor.reproduce.Claim[]
---@field published? actor.reproduce.Published[] figures of the paper
---@field more? fun(dir: string, options: {jobs: integer, repeats: integer, seed: integer, quiet?: boolean}): string?, string? writes further pages into a folder, and returns the text of a link to them; nil and a message after an error
---@field plots? {y: string, log_y?: boolean, only?: string, axis?: string}[] of the curves; default the loss. only: of the runs with this in their name

---@class actor.reproduce.Claim
---@field text string what the paper says
---@field place string where
---@field of? string the name of a run
---@field against? string|number the name of the run to compare with, or a number
---@field measure? string see M.measures; or a name in the run's `values`
---@field wants? "less"|"greater"|"as"
---@field within? number for "as": a ratio of at most 1 + within counts
---@field published? string the paper's figure, in its words: "up to 5 times less"
---@field untested? string why the claim is not tested

---@class actor.reproduce.Published
---@field what string
---@field place string
---@field value number
---@field run? string
---@field measure? string
---@field here? number for a figure that no run gives

---The measures of a run, with their names in a report.
M.measures = {
  to_target = "to the target", updates = "updates to the target", loss = "loss at the end", error = "error at the end",
  accuracy = "accuracy at the end", distance = "distance at the end", steps = "steps of a node", done = "updates",
  waiting = "share of waiting", sd_step = "deviation of the nodes' steps", least_share = "steps of the slowest / mean",
  time_of_step = "seconds of a step", staleness = "staleness", sent = "numbers sent", after_period = "distance after a period",
}

---Returns a paper; raises an error for an unknown name.
---@param name string
---@return actor.reproduce.Paper
function M.paper(name)
  for _, known in ipairs(M.names) do
    if known == name then return require("actor.papers." .. name) end
  end
  local suggestion = spelling.suggestion(name, M.names)
  check.fail("there is no paper '%s'%s", name, suggestion ~= "" and suggestion or "; `actorhost reproduce --list` names all")
end

-- --- one run ---

---@class actor.reproduce.Task plain data, for another process
---@field index integer
---@field paper string
---@field run string
---@field seed integer
---@field scale number
---@field rate? number

local function find(runs, name)
  for _, run in ipairs(runs) do
    if run.name == name then return run end
  end
  check.fail("there is no run '%s'", name)
end

---Runs one task.
---@param task actor.reproduce.Task
---@return actor.reproduce.Result
function M.execute(task) return find(M.paper(task.paper).runs(task.scale), task.run).run(task.seed, task.rate) end

-- Where the curve reaches the target; see train.reach.
local function reach(row, target)
  if type(target) == "table" then return train.reach(row.accuracy, target.accuracy, true) end
  return train.reach(row.loss, target * row.loss[1])
end

---Returns a measure of a run's result, and whether its target was reached (true for measures without a target).
---@param row actor.reproduce.Result
---@param measure string
---@param target? number|{accuracy: number}
---@return number
---@return boolean reached
function M.measure(row, measure, target)
  local value = row.values[measure]
  if value then return value, true end
  if measure == "to_target" or measure == "updates" then
    local curve = measure == "updates" and row.updates or row.x
    local k, share = reach(row, target or default_target)
    if not k then return curve[#curve], false end
    local before = curve[k - 1] or 0
    return before + share * (curve[k] - before), true
  end
  if measure == "error" then return 1 - row.accuracy[#row.accuracy], true end
  local curve = row[measure]
  if not curve then check.fail("a run has no measure '%s'", measure) end
  return curve[#curve], true
end

-- --- the choice of rates ---

local function tuning_tasks(papers, options, scale)
  local tasks = {}
  for _, paper in ipairs(papers) do
    for _, run in ipairs(paper.runs) do
      for _, rate in ipairs(run.rates or {}) do
        for k = 1, tuning_seeds do
          tasks[#tasks + 1] = {
            index = #tasks + 1, paper = paper.name, run = run.name, seed = options.seed + tuning_from + k, scale = scale,
            rate = rate,
          }
        end
      end
    end
  end
  return tasks
end

-- How fast a run learns; less is better. A run that misses the target is worse than each that reaches it.
local function slowness(row, target)
  local at, reached = M.measure(row, "to_target", target)
  if reached then return at end
  local last = row.loss[#row.loss] / row.loss[1]
  return at * (2 + (last == last and math.min(last, 1e6) or 1e6))
end

local function choose_rates(papers, tasks, rows)
  local by_run = {}
  for i, task in ipairs(tasks) do
    local key = task.paper .. " " .. task.run
    by_run[key] = by_run[key] or {}
    by_run[key][task.rate] = (by_run[key][task.rate] or 0) + rows[i]
  end
  for _, paper in ipairs(papers) do
    for _, run in ipairs(paper.runs) do
      local least
      for _, rate in ipairs(run.rates or {}) do
        local sum = by_run[paper.name .. " " .. run.name][rate]
        if not least or sum < least then run.rate, least = rate, sum end
      end
      if run.rates then run.at_edge = run.rate == run.rates[1] or run.rate == run.rates[#run.rates] end
    end
  end
end

-- --- the report ---

-- The mean of a curve over the runs, at each place.
local function mean_curve(rows, name)
  local out = {}
  for k = 1, #(rows[1][name] or {}) do
    local sum = 0
    for _, row in ipairs(rows) do sum = sum + row[name][k] end
    out[k] = sum / #rows
  end
  return out
end

-- The measure of each row, and in `missed` the rows that do not reach the target.
local function measured(run, measure, target)
  local out, missed = {}, { n = 0 }
  for k, row in ipairs(run.rows) do
    local value, there = M.measure(row, measure, target)
    out[k], missed[k] = verdict.clamped(value), not there
    missed.n = missed.n + (there and 0 or 1)
  end
  return out, missed
end

-- The pairs that show which run is sooner at the target. A run that misses it counts with its end, if the other run
-- was there before; otherwise the pair shows nothing.
local function informative(of, missed, against, also_missed)
  local a, b = {}, {}
  for k, value in ipairs(of) do
    local other = against[k]
    if not (missed[k] and also_missed[k] or missed[k] and value < other or also_missed[k] and other < value) then
      a[#a + 1], b[#b + 1] = value, other
    end
  end
  return a, b
end

local function judge(paper, claim, confidence)
  local out = { text = claim.text, place = claim.place, published = claim.published, untested = claim.untested }
  if claim.untested then
    out.verdict = "not tested"
    return out
  end
  local target, values, also_missed = paper.paper.target, {}, { n = 0 }
  local of, missed = measured(find(paper.runs, claim.of), claim.measure, target)
  if type(claim.against) == "number" then
    for k = 1, #of do values[k] = claim.against end
  else
    values, also_missed = measured(find(paper.runs, claim.against), claim.measure, target)
  end
  local a, b = informative(of, missed, values, also_missed)
  for name, value in pairs(verdict.judge(a, b, claim, confidence)) do out[name] = value end
  if #a < least_pairs * #of then out.verdict = "undecided" end
  out.of, out.against, out.measure, out.wants, out.within = claim.of, claim.against, claim.measure, claim.wants, claim.within
  out.of_mean, out.against_mean = summary.mean(of).mean, summary.mean(values).mean
  out.seeds, out.reached, out.against_reached = #of, #of - missed.n, #of - also_missed.n
  return out
end

local function beside(paper)
  local out = {}
  for i, figure in ipairs(paper.paper.published or {}) do
    local mean
    if figure.here then
      mean = summary.mean { figure.here }
    else
      mean = summary.mean((measured(find(paper.runs, figure.run), figure.measure, paper.paper.target)))
    end
    out[i] = {
      what = figure.what, place = figure.place, published = figure.value, mean = mean.mean, half = mean.high - mean.mean,
      n = mean.n, least = mean.least, most = mean.most,
    }
  end
  return out
end

-- Runs the tasks; returns what `of` makes of each row.
local function rows_of(tasks, execute, of)
  local rows = {}
  execute(tasks, function(row)
    local k = #rows + 1
    rows[k] = of(row, tasks[k])
  end)
  return rows
end

---Runs the experiments of some papers.
---@param names string[]
---@param options {seeds: integer, seed?: integer, quick?: boolean, scale?: number, execute?: fun(tasks: actor.reproduce.Task[], on_row: fun(row: table))} scale: of the length of the runs, default 1, or 0.5 with `quick`
---@return table report
function M.run(names, options)
  check.options(options, { seeds = "number", seed = "number?", quick = "boolean?", scale = "number?", execute = "function?" },
    "reproduce.run")
  local scale, seed = options.scale or options.quick and 0.5 or 1, options.seed or 1
  local execute = options.execute or function(tasks, on_row)
    for _, task in ipairs(tasks) do on_row(M.execute(task)) end
  end
  local papers, claims = {}, 0
  for i, name in ipairs(names) do
    local paper = M.paper(name)
    papers[i] = { name = name, paper = paper, runs = {} }
    for k, run in ipairs(paper.runs(scale)) do
      papers[i].runs[k] = { name = run.name, words = run.words, rates = run.rates, rows = {} }
    end
    for _, claim in ipairs(paper.claims) do claims = claims + (claim.untested and 0 or 1) end
  end

  local tuning = tuning_tasks(papers, { seed = seed }, scale)
  choose_rates(papers, tuning, rows_of(tuning, execute, function(row, task)
    return slowness(row, M.paper(task.paper).target)
  end))
  local tasks, owners = {}, {}
  for _, paper in ipairs(papers) do
    for _, run in ipairs(paper.runs) do
      for k = 1, options.seeds do
        tasks[#tasks + 1] = {
          index = #tasks + 1, paper = paper.name, run = run.name, seed = seed + k - 1, scale = scale, rate = run.rate,
        }
        owners[#tasks] = run
      end
    end
  end
  rows_of(tasks, execute, function(row, task)
    local run = owners[task.index]
    run.rows[#run.rows + 1] = row
    return true
  end)

  local report = { claims = claims, seeds = options.seeds, seed = seed, quick = options.quick or false, papers = papers }
  report.confidence = verdict.confidence(claims)
  for _, paper in ipairs(papers) do
    paper.claims, paper.published = {}, beside(paper)
    for i, claim in ipairs(paper.paper.claims) do paper.claims[i] = judge(paper, claim, report.confidence) end
    for _, run in ipairs(paper.runs) do
      run.curves = {}
      for _, name in ipairs { "x", "loss", "accuracy", "distance", "updates" } do run.curves[name] = mean_curve(run.rows, name) end
      run.rows = nil
    end
  end
  return report
end

return M
