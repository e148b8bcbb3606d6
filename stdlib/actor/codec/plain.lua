--- Checks whether LuaJIT's own encoder can take a table. The table may hold only numbers, strings, booleans and tables
--- of these, without metatables and without the key 0, which that encoder writes as part of an array. The JIT compiles
--- the loop. bindings/vm/lua_codec.cpp calls it for large arrays, map-reduce for its rows.
local type, next, getmetatable = type, next, getmetatable

---@param t table
---@param depth number limit of nested tables, this one included
---@param slots number limit of tables, items and pairs in all
---@return number|nil slots the remaining slots; nil if the table is not plain or too large
local function plain(t, depth, slots)
  if depth < 1 or getmetatable(t) ~= nil then return nil end
  slots = slots - 1
  if slots < 0 then return nil end
  for key, value in next, t do
    local kind = type(key)
    if key == 0 or (kind ~= "number" and kind ~= "string" and kind ~= "boolean") then return nil end
    slots = slots - 1
    if slots < 0 then return nil end
    kind = type(value)
    if kind == "table" then
      slots = plain(value, depth - 1, slots)
      if not slots then return nil end
    elseif kind ~= "number" and kind ~= "string" and kind ~= "boolean" then
      return nil
    end
  end
  return slots
end

return plain
