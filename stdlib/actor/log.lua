--- The log: lines of every rank in the host's log, with level, time and rank, independent of `print`.
local check = require("actor.check")
local core = require("actor.c.core")

---@class actor.log
local M = {}

-- Counts the arguments that string.format takes for `format`.
local function taken(format)
  local _, count = format:gsub("%%%%", ""):gsub("%%", "")
  return count
end

local function text_of(format, ...)
  local count = select("#", ...)
  local used = type(format) == "string" and taken(format) or 0
  local parts = { tostring(format) }
  if used > 0 and count > 0 then
    local fits, text = pcall(string.format, format, ...)
    if not fits then check.fail("actor.log: %s in '%s' (%%%% is a percent sign)", (text:gsub(" to '.-'", "")), format) end
    parts[1] = text
  end
  for i = used + 1, count do parts[#parts + 1] = tostring((select(i, ...))) end
  return table.concat(parts, " ")
end

local function writer(level)
  return function(format, ...)
    if core.log_enabled(level) then core.log(level, text_of(format, ...)) end
  end
end

---Logs a line at level "debug". Takes a format and its arguments as string.format does, or any values: the line ends
---with the arguments beyond the format, as tostring writes them. Costs next to nothing below the log level
---(`--log-level`).
---```lua
---actor.log.debug("seen with --log-level debug: %d rows", 7)
---```
---@type fun(format: any, ...: any)
M.debug = writer(1)
---Logs a line at level "info"; arguments as for `log.debug`.
---```lua
---actor.log.info("read %d rows", 7)
---```
---@type fun(format: any, ...: any)
M.info = writer(2)
---Logs a line at level "warn"; arguments as for `log.debug`.
---```lua
----- actor.log.warn("%s has no labels", "file.csv")
---```
---@type fun(format: any, ...: any)
M.warn = writer(3)
---Logs a line at level "error"; arguments as for `log.debug`. The script continues.
---```lua
----- actor.log.error("cannot read %s", "file.csv")
---```
---@type fun(format: any, ...: any)
M.error = writer(4)

return M
