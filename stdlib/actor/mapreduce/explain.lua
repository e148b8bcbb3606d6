--- Describes an action in words: its stages before the run, and their figures afterwards.
local datasets = require("actor.mapreduce.dataset")
local plans = require("actor.mapreduce.plan")

local Dataset = datasets.Dataset

local M = {}

local units = { "", " k", " M", " G", " T" }

---"1.23 M": a number with three figures.
---@param n number
---@return string
function M.short(n)
  local unit = 1
  while n >= 1000 and unit < #units do n, unit = n / 1000, unit + 1 end
  if unit == 1 and n % 1 == 0 then return ("%d"):format(n) end
  return (n < 10 and "%.2f%s" or n < 100 and "%.1f%s" or "%.0f%s"):format(n, units[unit])
end

local short = M.short

-- "<- stage 1 (bucket by bucket), stage 2"
local function sources_text(stage, places)
  local out = {}
  for i, need in ipairs(stage.needs) do
    out[i] = ("stage %d%s"):format(places[need.stage], need.wide and " by buckets" or "")
  end
  return #out > 0 and "  <- " .. table.concat(out, ", ") or ""
end

local ends = {
  combine = "combined into %d buckets", buckets = "%d buckets", keyed = "%d buckets by key", distinct = "distinct in %d buckets",
  merged = "%d buckets", sampled = "sampled", ranges = "%d ranges", summarised = "summarised",
}

local function stage_text(i, stage, places)
  local output, label = ends[stage.output.kind], stage.output.label
  output = output and output:format(stage.buckets) or label and label.op
  local text = ("stage %d: %s; %d task%s%s"):format(i, stage.name, stage.tasks, stage.tasks == 1 and "" or "s",
    output and ", " .. output or "")
  local storage = stage.keep and (stage.disk and ", kept on disk" or ", kept") or ""
  return text .. storage .. sources_text(stage, places)
end

local function figures_text(figures)
  local text = ("    %s rows, %sB in; %s rows, %sB out; %.3f s"):format(short(figures.rows_in), short(figures.bytes_in),
    short(figures.rows_out), short(figures.bytes_out), figures.seconds)
  if figures.spilled > 0 then text = text .. ("; %sB spilled"):format(short(figures.spilled)) end
  if figures.reused > 0 then text = text .. ("; %d tasks' rows were there"):format(figures.reused) end
  if figures.runs > figures.tasks - figures.reused then
    text = text .. ("; %d tasks ran again"):format(figures.runs - figures.tasks + figures.reused)
  end
  if figures.skipped > 0 then text = text .. ("; %s records skipped"):format(short(figures.skipped)) end
  return text
end

---Describes the stages of an action on this dataset, with the operations that each stage runs in one pass. After an
---action it also lists the rows, bytes, seconds and spilled bytes of each stage.
---```lua
---print(actor.mapreduce.range(1, 100):distinct():explained():find("distinct") ~= nil)  --> true
---```
---@return string
function Dataset:explained()
  local last = self.last_run
  local stages = last and last.stages or plans.show(self, plans.default_partitions())
  local places, out = {}, {}
  for i, stage in ipairs(stages) do places[stage] = i end
  for i, stage in ipairs(stages) do
    out[#out + 1] = stage_text(i, stage, places)
    if last then out[#out + 1] = figures_text(last.figures.stages[i]) end
  end
  if last then out[#out + 1] = ("%s: %.3f s"):format(last.name, last.figures.seconds) end
  return table.concat(out, "\n")
end

---Prints `explained()`.
---```lua
---local mr = actor.mapreduce
---mr.range(1, 100):map(function(n) return n % 10, 1 end):reduce_by_key(mr.sum):explain()
---
---
-----> stage 1: range, map; 16 tasks, combined into 16 buckets
-----> stage 2: reduce_by_key; 16 tasks  <- stage 1 by buckets
---```
function Dataset:explain() print(self:explained()) end

local LONG_SECONDS = 1

---One line about an action: "mapreduce.collect: 2 stages, 48 tasks, 12.3 M rows, 256 MB in 3.21 s".
---@param run {name: string, figures: table}
---@return string? nil for a short action
function M.summary(run)
  local figures = run.figures
  if figures.seconds < LONG_SECONDS then return nil end
  local tasks, rows, bytes, spilled, again = 0, 0, 0, 0, 0
  for _, stage in ipairs(figures.stages) do
    tasks, rows, bytes = tasks + stage.tasks - stage.reused, rows + stage.rows_in, bytes + stage.bytes_in
    spilled, again = spilled + stage.spilled, again + stage.runs - (stage.tasks - stage.reused)
  end
  local text = ("%s: %d stage%s, %d tasks, %s rows, %sB in %.2f s (%s rows/s, %sB/s)"):format(run.name, #figures.stages,
    #figures.stages == 1 and "" or "s", tasks, short(rows), short(bytes), figures.seconds, short(rows / figures.seconds),
    short(bytes / figures.seconds))
  if spilled > 0 then text = text .. (", %sB spilled"):format(short(spilled)) end
  if again > 0 then text = text .. (", %d tasks ran again"):format(again) end
  return text
end

return M
