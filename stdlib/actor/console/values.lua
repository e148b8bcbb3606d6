--- Returns the values of a console's chunk as text. Runs on the chunk's node within the chunk's time limit, so a
--- __tostring that does not return is interrupted together with the chunk.
local format = require("actor.console.format")

---@param mode string as for format.values; "plain": like tostring
---@param ... any at least one
---@return string
return function(mode, ...)
  local first = ...
  if mode == "plain" then return tostring(first) end
  if first ~= nil then rawset(_G, "_", first) end
  return format.values(mode ~= "" and mode or "table", ...)
end
