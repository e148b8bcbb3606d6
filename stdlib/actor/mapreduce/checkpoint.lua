--- `dataset:checkpoint(dir)` writes rows into a folder that all hosts see, and returns a dataset that reads the folder.
--- The operations that made the rows never run again, even after the loss of nodes.
local check = require("actor.check")
local codec = require("actor.codec")
local datasets = require("actor.mapreduce.dataset")
local fingerprint = require("actor.mapreduce.fingerprint")
local log = require("actor.log")
local plans = require("actor.mapreduce.plan")
local sinks = require("actor.mapreduce.sinks")
local urls = require("actor.mapreduce.urls")
local c = require("actor.c.mapreduce")

local Dataset = datasets.Dataset

-- The dataset that reads the folder.
local function reading(self, made, save)
  local spread = plans.spread(self)
  return datasets.new {
    kind = "source", op = "checkpoint", partitions = made.files, signature = { save.target, save.fingerprint, made.files },
    keyed = spread == made.files,
    source = { kind = "checkpoint", folder = save.target, id = save.id },
  }
end

-- Identifies the rows and their division into parts: the fingerprint and the number of tasks of each stage.
local function parts_mark(dataset, mark)
  local tasks = {}
  for i, stage in ipairs(plans.show(dataset, plans.default_partitions())) do tasks[i] = stage.tasks end
  return codec.hash { mark, tasks }
end

---@class actor.mapreduce.CheckpointOptions
---@field overwrite? boolean replaces the folder of an earlier checkpoint or save
---@field resume? boolean reads an existing checkpoint, or continues the checkpoint of a run that was killed or has
---failed: the parts that it has finished are not made again. Raises unless the same pipeline made the existing
---checkpoint: the same operations, texts of functions, captured numbers, texts and booleans, broadcasts, and sizes of
---files. The finished parts of another pipeline, or of another number of partitions, are not used, with a warning

---Runs the pipeline, writes its rows into a folder, and returns a dataset that reads this folder. The operations before
---it never run again. Each partition is a file with a checksum, in actorhost's own format. All hosts must see the
---folder, which appears once all rows are on disk. An existing folder is refused unless `resume` or `overwrite` is
---given.
---```lua
---local squares = actor.mapreduce.range(1, 100):map(function(n) return n * n end)
---print(squares:checkpoint("squares", { resume = true }):count())  --> 100
---```
---@param url string `file://PATH` or a path
---@param options? actor.mapreduce.CheckpointOptions
---@return actor.mapreduce.Dataset
function Dataset:checkpoint(url, options)
  datasets.check(self, "checkpoint")
  check.arg(url, "string", "url", "mapreduce.checkpoint")
  options = check.optional_options(options, { overwrite = "boolean?", resume = "boolean?" }, "mapreduce.checkpoint")
  local overwrite, resume = options.overwrite or false, options.resume or false
  local path, mark = urls.path(url, "mapreduce.checkpoint"), fingerprint.of(self)
  local parts = resume and parts_mark(self, mark) or ""
  local save = sinks.begin("checkpoint", { path, overwrite, resume }, function()
    local begun, message = c.begin_checkpoint(path, mark, overwrite, resume, parts)
    if not begun then return nil, message end
    if begun.continues then log.info("checkpoint: continues the unfinished parts in " .. begun.staging) end
    if begun.other ~= "" then
      log.warn(("checkpoint: the unfinished parts in %s are of another pipeline, input or number of partitions, and are not used"):format(begun.other))
    end
    return begun
  end)
  local made = save.files and save or sinks.write(self, "checkpoint", save, { format = "rows", extension = "", names = {}, separator = "," })
  return reading(self, made, save)
end

return Dataset
