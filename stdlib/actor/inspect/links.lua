--- The connections between the processes of a run.
local text = require("actor.inspect.text")

local M = {}

---@param state table with hosts and links
---@return string
function M.table(state)
  local rows = {}
  local hosts = {}
  for _, host in ipairs(state.hosts) do hosts[host.process] = host end
  local function name(process)
    return hosts[process] and hosts[process].host or ("process %s"):format(tostring(process))
  end
  for i, link in ipairs(state.links or {}) do
    local to = hosts[link.to]
    rows[i] = { ("%d %s"):format(link.from, name(link.from)), ("%d %s"):format(link.to, name(link.to)),
      text.bytes(link.sent or 0), text.bytes(link.received or 0), tostring(link.frames_sent or 0),
      tostring(link.frames_received or 0), text.bytes(link.queued or 0),
      to and (to.silent and "silent" or to.age and text.seconds(to.age)) or "" }
  end
  if #rows == 0 then
    return #state.hosts < 2 and "one process: there are no links" or "no link has carried anything"
  end
  return text.columns({ "from", "to", ">sent", ">received", ">frames out", ">frames in", ">queued", ">heard" }, rows)
end

return M
