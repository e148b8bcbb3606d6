--- Files written by a pipeline: `dataset:save(url, options)`; checkpoint.lua uses the same steps. Each partition
--- becomes a part, written on the node that holds it. One task at the end renames the folder to its final name
--- (host/mapreduce/files/save_folder.hpp).
local check = require("actor.check")
local compile = require("actor.mapreduce.compile")
local datasets = require("actor.mapreduce.dataset")
local enum = require("actor.enum")
local ffi = require("ffi")
local log = require("actor.log")
local outputs = require("actor.mapreduce.outputs")
local run = require("actor.mapreduce.run")
local urls = require("actor.mapreduce.urls")
local api = require("actor.ffi")("mapreduce")
local c = require("actor.c.mapreduce")

local Dataset, required = datasets.Dataset, compile.required

local M = {}

local formats = enum("AH_ROW_FORMAT", "text csv jsonl rows")
local extensions = { none = "", gz = ".gz", zst = ".zst", xz = ".xz", bz2 = ".bz2" }

-- Writes the rows of a stage into a part, unless an earlier run has finished the part. The stage outputs one pair: the
-- part's name, and its number of rows and bytes.
function outputs.part(stage, state)
  local texts = stage.output.dataset.save_texts
  local put_row, bind = compile.writer()
  local put_figures, open_figures = outputs.rows()
  local made, names = ffi.new("ah_mr_part"), ffi.new("const char*[?]", #texts.names, texts.names)
  local spec = ffi.new("ah_mr_save", {
    extension = texts.extension, names = names, names_count = #texts.names, format = formats[texts.format],
    separator = texts.separator:byte(),
  })
  stage.output.anchor = names -- keeps it alive, since `spec` points to it
  local part
  local function finish()
    if api.finish_part(api.streams, part, made) ~= 0 then c.fail() end
    open_figures()
    put_figures(ffi.string(made.name), { made.rows, made.bytes })
  end
  function state.finished(task)
    part = required(api.part(api.streams, spec, task - 1))
    if api.part_ready(api.streams, part) == 0 then return false end
    finish()
    return true
  end
  return put_row, function() bind(part) end, finish, function() return part end
end

-- Picks the valid attempts at parts, and renames the folder to its final name.
local function commit(save)
  return function(parts)
    local made = {}
    for name, figures in parts do made[#made + 1] = { name, figures[1], figures[2] } end
    return { c.commit_save(save, made) }
  end
end

---Begins a save on one node, before anything runs, and returns the result of `start` there: a table, or nil and a
---message. If that node fails, another node begins the save again, perhaps after the end of writing; `start` must then
---return the same result.
---@param op string "save"
---@param signature any[] values that must be the same on every node
---@param start fun(): table?, string?
---@return table
function M.begin(op, signature, start)
  local one = datasets.new {
    kind = "source", op = op, partitions = 1, signature = signature,
    source = { kind = "array", array = { true }, part = function() return 1, 1 end },
  }
  local begun = one:map(function()
    local save, message = start()
    return save or { message = message }
  end)
  local save = run.act(begun, op, { kind = "rows" }, run.read_all)[1]
  if save.message then check.fail("mapreduce.%s: %s", op, save.message) end
  return save
end

---Writes the rows of a dataset into the folder from `begin`, in the format of `texts`.
---@param dataset actor.mapreduce.Dataset
---@param op string
---@param save table
---@param texts {format: string, extension: string, names: string[], separator: string}
---@return {files: integer, rows: integer, bytes: integer}
function M.write(dataset, op, save, texts)
  local parts = datasets.gathered(dataset, op)
  parts.output, parts.save_texts, parts.signature = "part", texts, { save, texts }
  local committed = parts:map_partition(commit(save))
  committed.shown = op
  c.open_save(save)
  local ok, result = pcall(run.act, committed, op, { kind = "rows" }, run.read_all)
  dataset.last_run = committed.last_run
  if ok then
    c.close_save()
    return result[1]
  end
  -- A node that was given up, or has lost the others, must not end the save: the others continue with the same folder.
  if c.has_failed() and not save.resume then
    c.abandon_save()
  elseif c.has_failed() then
    log.warn(("%s: the finished parts stay in %s; a run of the same pipeline with resume = true continues there"):format(op, save.staging))
  else
    log.warn(("%s: the files written so far stay in %s, where other hosts may continue"):format(op, save.staging))
  end
  error(result, 0)
end

local function check_names(names)
  for i = 1, #names do
    if type(names[i]) ~= "string" then check.fail("mapreduce.save: the names in 'header' have to be strings") end
  end
  return names
end

local function checked_texts(url, options)
  local format = options.format or "text"
  check.one_of(format, { "text", "csv", "jsonl" }, "format", "mapreduce.save")
  local extension = url:match("%.(%w+)/*$")
  local compress = options.compress or extensions[extension] and extension or "none"
  check.one_of(compress, { "none", "gz", "zst", "xz", "bz2" }, "compress", "mapreduce.save")
  local separator = options.separator or format == "csv" and "," or "\t"
  if #separator ~= 1 then check.wrong("separator", "mapreduce.save", "one character", separator) end
  if options.header and format ~= "csv" then check.fail("mapreduce.save: only CSV has a header") end
  return {
    format = format, extension = extensions[compress], separator = separator,
    names = check_names(options.header or {}),
  }
end

---@class actor.mapreduce.SaveOptions
---@field format? "text"|"csv"|"jsonl" default "text"
---@field overwrite? boolean replaces the folder of an earlier save
---@field compress? "none"|"gz"|"zst"|"xz"|"bz2" default: by the url's extension
---@field separator? string between key and value of a pair in text (default tab), between fields of CSV (default comma)
---@field header? string[] of CSV: names of columns, the first line of each part; rows that are tables by name are
---written in this order

---Writes the rows into a folder: a file `part-00000` for each partition, with `.csv` or `.jsonl` and `.gz`, ...
---appended, and `_SUCCESS`, which load leaves out. The folder appears once all files are complete. An existing folder
---is refused unless `overwrite` is given. Text has a line for each row, with a tab in a pair. CSV (RFC 4180) has two
---columns for a pair, one for each element of an array, or with `header` one for each name. JSON lines have `[k, v]`
---for a pair. All hosts must see the same folder.
---
---An `s3://BUCKET/KEY` target is a folder of an object storage. Its objects appear after the last row is written, one
---after another, and `_SUCCESS` appears last. `overwrite` removes the old `_SUCCESS` before it replaces objects.
---```lua
---local saved = actor.mapreduce.range(1, 100):save("saved_rows", { overwrite = true })
---print(saved.rows)  --> 100
---```
---@param url string `file://PATH`, a path, or `s3://BUCKET/KEY`
---@param options? actor.mapreduce.SaveOptions
---@return {files: integer, rows: integer, bytes: integer} the sums over all parts
function Dataset:save(url, options)
  if not datasets.is(self) then check.fail("call save with a colon: dataset:save(...)") end
  check.arg(url, "string", "url", "mapreduce.save")
  options = check.optional_options(options, {
    format = "string?", overwrite = "boolean?", compress = "string?", separator = "string?", header = "table?",
  }, "mapreduce.save")
  local texts = checked_texts(url, options)
  local path, overwrite = urls.path(url, "mapreduce.save"), options.overwrite or false
  local save = M.begin("save", { path, overwrite }, function() return c.begin_save(path, overwrite) end)
  return M.write(self, "save", save, texts)
end

return M
