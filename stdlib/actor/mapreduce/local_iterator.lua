--- `dataset:to_local_iterator()`: iterates over all rows on every node, one partition at a time.
local compile = require("actor.mapreduce.compile")
local datasets = require("actor.mapreduce.dataset")
local run = require("actor.mapreduce.run")
local api = require("actor.ffi")("mapreduce")
local c = require("actor.c.mapreduce")

local Dataset, required = datasets.Dataset, compile.required

local function plan_view(planner, dataset) return planner:open(dataset.parents[1]) end

-- A view of a dataset's rows, which are retained while the view is in use.
local function view_of(dataset)
  return datasets.new { kind = "wide", op = "to_local_iterator", parents = { dataset }, plan = plan_view, storage = "memory" }
end

-- The rows of a partition, and the number of partitions.
local function read_part(view, partition)
  return run.act(view, "to_local_iterator", { kind = "kept" }, function()
    local figures = c.figures().stages
    local count = figures[#figures].tasks
    local rows = partition <= count and run.read_all(required(api.results_of(api.streams, partition - 1))) or {}
    return { rows = rows, count = count }
  end)
end

---Iterates over all rows, in order of partitions; a pair is {k, v}. Each node holds one partition in its memory at a
---time. The first step computes all rows. They stay on the nodes that made them, as with persist(), until the loop
---ends. Each partition is an action, so every node must iterate over the rows; all nodes may stop at the same row.
---```lua
---local sum = 0
---for n in actor.mapreduce.range(1, 100):to_local_iterator() do sum = sum + n end
---print(sum)  --> 5050
---```
---@return fun(): any
function Dataset:to_local_iterator()
  datasets.check(self, "to_local_iterator")
  local view = self.storage and self or view_of(self)
  local rows, at, partition, count = {}, 0, 0, 1
  return function()
    while at == #rows do
      if partition == count then
        if view ~= self then view:unpersist() end
        return nil
      end
      partition, at = partition + 1, 0
      rows = {}
      local part = read_part(view, partition)
      rows, count = part.rows, math.max(part.count, partition)
    end
    at = at + 1
    return rows[at]
  end
end

return Dataset
