--- Recorded runs as scenarios: simulates the work and network times from `--record` under any rule, and compares the
--- recorded run with the simulated run.
local check = require("actor.check")
local trace = require("actor.trace")
local util = require("actor.util")

local M = {}

local cache = {}

---Loads the run of `spec`: "FILE" is the first run of the file, "FILE#2" the second.
---@param spec string
---@return actor.trace.Run
function M.load(spec)
  if cache[spec] then return cache[spec] end
  local path, index = spec:match("^(.*)#(%d+)$")
  path, index = path or spec, tonumber(index or 1)
  local recorded = trace.read(path)
  local run = recorded.runs[index]
  if not run then check.fail("%s holds %d run%s, so there is no run %d", path, #recorded.runs, #recorded.runs == 1 and "" or "s", index) end
  cache[spec] = run
  return run
end

---Returns the duration of the run in seconds.
---@param run actor.trace.Run
---@return number
function M.seconds(run) return run.stop or run.last end

-- The work and network times of a worker's completed steps.
local function times_of(worker)
  local work, network = {}, {}
  for k, compute in ipairs(worker.compute) do
    local whole = worker.time[k] - worker.released[k]
    work[k] = math.min(compute, whole)
    network[k] = whole - work[k]
  end
  return work, network
end

-- The elements from number `first` on, then the elements before it.
local function rotated(list, first)
  local out = {}
  for k = 0, #list - 1 do out[k + 1] = list[(first - 1 + k) % #list + 1] end
  return out
end

local phase = 5 -- seconds

-- Whether workers have phases: times in which all steps are slow or all fast. Compares the logarithms of a worker's
-- work in each five seconds, by an analysis of variance of all workers together.
local function has_phases(nodes)
  local between, within, bins_less_one, steps_less_bins = 0, 0, 0, 0
  for _, node in ipairs(nodes) do
    local bins, sum, count = {}, 0, 0
    for k, work in ipairs(node.work) do
      local at, value = math.floor(node.begins[k] / phase), math.log(math.max(work, 1e-9))
      local bin = bins[at] or { n = 0, sum = 0, squares = 0 }
      bins[at] = bin
      bin.n, bin.sum, bin.squares = bin.n + 1, bin.sum + value, bin.squares + value * value
      sum = sum + value
      count = count + 1
    end
    for _, bin in util.pairs(bins) do
      between = between + bin.n * (bin.sum / bin.n - sum / count) ^ 2
      within = within + math.max(0, bin.squares - bin.sum ^ 2 / bin.n)
      bins_less_one, steps_less_bins = bins_less_one + 1, steps_less_bins + bin.n - 1
    end
    bins_less_one = bins_less_one - 1
  end
  return bins_less_one > 0 and steps_less_bins > 0 and between / bins_less_one > 4 * within / steps_less_bins + 1e-12
end

-- Begins the nodes' steps at a share of the recorded time. The steps run in their order, and the earlier steps follow
-- the last. With phases they run by time (host/sim/scenario.hpp, Replay), so that phases last as long under every rule.
-- Without phases this would favour short steps: more of them fit near a time.
local function shift_steps(nodes, offset, period)
  if has_phases(nodes) then
    nodes.period, nodes.offset = period, offset
    return
  end
  for _, node in ipairs(nodes) do
    local first = 1
    while first < #node.work and node.begins[first] < offset do first = first + 1 end
    node.work, node.network = rotated(node.work, first), rotated(node.network, first)
  end
end

---Returns the nodes of a run in the simulator's form, in order of their joins. With `shift` the replay begins at that
---share of the recorded time, and all workers join at time 0, without the workers that have left.
---@param run actor.trace.Run
---@param shift? number 0 .. 1
---@return {joins: number, leaves: number, work: number[], network: number[], begins: number[]}[]
function M.nodes(run, shift)
  local nodes = {}
  for _, worker in ipairs(run.workers) do
    local work, network = times_of(worker)
    if #work > 0 and (not shift or worker.counted) then
      local node = {
        id = worker.id, joins = shift and 0 or worker.joins[1].time, leaves = 0, work = work, network = network,
        begins = worker.released,
      }
      if not shift and not worker.counted then
        local departure = worker.leaves[#worker.leaves]
        node.leaves = departure and departure.time or 0
      end
      nodes[#nodes + 1] = node
    end
  end
  if #nodes == 0 then
    check.fail("sim.replay: the recorded run holds no completed step%s", shift and " of a worker that was in the run at its end" or "")
  end
  table.sort(nodes, function(a, b)
    if a.joins ~= b.joins then return a.joins < b.joins end
    return a.id < b.id
  end)
  if shift then shift_steps(nodes, shift * M.seconds(run), M.seconds(run)) end
  return nodes
end

-- The form of the command line of a recorded rule; nil without a rule. A rule made by the job itself is recorded by its
-- name, such as "pssp(10, 4)".
local function spec_of(text)
  if not text or text == "" then return nil end
  if text:find("^[%w_]+%(.*%)$") then text = text:gsub("%)", ""):gsub("%(", ":"):gsub(",%s*", ":") end
  return text
end

---Returns the recorded rule in the form of --merge.
---@param run actor.trace.Run
---@return string?
function M.merge(run) return spec_of(run.header.merge) end

---Returns the recorded rule in the form of --barrier.
---@param run actor.trace.Run
---@return string?
function M.barrier(run)
  local text = spec_of(run.header.barrier)
  local resample = run.header.resample
  if text and resample and resample ~= "" and text:match("^p[bs]sp:") and not text:find("@", 1, true) then
    text = text .. "@" .. resample
  end
  return text
end

---Summarises the measured run in completed steps: at its stop a real run admits no further step, while the simulator
---counts such a step as begun.
---@param run actor.trace.Run
---@return {mean_completed: number, seconds: number, barrier: string?, workers: integer}
function M.measured(run)
  local workers = #run.workers
  return {
    mean_completed = trace.summary(run).completed / workers, seconds = M.seconds(run), barrier = M.barrier(run),
    workers = workers,
  }
end

return M
