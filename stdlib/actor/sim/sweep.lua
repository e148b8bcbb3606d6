--- Grids of simulations: every barrier at every point of the varied options, with several seeds each. A task is a plain
--- table, so that another process can run it. Its result is a row of numbers and names.
local check = require("actor.check")
local sim = require("actor.sim")
local util = require("actor.util")

local M = {}

---@class actor.sim.Task
---@field index integer its position in the sweep
---@field barrier string
---@field repeat_ integer 1 .. repeats
---@field options actor.sim.Options of this run, with its seed
---@field varied table<string, string|number> the varied options, at this point
---@field label string? instead of `barrier` in tables
---@field train string? the model to train, in the form of train.from

---@class actor.sim.Sweep
---@field base? actor.sim.Options the common options of all runs
---@field barriers (string|table)[] texts for barrier.from; {spec, label = } sets another name
---@field vary? {[1]: string, [2]: (string|number)[]}[] in order: an option of sim.run and its values
---@field repeats? integer seeds from `base.seed` up; default 1
---@field train? string the model to train: "linear", "mnist rate=0.01"

local function combine(vary, at, chosen, out)
  if at > #vary then
    out[#out + 1] = util.merged(chosen)
    return out
  end
  for _, value in ipairs(vary[at][2]) do
    chosen[vary[at][1]] = value
    combine(vary, at + 1, chosen, out)
  end
  chosen[vary[at][1]] = nil
  return out
end

---Lists every combination of values; the first name changes slowest.
---@param vary {[1]: string, [2]: (string|number)[]}[]
---@return table<string, string|number>[]
function M.points(vary) return combine(vary, 1, {}, {}) end

---Returns a rule's text at a point: the sweep's `beta` there replaces `{beta}`. Other braces stay.
---@param template string
---@param point table<string, string|number>
---@return string
function M.spec_at(template, point)
  return (template:gsub("{([%w_-]+)}", function(name)
    local value = point[name]
    return type(value) == "number" and ("%.12g"):format(value) or value
  end))
end

---@param sweep actor.sim.Sweep
---@return actor.sim.Task[]
function M.tasks(sweep)
  check.options(sweep, { base = "table?", barriers = "table", vary = "table?", repeats = "number?", train = "string?" },
    "sim.sweep")
  check.integer(sweep.repeats or 1, "repeats", "sim.sweep", 1, 1e6)
  local base, tasks = sweep.base or {}, {}
  for _, point in ipairs(M.points(sweep.vary or {})) do
    for _, barrier in ipairs(sweep.barriers) do
      local spec = type(barrier) == "table" and barrier[1] or barrier
      for repeat_ = 1, sweep.repeats or 1 do
        local options = util.merged(base, point)
        options.barrier = point.barrier or spec
        options.seed = (options.seed or 0) + repeat_ - 1
        tasks[#tasks + 1] = {
          index = #tasks + 1, barrier = options.barrier, repeat_ = repeat_, options = options, varied = point,
          label = type(barrier) == "table" and barrier.label or nil, train = sweep.train,
        }
      end
    end
  end
  return tasks
end

-- The number of nodes at each step, as two arrays.
local function histogram(steps)
  local counts, numbers = {}, {}
  for _, step in ipairs(steps) do counts[step] = (counts[step] or 0) + 1 end
  local values = util.sorted_keys(counts)
  for i, step in ipairs(values) do numbers[i] = counts[step] end
  return { values = values, counts = numbers }
end

local function quantile(distribution, q, total)
  local sum = 0
  for i, step in ipairs(distribution.values) do
    sum = sum + distribution.counts[i]
    if sum >= q * total then return step end
  end
  return 0 -- no node remains
end

---Makes the row of a result.
---@param task actor.sim.Task
---@param result actor.sim.Result
---@return table row
function M.row(task, result)
  local options = task.options
  local steps = histogram(result.steps)
  local alive = math.max(result.alive, 1)
  local lived = math.max(result.busy + result.waiting + result.network + result.down, 1e-300)
  local updates = math.max(result.updates, 1)
  local progress = result.progress_inconsistency
  local row = {
    index = task.index, barrier = task.label or task.barrier, series = task.series, ["repeat"] = task.repeat_, seed = options.seed,
    nodes = result.nodes, time = result.time,
    mean_step = result.mean_step, sd_step = result.sd_step, min_step = result.min_step, max_step = result.max_step,
    checks = result.checks, messages = result.messages,
    p5_step = quantile(steps, 0.05, alive), p50_step = quantile(steps, 0.5, alive), p95_step = quantile(steps, 0.95, alive),
    updates = result.updates, alive = result.alive, lost = result.lost,
    busy_share = result.busy / lived, waiting_share = result.waiting / lived, network_share = result.network / lived,
    checks_per_step = result.checks / updates, messages_per_step = result.messages / updates,
    staleness_mean = result.staleness.mean, staleness_max = result.staleness.max,
    progress_mean = progress.mean, progress_sd = progress.sd, progress_skew = progress.skew,
    progress_kurtosis = progress.kurtosis, sequence_mean = result.sequence_inconsistency.mean,
    sequence_sd = result.sequence_inconsistency.sd, emptied = result.emptied,
    histogram = steps, progress = result.progress, varied = task.varied, training = result.training,
  }
  if result.training then
    local last = #result.training.time
    row.training_loss = result.training.loss[last] -- "loss" is the loss of messages
    row.training_accuracy = (result.training.accuracy or {})[last]
  end
  return row
end

---Runs a task.
---@param task actor.sim.Task
---@param on_progress? fun(share: number)
---@return table row
function M.execute(task, on_progress)
  task.options.on_progress = on_progress
  if task.train then return M.row(task, sim.train.execute(task.options, task.train)) end
  return M.row(task, sim.run(task.options))
end

---Runs a sweep in this Lua state; rows arrive in the order of the tasks.
---```lua
---local base = { nodes = 20, time = 20, seed = 1 }
---local rows = actor.sim.sweep.run { barriers = { "bsp", "asp" }, base = base, repeats = 2 }
---print(#rows, rows[1].barrier)  --> 4 bsp
---```
---@param sweep actor.sim.Sweep
---@param on_row? fun(row: table, done: integer, total: integer)
---@return table[] rows
function M.run(sweep, on_row)
  local tasks, rows = M.tasks(sweep), {}
  for i, task in ipairs(tasks) do
    rows[i] = M.execute(task)
    if on_row then on_row(rows[i], i, #tasks) end
  end
  return rows
end

return M
