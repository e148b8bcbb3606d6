--- Rows of files and URLs.
local check = require("actor.check")
local codec = require("actor.codec")
local dataset = require("actor.mapreduce.dataset")
local plans = require("actor.mapreduce.plan")
local urls = require("actor.mapreduce.urls")
local util = require("actor.util")
local c = require("actor.c.mapreduce")

local M = {}

local LEAST_SPLIT, MOST_SPLIT = 1024 * 1024, 64 * 1024 * 1024 -- bytes
local SILENT_SECONDS = 30

-- The size of a file, which must not change while the job runs; nil for inputs without a known size.
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

-- Cuts files into splits of about the same size. Compressed files and URLs stay whole; with `uncut` all files do.
local function splits_of(files, uncut)
  local total = 0
  for _, file in ipairs(files) do total = total + (file.bytes or 0) end
  -- Few large splits, so that a table that combines by key finds its keys often.
  local size = math.min(math.max(math.ceil(total / plans.default_partitions()), LEAST_SPLIT), MOST_SPLIT)
  local splits = {}
  for _, file in ipairs(files) do
    if file.url then
      splits[#splits + 1] = { kind = "url", path = file.url }
    elseif file.compressed or uncut then
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

-- All files of a URL or of a list of URLs.
local function files_of(url, operation, options)
  if type(url) ~= "string" and type(url) ~= "table" then check.wrong("url", operation, "a string or an array of them", url) end
  local out = {}
  if type(url) == "table" and #url == 0 then check.fail("%s: no url is given", operation) end
  for _, one in ipairs(type(url) == "table" and url or { url }) do
    if type(one) ~= "string" then check.wrong("url", operation, "strings", one) end
    if urls.is_http(one) then
      out[#out + 1] = { url = one }
    else
      local files, message = c.find_files(urls.path(one, operation), options.timeout or SILENT_SECONDS, options.ca_file or "")
      if not files then check.fail("%s: %s", operation, message) end
      for _, file in ipairs(files) do out[#out + 1] = file end
    end
  end
  return out
end

-- ---- CSV ----

local kinds = { "any", "boolean", "number", "text" }

-- {{column, kind}, ...} in the order of columns, and the kind of the other columns.
local function types_of(types)
  if type(types) ~= "table" then
    if types ~= nil then check.one_of(types, kinds, "types", "mapreduce.load") end
    return {}, types or "any"
  end
  local out = {}
  for column, kind in util.pairs(types) do
    if type(column) ~= "string" then check.integer(column, "types", "mapreduce.load", 1) end
    check.one_of(kind, kinds, "types", "mapreduce.load")
    out[#out + 1] = { tostring(column), kind }
  end
  return out, "any"
end

local function check_names(names)
  for i = 1, #names do
    if type(names[i]) ~= "string" then check.fail("mapreduce.load: the names in 'names' have to be strings") end
  end
  return names
end

-- The CSV part of the options; nothing for another format.
local function csv_of(options)
  if options.format ~= "csv" then
    for _, name in ipairs({ "header", "missing", "multiline", "na", "names", "separator", "types" }) do
      if options[name] ~= nil then check.fail("mapreduce.load: '%s' is for format = \"csv\"", name) end
    end
    return nil
  end
  local separator, missing = options.separator or ",", options.missing
  if #separator ~= 1 or separator:find('["\r\n]') then check.wrong("separator", "mapreduce.load", "one character, no quote or line end", separator) end
  local types, kind = types_of(options.types)
  check.strings(options.na or {}, "na", "mapreduce.load")
  return {
    header = options.header or false, names = check_names(options.names or {}), separator = separator, types = types, type = kind,
    missing = missing ~= nil and codec.encode(missing) or "", multiline = options.multiline or false,
    na = options.na or {},
  }
end

-- ---- sources ----

local read_options = { on_error = "string?", timeout = "number?", ca_file = "string?" }
local load_options = {
  on_error = "string?", timeout = "number?", ca_file = "string?", format = "string?", header = "boolean?", names = "table?",
  separator = "string?", types = "string|table?", missing = "number|string|boolean?", multiline = "boolean?",
  na = "table?",
}

-- `make` turns files into splits. `csv`: how to read rows from them, for CSV.
local function source(op, url, options, make, csv)
  local operation = "mapreduce." .. op
  if options.on_error then check.one_of(options.on_error, { "fail", "skip" }, "on_error", operation) end
  if options.timeout then check.number(options.timeout, "timeout", operation, 1) end
  local files, format = files_of(url, operation, options), options.format or "text"
  local splits = make(files, operation)
  return dataset.new {
    kind = "source", op = op, partitions = #splits,
    signature = codec.hash({ files, options.on_error or false, format, csv or false }),
    source = {
      kind = "files", splits = splits, skip = options.on_error == "skip", seconds = options.timeout or SILENT_SECONDS,
      ca_file = options.ca_file, format = format, csv = csv,
    },
  }
end

---@class actor.mapreduce.ReadOptions
---@field on_error? "fail"|"skip" handling of unreadable input (a damaged, missing or changed file, a server's error, a
---row in the wrong format). "fail" (default) fails the job. "skip" leaves the row out, or the rest of a damaged file,
---counts it as skipped and logs a warning
---@field timeout? number seconds without a byte from a server after which reading fails, default 30
---@field ca_file? string file of PEM certificates for checking https servers. Default: the file named by CURL_CA_BUNDLE
---or SSL_CERT_FILE in the environment, else the system's file

---@class actor.mapreduce.LoadOptions: actor.mapreduce.ReadOptions
---@field format? "text"|"csv"|"jsonl" default "text"
---@field header? boolean of CSV: the first line of each file names its columns, and rows are tables by name
---@field names? string[] of CSV: names for the columns, for files without a header or instead of the header
---@field separator? string of CSV: one character, default comma
---@field types? string|table<string|integer, string> of CSV: "any" (default), "text", "number" or "boolean" for all
---columns, or by a column's name or number; a field in a "number" or "boolean" column that does not parse is an error
---@field missing? number|string|boolean of CSV: the value of empty fields, default nil
---@field na? string[] of CSV: texts of fields that count as empty, such as "NA"; not of quoted fields
---@field multiline? boolean of CSV: fields in quotes may have several lines, so each file is read in one piece

---Makes a dataset of files. The lines of files and URLs, without their ends, are its rows. A byte order mark at the
---front of a file is dropped, in any format.
---
---`url` is a path, or `file://` or `unix://` and a path. The path names a file, a folder (the files directly in it) or
---a pattern: `*`, `?` and `[...]` within a name, `**` for any number of folders ("logs/**/*.gz"; "logs/**" is all files
---below), `{a,b}` for a choice. A pattern gives its files in the order of paths, each once. It leaves out names that
---begin with `.` or `_` unless it spells these out, and `**` does not follow links to folders. Each `http://` or
---`https://` URL is fetched by one node. `s3://BUCKET/KEY` names an object, a folder or a pattern in an object storage;
---`actorhost help AWS_ACCESS_KEY_ID` lists the variables of the access. Large objects are shared by the nodes, as files
---are.
---
---Files are cut at line ends and shared by the nodes; gzip, Zstandard, xz and bzip2 are unpacked. Every node must see
---the same files, and they must not change while the job runs.
---
---With `format = "jsonl"` each line is a JSON value: arrays and objects are tables, and null in them is nil. With "csv"
---each record is an array of its fields, or with `header` or `names` a table by name. An unquoted field that is a
---number becomes a number, unless digits would be lost. So 007 becomes 7; `types` can preserve texts. nan, inf, true
---and false become these values, and an empty field is nil. All other fields, quoted fields included, are texts. Lines
---end in LF or CRLF; another CR outside of quotes is an error. Reading the CSV or JSON lines of `save` gives the same
---rows, except that pairs in CSV become arrays. Errors name file and line.
---```lua nodes=1
---local file = io.open("lines.txt", "w")
---file:write("to be\nor not\n")
---file:close()
---print(unpack(actor.mapreduce.load("lines.txt"):collect()))  --> to be or not
---```
---@param url string|string[]
---@param options? actor.mapreduce.LoadOptions
---@return actor.mapreduce.Dataset
function M.load(url, options)
  options = check.optional_options(options, load_options, "mapreduce.load")
  check.one_of(options.format or "text", { "text", "csv", "jsonl" }, "format", "mapreduce.load")
  local csv = csv_of(options)
  return source("load", url, options, function(files) return splits_of(files, csv and csv.multiline) end, csv)
end

---Reads whole files: a pair of path and content for each file. The content is unpacked and has no byte order mark. Each
---file must fit into a node's memory.
---```lua nodes=1
---local file = io.open("whole.txt", "w")
---file:write("to be\nor not\n")
---file:close()
---local pair = actor.mapreduce.whole_files("whole.txt"):first()
---print(#pair[2])  --> 13
---```
---@param url string|string[]
---@param options? actor.mapreduce.ReadOptions
---@return actor.mapreduce.Dataset
function M.whole_files(url, options)
  options = check.optional_options(options, read_options, "mapreduce.whole_files")
  return source("whole_files", url, options, contents_of)
end

return M
