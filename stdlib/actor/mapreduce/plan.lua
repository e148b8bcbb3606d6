--- From a dataset to the stages of an action. A stage is what one task can do without rows of other tasks: a source, the
--- narrow operations behind it (fused into one loop), and what becomes of the rows. It ends at wide operations, at
--- datasets that are kept, and where more than one consumer waits for the same rows.
local functions = require("actor.mapreduce.functions")
local node = require("actor.c.node")

---@class actor.mapreduce.Stage
---@field id integer unique in the job
---@field name string "flatmap, map, reduce_by_key"
---@field tasks integer
---@field buckets integer
---@field keep boolean
---@field needs {stage: actor.mapreduce.Stage, wide: boolean}[]
---@field input table where the rows come from: {kind = "source" | "rows" | "buckets", dataset?}
---@field ops actor.mapreduce.Dataset[] narrow operations, in order
---@field output table what becomes of the rows: {kind = "rows" | "buckets" | "combine"}

local M = {}

local stages_made = 0

---How many partitions there are where nobody says. The same for 1 to 8 nodes, so that results do not hang on how many
---there are; a slow node leaves some of its share to the others.
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

local Planner = {}
Planner.__index = Planner

local function new_stage(fields)
  stages_made = stages_made + 1
  fields.id = stages_made
  fields.ops = fields.ops or {}
  fields.needs = fields.needs or {}
  return fields
end

-- A stage that begins with the rows of `made` as they are.
local function reading(made)
  return new_stage { tasks = made.tasks, input = { kind = "rows" }, needs = { { stage = made, wide = false } } }
end

-- The stage that makes the rows of `dataset`, still open for more narrow operations.
function Planner:open(dataset)
  local made = dataset.stage or self.shared[dataset]
  if made then return reading(made) end
  local stage
  if dataset.kind == "source" then
    stage = new_stage { tasks = dataset.partitions, input = { kind = "source", dataset = dataset } }
  elseif dataset.kind == "narrow" then
    stage = self:open(dataset.parents[1])
    stage.ops[#stage.ops + 1] = dataset
  else
    stage = self:behind_wide(dataset)
  end
  if not dataset.kept and self.uses[dataset] == 1 then return stage end
  M.close(stage, { kind = "rows" }, 1)
  if dataset.kept then
    stage.keep, dataset.stage = true, stage
  else
    self.shared[dataset] = stage
  end
  return reading(stage)
end

-- The stage that reads the buckets of a wide operation.
function Planner:behind_wide(dataset)
  local before = self:open(dataset.parents[1])
  local partitions = dataset.partitions or self.parallelism
  local kind = dataset.output or dataset.combines and "combine" or "buckets"
  M.close(before, { kind = kind, dataset = dataset }, partitions)
  return new_stage {
    tasks = partitions, input = { kind = "buckets", dataset = dataset }, needs = { { stage = before, wide = true } },
  }
end

-- No more operations go into `stage`.
function M.close(stage, output, buckets)
  stage.output, stage.buckets = output, buckets
  local names = { stage.input.dataset and stage.input.dataset.op }
  for _, op in ipairs(stage.ops) do names[#names + 1] = op.op end
  stage.name = #names > 0 and table.concat(names, ", ") or "rows"
end

local function signature_of(op)
  local is_function = type(op.fn) == "function"
  local where = op.native or is_function and functions.where(op.fn) or "C"
  return { op.op, op.where, where, functions.broadcasts(op.fn), op.signature or "" }
end

-- What has to be the same on every node: which operations, where they and their functions stand in the script (whose text
-- is the same everywhere), how much each has to do, what broadcasts they capture. Not what else functions capture: that may
-- well be a node's own, a clock or a rank for a log line.
local function signature(stages, output)
  local label = output.label or {}
  local out = { { label.op or "", label.where or "", functions.broadcasts(output.fn) } }
  for _, stage in ipairs(stages) do
    local ops = {}
    for i, op in ipairs(stage.ops) do ops[i] = signature_of(op) end
    local dataset = stage.input.dataset
    out[#out + 1] = {
      stage.name, stage.tasks, stage.buckets, ops, dataset and dataset.where or "", dataset and dataset.signature or "",
    }
  end
  return out
end

-- `stage` and all that it needs, each behind what it needs itself.
local function with_needed(stage, out, seen)
  if seen[stage] then return out end
  seen[stage] = true
  for _, need in ipairs(stage.needs) do with_needed(need.stage, out, seen) end
  out[#out + 1] = stage
  return out
end

-- As many partitions as `output` wants, of those that come right from a source; else all.
local function limit(final, output)
  output.all = not output.partitions or #final.needs > 0 or output.partitions >= final.tasks
  if not output.all then final.tasks = output.partitions end
end

---The stages that make the rows of `dataset`, the final one last; those whose outputs are kept come with all that made
---them, in case they are lost.
---@param dataset actor.mapreduce.Dataset
---@param output table what becomes of the rows
---@param parallelism integer partitions of wide operations that don't say
---@return actor.mapreduce.Stage[] stages
---@return any signature
function M.make(dataset, output, parallelism)
  local planner = setmetatable({ uses = {}, shared = {}, parallelism = parallelism }, Planner)
  count_uses(dataset, planner.uses)
  local final = planner:open(dataset)
  M.close(final, output, 1)
  limit(final, output)
  local stages = with_needed(final, {}, {})
  return stages, signature(stages, output)
end

return M
