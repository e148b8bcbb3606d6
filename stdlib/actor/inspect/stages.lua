--- A view of a run's state as text (`:stages`): the progress of its map-reduce stages.
local text = require("actor.inspect.text")

local M = {}

---Returns a line for each stage, with a bar of its completed tasks.
---@param state table the run's state, with `stages`
---@return string
function M.table(state)
  local rows = {}
  for i, stage in ipairs(state.stages or {}) do
    local tasks, done = stage.tasks or 0, stage.done or 0
    local share = tasks > 0 and done / tasks or 1
    rows[i] = { ("%d.%d"):format(stage.action or 0, stage.stage or 0), stage.name or "", stage.where or "",
      ("[%s%s]"):format(("#"):rep(math.floor(20 * share)), ("."):rep(20 - math.floor(20 * share))),
      ("%d/%d"):format(done, tasks), tostring(stage.running or 0), stage.rows and tostring(stage.rows) or "",
      stage.bytes and text.bytes(stage.bytes) or "", stage.seconds and text.seconds(stage.seconds) or "" }
  end
  if #rows == 0 then return "no map-reduce stage has run" end
  return text.columns({ "stage", "operation", "where", "", ">tasks", ">running", ">rows", ">bytes", ">time" }, rows)
end

return M
