--- Writes every experiment of the literature into one folder: tables, plots, and a page with the parameters of each and
--- its figures beside the published figures.
local files = require("actor.c.files")
local figures = require("actor.sim.figures")
local page = require("actor.sim.page")
local plot = require("actor.plot")
local psp = require("actor.psp")
local sim = require("actor.sim")
local util = require("actor.util")

local M = {}

local betas = { 1, 2, 4, 8, 16, 32, 64, 128 }

-- The look of a rule in every figure, by its name in the legend. An empty sample looks like ASP. A rule whose sample
-- size is the axis looks like that rule with a sample of ten.
local looks = {
  bsp = 1, ["ssp:4"] = 2, asp = 3, ["pbsp:0"] = 3, ["pbsp:10"] = 4, ["pbsp:beta"] = 4, ["pbsp:beta@event"] = 4,
  ["pssp:10:4"] = 5, ["pssp:beta:4"] = 5, ["pbsp:beta@poll:0.5"] = 6, ["pbsp:beta@sticky"] = 7,
}
for i, beta in ipairs(betas) do looks["pbsp:" .. beta] = 7 + i end

local function subtitle(sweep)
  local base = sweep.base
  local parts = {}
  for _, name in ipairs { "nodes", "time", "work", "straggler" } do
    if base[name] then parts[#parts + 1] = ("%s %s%s"):format(name, base[name], name == "time" and " s" or "") end
  end
  parts[#parts + 1] = sweep.repeats == 1 and "seed " .. base.seed or ("%d seeds from %d"):format(sweep.repeats, base.seed)
  return table.concat(parts, ", ")
end

-- --- tasks of all experiments together, so that no process idles at an experiment's end ---

-- Makes the tasks of an experiment. A rule such as "pbsp:{beta}" gets the number of its point.
local function tasks_of(experiment, tasks)
  for _, sweep in ipairs { experiment.sweep, experiment.beside } do
    for _, task in ipairs(sim.sweep.tasks(sweep)) do
      local spec = sim.sweep.spec_at(task.barrier, task.varied)
      task.series, task.barrier, task.options.barrier = task.barrier, spec, spec
      if task.varied.beta then task.options.beta = nil end
      task.experiment, task.index, task.train = experiment.id, #tasks + 1, experiment.train
      task.is_beside = sweep == experiment.beside
      tasks[#tasks + 1] = task
    end
  end
end

local function run_all(experiments, options)
  local tasks, rows = {}, {}
  for _, experiment in ipairs(experiments) do
    rows[experiment.id] = { main = {}, beside = {} }
    tasks_of(experiment, tasks)
  end
  local execute = sim.pool.executor {
    jobs = options.jobs, args = { "sim", "--worker" }, execute = sim.sweep.execute, field = "experiment",
    label = "experiments", quiet = options.quiet,
  }
  execute(tasks, function(row)
    local task = tasks[row.index]
    local own = rows[task.experiment][task.is_beside and "beside" or "main"]
    own[#own + 1] = row
  end)
  return rows
end

-- --- comparisons ---

local function same_point(reference, group)
  for name, value in pairs(reference.varied or {}) do
    if group.varied[name] ~= value then return false end
  end
  return reference.barrier == group.barrier
end

local function compared(what, published, stats)
  return { what = what, published = published, mean = stats.mean, half = stats.high - stats.mean, n = stats.n,
    least = stats.least, most = stats.most }
end

-- Rows with a published figure beside the simulated figure.
local function comparisons(experiment, groups)
  local out = {}
  for _, reference in ipairs(experiment.references or {}) do
    for _, group in ipairs(groups) do
      if same_point(reference, group) then
        local what = reference.barrier
        for name, value in pairs(reference.varied or {}) do
          if name ~= "beta" then what = ("%s, %s %s"):format(what, name, tostring(value)) end
        end
        out[#out + 1] = compared(what .. ": mean step", reference.mean, group.stats.mean_step)
        if reference.sd then
          out[#out + 1] = compared(what .. ": deviation over the nodes", reference.sd, group.stats.sd_step)
        end
      end
    end
  end
  return out
end

-- The published means as markers, over the bars or at their places on the axis.
local function markers(experiment, options, groups)
  if options.kind ~= "mean" or options.normalise or not experiment.references then return nil end
  local x, y = {}, {}
  if #experiment.varied == 0 then
    for i, group in ipairs(groups) do
      y[i] = 0 / 0
      for _, reference in ipairs(experiment.references) do
        if same_point(reference, group) then y[i] = reference.mean end
      end
    end
    return { { name = "published", y = y } }
  end
  for _, reference in ipairs(experiment.references) do
    x[#x + 1] = figures.number_of(reference.varied[experiment.varied[1]], options.x_of)
    y[#y + 1] = reference.mean
  end
  return { { name = "published", x = x, y = y } }
end

-- --- writing ---

local function save(path, text)
  local fine, message = plot.save(path, text)
  if not fine then error(message, 0) end
end

local function write_table(dir, experiment, rows)
  local path = ("%s/%s.csv"):format(dir, experiment.id)
  local base = sim.table.configuration(experiment.sweep.base)
  table.insert(base, 1, "actorhost sim " .. require("actor").version)
  local file, message = sim.table.open(path, "csv", base, experiment.varied)
  if not file then error(message, 0) end
  for _, row in ipairs(rows) do file:add(row) end
  file:finish()
end

local function write_experiment(dir, experiment, rows)
  write_table(dir, experiment, util.joined(rows.main, rows.beside))
  local groups = sim.summary.groups(rows.main)
  local section = {
    id = experiment.id, title = experiment.title, about = experiment.about, parameters = subtitle(experiment.sweep),
    files = {}, comparisons = comparisons(experiment, groups), csv = experiment.id .. ".csv",
  }
  for _, wanted in ipairs(experiment.plots) do
    local options = util.merged(wanted, {
      looks = looks, varied = experiment.varied, subtitle = section.parameters,
      references = markers(experiment, wanted, groups),
    })
    local svg = assert(figures.draw(wanted.beside and util.joined(rows.main, rows.beside) or rows.main, options))
    local name = ("%s-%s.svg"):format(experiment.id, wanted.id)
    save(dir .. "/" .. name, svg)
    section.files[#section.files + 1] = name
  end
  return section
end

-- The bounds need no simulation.
M.published_minima = { -- beta, of the mean, of the second moment
  { 1, 14.66, 62.25 }, { 2, 12.71, 48.57 }, { 4, 11.39, 40.20 }, { 8, 10.57, 35.38 }, { 16, 10.08, 32.67 }, { 128, 9.58, 29.93 },
}

local function write_bounds(dir)
  local section = {
    id = "bounds", title = "Convergence bounds", parameters = "r = 4, T = 10000, F(r) = a^(1/beta)", files = {}, comparisons = {},
    about = "Bounds of the mean and of the second moment of how late an update is, against a = F(r)^beta.",
  }
  for moment, name in ipairs { "mean", "second moment" } do
    local series = {}
    for i, beta in ipairs(betas) do
      series[i] = psp.curve { beta = beta, r = 4, T = 10000, moment = moment }
      series[i].name, series[i].look = "beta = " .. beta, looks["pbsp:" .. beta]
    end
    local file = ("bounds-%d.svg"):format(moment)
    save(dir .. "/" .. file, plot.line {
      title = "Bound of the " .. name, subtitle = section.parameters, series = series,
      x = { label = "a" }, y = { label = "bound of the " .. name, log = true, max = moment == 1 and 100 or 1000 },
    })
    section.files[moment] = file
  end
  for _, row in ipairs(M.published_minima) do
    for moment, name in ipairs { "mean", "second moment" } do
      local best = psp.best_a { beta = row[1], r = 4, T = 10000, moment = moment }
      section.comparisons[#section.comparisons + 1] = {
        what = ("beta %d: least bound of the %s, at a = %.3f"):format(row[1], name, best.a), published = row[moment + 1],
        mean = best.value, half = 0, n = 1, least = best.value, most = best.value,
      }
    end
  end
  return section
end

---Runs all experiments and writes them into `dir`. Returns nil and a message after an error.
---@param dir string a folder, created if absent
---@param options {jobs: integer, repeats?: integer, seed?: integer, quiet?: boolean} repeats: seeds of each run, default 10, from `seed` up, default 1
---@return true?
---@return string? message
function M.run(dir, options)
  local made, message = files.make_directory(dir)
  if not made then return nil, message end
  local experiments = require("actor.sim.experiments")(options.repeats or 10, options.seed or 1)
  local rows = run_all(experiments, options)
  local sections = {}
  for i, experiment in ipairs(experiments) do sections[i] = write_experiment(dir, experiment, rows[experiment.id]) end
  sections[#sections + 1] = write_bounds(dir)
  return plot.save(dir .. "/index.html", page.html(sections))
end

return M
