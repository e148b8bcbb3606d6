--- Files of specs.
local M = {}

--- The bytes of a file; nil if there is none.
function M.read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local bytes = file:read("*a")
  file:close()
  return bytes
end

function M.write(path, bytes)
  local file = assert(io.open(path, "wb"))
  file:write(bytes)
  file:close()
end

--- Calls body(path) with a temporary file that contains the bytes, and removes the file afterwards. Returns the result.
function M.with(bytes, body)
  local path = os.tmpname()
  M.write(path, bytes)
  local fine, result = xpcall(body, debug.traceback, path)
  os.remove(path)
  if not fine then error(result, 0) end
  return result
end

return M
