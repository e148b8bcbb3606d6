--- Datasets whose rows are retained in memory or on disk, so that later actions find them. Rows stay on the node that
--- made them; the rows of a lost node are computed again.
local check = require("actor.check")
local datasets = require("actor.mapreduce.dataset")
local releases = require("actor.mapreduce.releases")

local Dataset = datasets.Dataset

local function persist(self, op, storage)
  datasets.check(self, op)
  if self.storage and self.storage ~= storage then
    check.fail("mapreduce.%s: the rows of %s are kept %s; unpersist() first", op, tostring(self),
      self.storage == "disk" and "on disk" or "in memory")
  end
  self.storage = storage
  return self
end

---@class actor.mapreduce.PersistOptions
---@field disk? boolean true: on disk from the start, in a compressed temporary file in $TMPDIR; uses no --memory

---Retains the rows for later actions, once an action has made them. The rows are in memory, and the oldest move to disk
---when `--memory` is full. With `disk` they are on disk from the start. Nothing runs before an action.
---```lua
---local squares = actor.mapreduce.range(1, 100):map(function(n) return n * n end):persist { disk = true }
---print(squares:sum())  --> 338350
---```
---@param options? actor.mapreduce.PersistOptions
---@return actor.mapreduce.Dataset self
function Dataset:persist(options)
  options = check.optional_options(options, { disk = "boolean?" }, "mapreduce.persist")
  return persist(self, "persist", options.disk and "disk" or "memory")
end

---Retains the rows in memory, as `persist()` does.
---```lua
---local squares = actor.mapreduce.range(1, 100):map(function(n) return n * n end):cache()
---print(squares:sum(), squares:max()) -- the second action reads the retained rows --> 338350 10000
---```
---@return actor.mapreduce.Dataset self
function Dataset:cache() return persist(self, "cache", "memory") end

---Frees the retained rows on every node when the next action begins. The dataset stays usable: its rows are computed
---again. The retained rows of a dataset that becomes garbage are freed, too.
---```lua
---local squares = actor.mapreduce.range(1, 100):cache()
---print(squares:sum())  --> 5050
---squares:unpersist()
---```
---@return actor.mapreduce.Dataset self
function Dataset:unpersist()
  datasets.check(self, "unpersist")
  if self.hold then releases.release(self.hold) end
  self.storage, self.stage, self.hold = nil, nil, nil
  return self
end

return Dataset
