--- Commands of the shell, for the tests of scripts.
local M = {}

---Runs a command; returns its exit status, and its output together with its errors.
---@param command string
---@return integer status
---@return string output
function M.run(command)
  local pipe = assert(io.popen("{ " .. command .. "\n} 2>&1; echo $?"))
  local text = pipe:read("*a")
  pipe:close()
  local output, status = text:match("^(.-)(%d+)\n$")
  return tonumber(status), output
end

---Runs a command that must succeed; returns its output together with its errors.
---@param command string
---@return string
function M.output_of(command)
  local status, output = M.run(command)
  assert(status == 0, command .. "\n" .. output)
  return output
end

return M
