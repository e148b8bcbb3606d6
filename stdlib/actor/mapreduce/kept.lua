--- Datasets whose rows stay in memory or on disk once they have been made, so that later actions find them. Rows stay
--- on the node that made them; those of a lost node are made again.
local check = require("actor.check")
local datasets = require("actor.mapreduce.dataset")
local releases = require("actor.mapreduce.releases")

local Dataset = datasets.Dataset

local function keep(self, op, place)
  datasets.check(self, op)
  if self.kept and self.kept ~= place then
    check.fail("mapreduce.%s: the rows of %s are kept %s; unpersist() first", op, tostring(self),
      self.kept == "disk" and "on disk" or "in memory")
  end
  self.kept = place
  return self
end

---@class actor.mapreduce.PersistOptions
---@field disk? boolean true: on disk from the start, in a compressed temporary file in $TMPDIR; uses nothing of --memory

---Keeps the rows for later actions, once an action has made them: in memory, from where the oldest go to disk when
-----memory is full, or on disk. Nothing runs before an action.
---@param options? actor.mapreduce.PersistOptions
---@return actor.mapreduce.Dataset self
function Dataset:persist(options)
  options = options or {}
  check.options(options, { disk = "boolean?" }, "mapreduce.persist")
  return keep(self, "persist", options.disk and "disk" or "memory")
end

---Keeps the rows in memory, as `persist()` does.
---@return actor.mapreduce.Dataset self
function Dataset:cache() return keep(self, "cache", "memory") end

---Frees the kept rows, on every node, when the next action begins. The dataset can still be used: its rows are made
---again. The kept rows of a dataset that is collected as garbage are freed, too.
---@return actor.mapreduce.Dataset self
function Dataset:unpersist()
  datasets.check(self, "unpersist")
  if self.hold then releases.let_go(self.hold) end
  self.kept, self.stage, self.hold = nil, nil, nil
  return self
end

return Dataset
