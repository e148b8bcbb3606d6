--- The rows of a sweep as a file: CSV or JSON lines, with the configuration in a header. A regular file appears when
--- the sweep is complete; until then the rows are in FILE.part beside it, from which a sweep can resume. Other files (a
--- pipe, a terminal) are written in place.
local util = require("actor.util")

local M = {}

local partial = ".part"

---The columns before the varied options.
M.columns = {
  "barrier", "repeat", "seed", "nodes", "time", "mean_step", "sd_step", "min_step", "max_step", "checks", "messages",
}
---The columns after the varied options.
M.more_columns = {
  "p5_step", "p50_step", "p95_step", "updates", "alive", "lost", "busy_share", "waiting_share", "network_share",
  "checks_per_step", "messages_per_step", "staleness_mean", "staleness_max", "progress_mean", "progress_sd",
  "progress_skew", "progress_kurtosis", "sequence_mean", "sequence_sd", "training_loss",
  "training_accuracy",
}

---The meaning of the columns: name (or several names), text.
---@type [string, string][]
M.meanings = {
  { "barrier, repeat, seed", "the rule, the number of the run, and its seed" },
  { "nodes, time", "nodes at the start, simulated seconds" },
  { "mean_step, sd_step", "steps that a node has begun: mean over the nodes, standard deviation between them" },
  { "min_step, max_step", "of the slowest and of the fastest node" },
  { "p5_step, p50_step, p95_step", "quantiles over the nodes" },
  { "checks, messages", "decisions of the rule, messages of all nodes; the same for each step: checks_per_step, "
    .. "messages_per_step" },
  { "updates", "completed steps of all nodes" },
  { "alive, lost", "nodes at the end, lost messages" },
  { "busy_share, waiting_share, network_share", "shares of the nodes' time: work, waiting for the rule, messages" },
  { "staleness_mean, staleness_max", "updates of other nodes between a step's pull and its own update" },
  { "progress_mean, progress_sd, progress_skew, progress_kurtosis", "the staleness divided by the number of nodes" },
  { "sequence_mean, sequence_sd", "updates of a pull that differ from a serial execution, divided by the nodes" },
  { "training_loss, training_accuracy", "with --train: of the model at the end" },
}

-- Whole numbers unchanged, others to 10 digits: the same text on every machine.
local function number_text(value)
  if value ~= value then return "nan" end
  if value % 1 == 0 and math.abs(value) < 2 ^ 53 then return ("%d"):format(value) end
  return ("%.10g"):format(value)
end

local function csv_cell(value)
  if value == nil then return "" end
  if type(value) == "number" then return number_text(value) end
  value = tostring(value)
  if value:find('[,"\r\n]') then return '"' .. value:gsub('"', '""') .. '"' end
  return value
end

local function json_cell(value)
  if value == nil then return "null" end
  if type(value) == "number" then return (value - value == 0) and number_text(value) or "null" end
  return '"' .. tostring(value):gsub('[%c"\\]', function(letter) return ("\\u%04x"):format(letter:byte()) end) .. '"'
end

-- The names of the columns. The varied options (except those among the first columns) are in the middle.
local function all_columns(varied)
  local own, fixed = {}, {}
  for _, name in ipairs(M.columns) do fixed[name] = true end
  for _, name in ipairs(varied) do
    if not fixed[name] then own[#own + 1] = name end
  end
  return util.joined(M.columns, own, M.more_columns)
end

local function cell_of(row, name)
  local value = row[name]
  if value == nil or type(value) == "table" then value = row.varied and row.varied[name] end
  return value
end

---@class actor.sim.Format
---@field header fun(configuration: string[], columns: string[]): string
---@field line fun(row: table, columns: string[]): string

M.formats = {
  csv = {
    header = function(configuration, columns)
      return "# " .. table.concat(configuration, "\n# ") .. "\n" .. table.concat(columns, ",") .. "\n"
    end,
    line = function(row, columns)
      local cells = {}
      for i, name in ipairs(columns) do cells[i] = csv_cell(cell_of(row, name)) end
      return table.concat(cells, ",") .. "\n"
    end,
  },
  json = {
    header = function(configuration)
      local fields = {}
      for _, text in ipairs(configuration) do
        local name, value = text:match("^([%w%-_]+)=(.*)$")
        fields[#fields + 1] = json_cell(name or "program") .. ":" .. json_cell(value or text)
      end
      return "{" .. table.concat(fields, ",") .. "}\n"
    end,
    line = function(row, columns)
      local cells = {}
      for i, name in ipairs(columns) do cells[i] = json_cell(name) .. ":" .. json_cell(cell_of(row, name)) end
      return "{" .. table.concat(cells, ",") .. "}\n"
    end,
  },
}

-- --- files ---

-- The cells of a line of CSV written by M.formats.
local function cells_of(line)
  local cells, at = {}, 1
  while at <= #line do
    local quoted, behind = line:match('^"(.-)"()[,\n]', at)
    while quoted and select(2, quoted:gsub('"', "")) % 2 == 1 do -- the found quote was half of a doubled quote
      local more, next_behind = line:match('^(.-)"()[,\n]', behind)
      quoted, behind = quoted .. '"' .. more, next_behind
    end
    local text = quoted and quoted:gsub('""', '"') or line:match("^[^,\n]*", at)
    cells[#cells + 1] = text
    at = (behind or at + #text) + 1
  end
  return cells
end

-- Whether a table's line has all its cells, as far as its text shows.
local function whole(line, format, columns)
  if format == "json" then return line:match("^{.*}\n$") ~= nil end
  local cells = cells_of(line)
  return #cells == #columns and tonumber(cells[6]) ~= nil
end

---Returns the regular file that `path` is or could become, with all links resolved; nil for a pipe or a device. Also
---nil for /dev/stdout, whatever its target: a rename would put a file in its place.
---@param path string
---@return string?
function M.regular(path)
  if path:find("^/dev/std") or path:find("^/dev/fd/") or path:find("^/proc/") then return nil end
  return require("actor.c.files").regular(path)
end

---Returns the lines of an interrupted sweep with the same header; nil if there is no such file, or nil and an error.
---@param path string
---@param header string
---@param format "csv"|"json"
---@param columns string[]
---@return string[]? lines up to the first damaged line
---@return string? message
function M.left_behind(path, header, format, columns)
  local real = M.regular(path)
  for _, name in ipairs(real and { real .. partial, real } or {}) do
    local text = util.read(name)
    if text then
      if text:sub(1, #header) ~= header then
        return nil, name .. " belongs to another sweep (its header differs): remove it, or leave --resume out"
      end
      local lines = {}
      for line in text:sub(#header + 1):gmatch("[^\n]*\n") do -- skips a truncated last line
        if not whole(line, format, columns) then break end
        lines[#lines + 1] = line
      end
      return lines
    end
  end
end

---@class actor.sim.Table
local Table = {}
Table.__index = Table

---@param path string
---@param format "csv"|"json"
---@param configuration string[] "name=value" and other texts
---@param varied string[] names of the varied options
---@param resume? boolean resume from the rows of an interrupted sweep of the same configuration
---@return actor.sim.Table? nil, message if it cannot be written
---@return string? message
function M.open(path, format, configuration, varied, resume)
  local self = setmetatable({ path = path, format = M.formats[format], columns = all_columns(varied), varied = varied, done = 0 }, Table)
  local header = self.format.header(configuration, self.columns)
  local before
  if resume then
    local message
    before, message = M.left_behind(path, header, format, self.columns)
    if message then return nil, message end
  end
  self.regular = M.regular(path)
  self.writes_to = self.regular and self.regular .. partial or path
  local message
  self.file, message = io.open(self.writes_to, "wb")
  if not self.file then return nil, message end
  self:write(header)
  self.before = before or {}
  self:write(table.concat(self.before))
  self.done = #self.before
  return self
end

---Returns the rows of the interrupted sweep, with the fields of its lines. For CSV only.
---@return table[]
function Table:rows_before()
  local rows = {}
  for i, line in ipairs(self.before) do
    local row, cells = { index = i, varied = {} }, cells_of(line)
    for k, name in ipairs(self.columns) do
      local value = tonumber(cells[k]) or cells[k]
      if value ~= "" then row[name] = value end
    end
    for _, name in ipairs(self.varied) do row.varied[name] = row[name] end
    rows[i] = row
  end
  return rows
end

---Writes text to the file immediately, unbuffered.
---@param text string
function Table:write(text)
  local fine, message = self.file:write(text)
  if fine then fine, message = self.file:flush() end
  if not fine then error(("%s cannot be written: %s"):format(self.writes_to, message), 0) end
end

---Adds a row.
---@param row table
function Table:add(row) self:write(self.format.line(row, self.columns)) end

---Completes the table: the file gets its name.
function Table:finish()
  self.file:close()
  if self.regular then
    local fine, message = os.rename(self.writes_to, self.regular)
    if not fine then error(message, 0) end
  end
end

---Returns the configuration of a sweep as "name=value" texts, in order of the names.
---@param options table
---@return string[]
function M.configuration(options)
  local out = {}
  for _, name in ipairs(util.sorted_keys(options)) do
    local value = options[name]
    if type(value) ~= "table" and type(value) ~= "function" then out[#out + 1] = name .. "=" .. tostring(value) end
  end
  return out
end

return M
