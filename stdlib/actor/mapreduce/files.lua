--- Rows of files and URLs.
local check = require("actor.check")
local codec = require("actor.codec")
local dataset = require("actor.mapreduce.dataset")
local plans = require("actor.mapreduce.plan")
local urls = require("actor.mapreduce.urls")
local c = require("actor.c.mapreduce")

local M = {}

local LEAST_SPLIT, MOST_SPLIT = 1024 * 1024, 64 * 1024 * 1024 -- bytes
local SILENT_SECONDS = 30

-- The size that a file keeps while the job runs; nothing for what has none.
local function size_of(file) return not file.stream and file.bytes or nil end

local function cut(file, size, splits)
  local parts = math.ceil(file.bytes / size)
  for i = 1, parts do
    splits[#splits + 1] = {
      kind = "part", path = file.path, size = file.bytes,
      from = math.floor(file.bytes * (i - 1) / parts), to = math.floor(file.bytes * i / parts),
    }
  end
end

-- Cuts files into splits of about the same size; compressed ones and URLs stay whole.
local function splits_of(files)
  local total = 0
  for _, file in ipairs(files) do total = total + (file.bytes or 0) end
  -- Few and large, so that a table that combines by key meets its keys often.
  local size = math.min(math.max(math.ceil(total / plans.default_partitions()), LEAST_SPLIT), MOST_SPLIT)
  local splits = {}
  for _, file in ipairs(files) do
    if file.url then
      splits[#splits + 1] = { kind = "url", path = file.url }
    elseif file.compressed then
      splits[#splits + 1] = { kind = "whole", path = file.path, size = size_of(file) }
    else
      cut(file, size, splits)
    end
  end
  return splits
end

local function contents_of(files, operation)
  local splits = {}
  for i, file in ipairs(files) do
    if file.url then check.fail("%s: '%s' is no file", operation, file.url) end
    splits[i] = { kind = "content", path = file.path, size = size_of(file) }
  end
  return splits
end

-- All that one URL, or a list of them, names.
local function files_of(url, operation)
  if type(url) ~= "string" and type(url) ~= "table" then check.wrong("url", operation, "a string or an array of them", url) end
  local out = {}
  for _, one in ipairs(type(url) == "table" and url or { url }) do
    if type(one) ~= "string" then check.wrong("url", operation, "strings", one) end
    if urls.is_http(one) then
      out[#out + 1] = { url = one }
    else
      local files, message = c.find_files(urls.path(one, operation))
      if not files then check.fail("%s: %s", operation, message) end
      for _, file in ipairs(files) do out[#out + 1] = file end
    end
  end
  if #out == 0 then check.fail("%s: no url is given", operation) end
  return out
end

local function source(op, url, options, make)
  local operation = "mapreduce." .. op
  options = options or {}
  check.options(options, { on_error = "string?", timeout = "number?", ca_file = "string?" }, operation)
  if options.on_error then check.one_of(options.on_error, { "fail", "skip" }, "on_error", operation) end
  if options.timeout then check.number(options.timeout, "timeout", operation, 1) end
  local files = files_of(url, operation)
  local splits = make(files, operation)
  return dataset.new {
    kind = "source", op = op, partitions = #splits, signature = codec.hash({ files, options.on_error or false }),
    source = {
      kind = "files", splits = splits, skip = options.on_error == "skip", seconds = options.timeout or SILENT_SECONDS,
      ca_file = options.ca_file,
    },
  }
end

---@class actor.mapreduce.LoadOptions
---@field on_error? "fail"|"skip" what cannot be read (damaged, gone, changed, a server's error) fails the job (default), or
---its rest is left out, counted as skipped and warned about
---@field timeout? number seconds without a byte from a server until that is an error, default 30
---@field ca_file? string PEM certificates that those of https servers are checked against; default: the file that
---CURL_CA_BUNDLE or SSL_CERT_FILE names in the environment, else the system's

---The lines of files and URLs, without their ends. A file is `file://` or `unix://` and a path, or a path; so are a folder
---(the files right in it) and a pattern: `*`, `?` and `[...]` within a name, `**` for any number of folders ("logs/**/*.gz";
---"logs/**" is all files below), `{a,b}` for a choice. What a pattern finds comes in the order of paths, each file once;
---names that begin with `.` or `_` have to be named, and `**` does not follow links to folders. Files are cut on line
---borders and shared; gzip, Zstandard, xz and bzip2 are unpacked. Every node has to see the same files, and they must not
---change while the job runs. `http://` and `https://` are fetched, each by one node.
---@param url string|string[]
---@param options? actor.mapreduce.LoadOptions
---@return actor.mapreduce.Dataset
function M.load(url, options)
  return source("load", url, options, splits_of)
end

---A pair for each file: its path and its whole content, unpacked. One file has to fit into a node's memory.
---@param url string|string[]
---@param options? actor.mapreduce.LoadOptions
---@return actor.mapreduce.Dataset
function M.whole_files(url, options)
  return source("whole_files", url, options, contents_of)
end

return M
