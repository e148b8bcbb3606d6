--- Records the steps of a run in progress, as `--record FILE.csv` records them: requests the newest rows of its trace
--- from the run's coordinator, again and again (host/engine/param/TRACE.md).
local M = {}

local every = 0.2 -- seconds between two requests

---Collects the trace's rows for some seconds, or until the run ends.
---@param connection table an observer's connection (actor.c.control)
---@param seconds number
---@param on_progress? fun(seconds: number) called after each request
---@return string? text in the format of --record; nil, message if the run cannot be recorded
---@return string? note why the text has less than `seconds`, if so
function M.collect(connection, seconds, on_progress)
  local now = require("actor").now
  local began = now()
  local parts, length = {}, 0
  while true do
    local state, why = connection:state { "recording" }
    if not state then
      if length == 0 then return nil, why end
      return table.concat(parts), ("the run has ended: %s"):format(why)
    end
    local rows = state.recording
    if not rows then return nil, "the run has no trace of steps: it needs param.run" end
    if rows.file then return nil, ("the run records its steps into %s; give this file"):format(rows.file) end
    if rows.from + #rows.text < length then parts, length = {}, 0 end -- the run has begun a new recording
    if rows.from > length then
      if length == 0 then return nil, "the run makes more rows than a report holds" end
      return table.concat(parts), "the run makes more rows than a report holds"
    end
    parts[#parts + 1] = rows.text:sub(length - rows.from + 1)
    length = rows.from + #rows.text
    local past = now() - began
    if on_progress then on_progress(past) end
    if past >= seconds then
      if length == 0 then return nil, ("it has made no step of param.run in %.3g s"):format(seconds) end
      return table.concat(parts)
    end
    connection:next(every)
  end
end

return M
