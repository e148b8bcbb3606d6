--- Map-reduce: pipelines over datasets distributed over the cluster's nodes. Transformations are lazy, actions
--- run them. Every node runs the same script, and an action returns the same value on each. Operations have the names
--- and meanings of Spark (Zaharia et al., Resilient distributed datasets, NSDI 2012) or else of Owl's map-reduce
--- engine.
---
---     local mr = require "actor.mapreduce"
---     local counts = mr.load("file://corpus/*.txt")
---       :flatmap(function(line) return line:gmatch("%S+") end)
---       :map(function(word) return word, 1 end)
---       :reduce_by_key(mr.sum)
---       :collect()
require("actor.c.mapreduce") -- registers the FFI table that the modules use
local accumulators = require("actor.mapreduce.accumulators")
local apply = require("actor.mapreduce.apply")
local broadcasts = require("actor.mapreduce.broadcasts")
local files = require("actor.mapreduce.files")
local natives = require("actor.mapreduce.natives")
local sources = require("actor.mapreduce.sources")
local node = require("actor.c.node")
-- These modules add methods to datasets.
for _, name in ipairs {
  "persist", "keyed", "narrow", "ordered", "sets", "sorting", "actions", "statistics", "top_by_key", "checkpoint",
  "iterate", "local_iterator", "sinks",
} do
  require("actor.mapreduce." .. name)
end

---@class actor.mapreduce
local M = {}

M.apply = apply.apply
M.load, M.whole_files = files.load, files.whole_files
M.parallelize, M.range, M.generate = sources.parallelize, sources.range, sources.generate
M.words, M.one, M.sum, M.min, M.max = natives.words, natives.one, natives.sum, natives.min, natives.max
M.count, M.identity = natives.count, natives.identity
M.accumulator, M.counter = accumulators.new, accumulators.counter
M.broadcast, M.get_value = broadcasts.new, broadcasts.get_value

---Returns the ids of the live workers, in order of ranks.
---```lua
---print(#actor.mapreduce.workers() == actor.size)  --> true
---```
---@return integer[]
function M.workers() return node.workers() end

return M
