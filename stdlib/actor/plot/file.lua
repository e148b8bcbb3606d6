--- Writing a figure's file, as a whole or not at all: host/data/atomic_file.hpp says what becomes of links, permissions and
--- files that are not regular.
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
  if standard then -- behind what the script has printed and its buffer still holds
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
