--- What a chunk that came from outside gives back: its values as text. Called where the values are, within the time of the
--- chunk, so that a __tostring that does not return is interrupted with it.
local format = require("actor.console.format")

---@param mode string "table", "lua", "json"; "plain": as tostring
---@param ... any at least one
---@return string
return function(mode, ...)
  local first = ...
  if mode == "plain" then return tostring(first) end
  if first ~= nil then rawset(_G, "_", first) end
  return format.values(mode ~= "" and mode or "table", ...)
end
