-- Prints the global `value` as text that differs for different values.
local function text(v)
  if type(v) ~= "table" then return type(v) .. " " .. tostring(v) end
  local parts = {}
  for key, item in require("actor.util").pairs(v) do parts[#parts + 1] = tostring(key) .. "=" .. text(item) end
  return "{" .. table.concat(parts, ",") .. "}"
end
print(text(value))
