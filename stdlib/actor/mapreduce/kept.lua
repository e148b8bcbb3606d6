--- Datasets whose rows stay in memory or on disk once they have been made, so that later actions find them. The rows lie
--- where they were made; those of a node that is lost are made again.
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
---@field disk? boolean on disk from the start: a temporary file, compressed, in $TMPDIR; nothing of --memory is used

---Keeps the rows when an action makes them, for later ones. In memory, of which the oldest go to disk when --memory is
---full, or on disk. Nothing runs before an action.
---@param options? actor.mapreduce.PersistOptions
---@return actor.mapreduce.Dataset self
function Dataset:persist(options)
  options = options or {}
  check.options(options, { disk = "boolean?" }, "mapreduce.persist")
  return keep(self, "persist", options.disk and "disk" or "memory")
end

---As persist().
---@return actor.mapreduce.Dataset self
function Dataset:cache() return keep(self, "cache", "memory") end

---Frees the kept rows, on every node, as the next action begins. The dataset can still be used: its rows are made again. The
---rows of a dataset that is garbage are freed by themselves.
---@return actor.mapreduce.Dataset self
function Dataset:unpersist()
  datasets.check(self, "unpersist")
  if self.hold then releases.let_go(self.hold) end
  self.kept, self.stage, self.hold = nil, nil, nil
  return self
end

return Dataset
