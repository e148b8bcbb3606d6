--- The enums of the C++ side. The FFI texts export them (scripts/cmake/EmbedLua.cmake): once actor.ffi has loaded the
--- text, the enumerator A::x of C++ is the constant AH_A_X of ffi.C.
local C = require("ffi").C

---Returns the numbers of enumerators by their names in lower case.
---@param enum string "AH_A"
---@param names string separated by spaces
---@return table<string, integer>
return function(enum, names)
  local numbers = {}
  for name in names:gmatch("%S+") do numbers[name] = C[enum .. "_" .. name:upper()] end
  return numbers
end
