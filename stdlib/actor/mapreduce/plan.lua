--- Plans the stages of an action on a dataset. A stage is the work of a task without rows of other tasks: a source, the
--- narrow operations after it (fused into one loop), and an output. A stage ends at wide operations, at retained
--- datasets, and where several later stages read the same rows.
local broadcasts = require("actor.mapreduce.broadcasts")
local functions = require("actor.mapreduce.functions")
local releases = require("actor.mapreduce.releases")
local rounds = require("actor.console.rounds")
local node = require("actor.c.node")

---@class actor.mapreduce.Stage
---@field id integer unique in the job
---@field name string "flatmap, map, reduce_by_key"
---@field tasks integer
---@field buckets integer
---@field keep? boolean
---@field disk? boolean with `keep`: on disk
---@field needs actor.mapreduce.Need[]
---@field input table source of the rows: `kind` as in inputs.lua, `dataset` that owns them
---@field ops actor.mapreduce.Dataset[] narrow operations, in order
---@field output table output of the rows: `kind` as in outputs.lua
---@field program? fun(stage: actor.mapreduce.Stage): fun(task: integer) replaces input, ops and output

---@class actor.mapreduce.Need
---@field stage actor.mapreduce.Stage
---@field wide boolean task r needs bucket r of every task; else task first + i needs bucket 0 of task i
---@field first? integer of a narrow need

local M = {}

local stages_made = 0

---The default number of partitions. It is the same for 1 to 8 nodes, so results do not depend on the number of nodes.
---With several partitions a node, the other nodes take over a part of a slow node's share.
---@return integer
function M.default_partitions()
  local partitions = 16
  while partitions < 2 * node.flags().parallelism do partitions = partitions * 2 end
  return partitions
end

local function count_uses(dataset, uses)
  uses[dataset] = (uses[dataset] or 0) + 1
  if uses[dataset] > 1 then return end
  for _, parent in ipairs(dataset.parents) do count_uses(parent, uses) end
end

---@class actor.mapreduce.Planner
---@field parallelism integer
---@field shown boolean the plan is only shown, and nothing of it is stored

-- Operations of a stage. Its loop is one Lua function, which may have 60 upvalues and 200 local variables; an operation
-- has up to 4.
local MOST_OPERATIONS = 20

local Planner = {}
Planner.__index = Planner

---@param fields table
---@return actor.mapreduce.Stage
function Planner:stage(fields)
  if not self.shown then
    stages_made = rounds.after(stages_made)
    fields.id, fields.made_in = stages_made, rounds.chunk()
  end
  fields.ops = fields.ops or {}
  fields.needs = fields.needs or {}
  return fields
end

---Closes `stage`: no more operations are added to it.
---@param stage actor.mapreduce.Stage
---@param output table
---@param buckets integer
---@return actor.mapreduce.Stage stage
function Planner:close(stage, output, buckets)
  stage.output, stage.buckets = output, buckets
  local names = { stage.input.dataset and stage.input.dataset.op }
  for _, op in ipairs(stage.ops) do names[#names + 1] = op.op end
  stage.name = #names > 0 and table.concat(names, ", ") or "rows"
  return stage
end

-- A stage that begins with the unchanged rows of `made`.
function Planner:reading(made)
  return self:stage { tasks = made.tasks, input = { kind = "rows" }, needs = { { stage = made, wide = false } } }
end

-- The largest number of operations on a row in a stage, including a union's branch.
local function operations_in(stage)
  local most = 0
  for _, branch in ipairs(stage.input.branches or {}) do most = math.max(most, #branch.ops) end
  return most + #stage.ops
end

---The stage that computes the rows of `dataset`, still open for more narrow operations.
---@param dataset actor.mapreduce.Dataset
---@return actor.mapreduce.Stage
function Planner:open(dataset)
  if dataset.stage and not rounds.holds(dataset.stage.made_in) then dataset.stage, dataset.hold = nil, nil end
  local made = dataset.stage or self.shared[dataset]
  if made then return self:reading(made) end
  local stage
  if dataset.kind == "source" then
    stage = self:stage { tasks = dataset.partitions, input = { kind = "source", dataset = dataset } }
  elseif dataset.kind == "narrow" then
    stage = self:open(dataset.parents[1])
    if operations_in(stage) == MOST_OPERATIONS then stage = self:reading(self:close(stage, { kind = "rows" }, 1)) end
    stage.ops[#stage.ops + 1] = dataset
  else
    stage = dataset.plan(self, dataset)
  end
  if not dataset.storage and self.uses[dataset] == 1 then return stage end
  self:close(stage, { kind = "rows" }, 1)
  stage.keep, stage.disk = dataset.storage ~= nil, dataset.storage == "disk"
  if dataset.storage and not self.shown then
    dataset.stage, dataset.hold = stage, releases.hold(stage.id)
  else
    self.shared[dataset] = stage
  end
  return self:reading(stage)
end

-- Whether a stage only reads the rows of another stage.
local function is_reading(stage)
  return stage.input.kind == "rows" and #stage.ops == 0 and not stage.needs[1].wide
end

---A closed stage that outputs the rows of `dataset`.
---@param dataset actor.mapreduce.Dataset
---@return actor.mapreduce.Stage
function Planner:rows(dataset)
  local stage = self:open(dataset)
  if is_reading(stage) then return stage.needs[1].stage end
  return self:close(stage, { kind = "rows" }, 1)
end

-- Narrow operations that do not change keys.
local keeps_keys = { filter = true, sample = true, map_values = true, flatmap_values = true }

---The number of partitions of `dataset` by the hash of the pairs' keys; nil when it is not partitioned by key.
---@param dataset actor.mapreduce.Dataset
---@return integer?
function Planner:partitioning(dataset)
  while dataset.kind == "narrow" and keeps_keys[dataset.op] do dataset = dataset.parents[1] end
  return dataset.keyed and self:partitions(dataset) or nil
end

---The number of partitions of a wide operation: its own setting, or the number of a parent already partitioned by key.
---@param dataset actor.mapreduce.Dataset
---@return integer
function Planner:partitions(dataset)
  local known = dataset.partitions or self.counts[dataset]
  if known then return known end
  local most = 0
  if dataset.keyed then
    for _, parent in ipairs(dataset.parents) do most = math.max(most, self:partitioning(parent) or 0) end
  end
  known = most > 0 and most or self.parallelism
  self.counts[dataset] = known
  return known
end

---The stage that reads the rows of a wide operation's parents by buckets. Parents with the needed partitioning are not
---moved.
---@param dataset actor.mapreduce.Dataset with `output` and `input`: the kinds of the stages before and after the
---exchange
---@return actor.mapreduce.Stage
function Planner:exchange(dataset)
  local partitions, needs = self:partitions(dataset), {}
  for i, parent in ipairs(dataset.parents) do
    if dataset.keyed and self:partitioning(parent) == partitions then
      needs[i] = { stage = self:rows(parent), wide = false }
    else
      local before = self:close(self:open(parent), { kind = dataset.output, dataset = dataset }, partitions)
      needs[i] = { stage = before, wide = true }
    end
  end
  return self:stage { tasks = partitions, input = { kind = dataset.input, dataset = dataset }, needs = needs }
end

-- The functions of an operation or an output.
local function functions_of(given)
  local out = { given.native or false }
  for i, name in ipairs({ "fn", "merge", "prepare", "stop" }) do
    local fn = given[name]
    out[i + 1] = type(fn) == "function" and functions.mark(fn) or false
  end
  return out
end

local function signature_of(given)
  return { given.op or "", given.where or "", functions_of(given), given.signature or "" }
end

local function signature_of_rows(input, ops)
  local out = { signature_of(input.dataset or {}) }
  for _, op in ipairs(ops) do out[#out + 1] = signature_of(op) end
  for _, branch in ipairs(input.branches or {}) do out[#out + 1] = signature_of_rows(branch.input, branch.ops) end
  return out
end

-- The part of a plan that must be the same on every node: the operations with their functions and arguments, their
-- lines in the script, their numbers of tasks, and all broadcasts. Captured values may differ, such as a clock or the
-- rank.
local function signature(stages, output)
  local out = { signature_of(output.label or {}), signature_of(output), broadcasts.all() }
  for _, stage in ipairs(stages) do
    out[#out + 1] = {
      stage.id, stage.name, stage.tasks, stage.buckets, stage.keep or false, stage.disk or false,
      signature_of_rows(stage.input, stage.ops),
    }
  end
  return out
end

-- `stage` and all stages that it needs, in order of dependency.
local function with_needed(stage, out, seen)
  if seen[stage] then return out end
  seen[stage] = true
  for _, need in ipairs(stage.needs) do with_needed(need.stage, out, seen) end
  out[#out + 1] = stage
  return out
end

-- Limits the tasks to the `partitions` of `output` if the rows come directly from a source; else all run.
local function limit(final, output)
  output.all = not output.partitions or #final.needs > 0 or output.partitions >= final.tasks
  if not output.all then final.tasks = output.partitions end
end

local function new_planner(dataset, parallelism)
  local planner = setmetatable({ uses = {}, shared = {}, counts = {}, parallelism = parallelism }, Planner)
  count_uses(dataset, planner.uses)
  return planner
end

---The stages that compute the rows of `dataset`, the final stage last. Retained stages come with all their ancestors,
---for the case that their rows are lost.
---@param dataset actor.mapreduce.Dataset
---@param output table the output of the final stage
---@param parallelism integer partitions of wide operations without a number
---@return actor.mapreduce.Stage[] stages
---@return any signature
function M.make(dataset, output, parallelism)
  local planner = new_planner(dataset, parallelism)
  local final
  if output.kind == "kept" then -- the retained rows, unchanged
    final = planner:rows(dataset)
  else
    final = planner:open(dataset)
    planner:close(final, output, 1)
    limit(final, output)
  end
  local stages = with_needed(final, {}, {})
  return stages, signature(stages, output)
end

---The number of partitions of `dataset` by the hash of the pairs' keys; nil when it is not partitioned by key.
---@param dataset actor.mapreduce.Dataset
---@return integer?
function M.spread(dataset)
  return new_planner(dataset, M.default_partitions()):partitioning(dataset)
end

---The stages of `dataset`, for display. Any node may call this by itself: nothing of the plan is stored.
---@param dataset actor.mapreduce.Dataset
---@param parallelism integer
---@return actor.mapreduce.Stage[] stages
function M.show(dataset, parallelism)
  local planner = new_planner(dataset, parallelism)
  planner.shown = true
  local final = planner:open(dataset)
  planner:close(final, { kind = "rows" }, 1)
  return with_needed(final, {}, {})
end

return M
