--- Writes a figure's file atomically. host/data/file/atomic_file.hpp describes the handling of links, permissions and
--- special files.
local files = require("actor.c.files")

local M = {}

---Writes `bytes` to `path`.
---@param path string
---@param bytes string
---@return true? written
---@return string? message
---@return string? code "unwritable"
function M.write(path, bytes)
  local standard = path == "/dev/stdout" and io.stdout or path == "/dev/stderr" and io.stderr
  local written, message
  if standard then -- appends to the script's buffered output
    written, message = standard:write(bytes)
    if written then written, message = standard:flush() end
    message = message and path .. ": " .. message
  else
    written, message = files.replace(path, bytes)
  end
  if not written then return nil, message, "unwritable" end
  return true
end

return M
