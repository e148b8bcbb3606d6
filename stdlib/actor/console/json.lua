--- Encodes Lua values as JSON. A value without a JSON form becomes null (nan, infinities, nil) or a descriptive string.
local ffi = require("ffi")
local numbers = require("actor.numbers")
local tensor = require("actor.tensor.base")

local M = {}

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

-- Replaces each byte outside UTF-8, which JSON cannot contain, with a question mark.
local function utf8_only(text)
  if not text:find("[\128-\255]") then return text end
  local out, i = {}, 1
  while i <= #text do
    local lead = text:byte(i)
    local size = lead < 128 and 1 or lead >= 194 and lead < 224 and 2 or lead >= 224 and lead < 240 and 3
      or lead >= 240 and lead < 245 and 4 or 0
    local part = text:sub(i, i + size - 1)
    if size > 0 and #part == size and part:find("^.[\128-\191]*$") then
      out[#out + 1], i = part, i + size
    else
      out[#out + 1], i = "?", i + 1
    end
  end
  return table.concat(out)
end

local function quoted(text)
  return '"' .. utf8_only(text):gsub('[%c"\\]', function(c) return escapes[c] or ("\\u%04x"):format(c:byte()) end) .. '"'
end

--- Wraps a text that already is JSON.
---@param text string
---@return table
function M.raw(text) return setmetatable({ text = text }, M) end

--- Metatable that marks an array, even an empty one.
M.array = {}

---Encodes a tree of tables. A table with a first element, or with the metatable `array`, is encoded as an array;
---every other table as an object, in the order of its names.
---@param value any
---@return string
function M.encode(value)
  local kind = type(value)
  if kind == "string" then return quoted(value) end
  if kind == "boolean" then return tostring(value) end
  if kind == "number" then
    if value - value ~= 0 then return "null" end
    return numbers.text(value)
  end
  if kind ~= "table" then return "null" end
  local meta, parts = getmetatable(value), {}
  if meta == M then return value.text end
  if meta == M.array or value[1] ~= nil then
    for i = 1, #value do parts[i] = M.encode(value[i]) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  local names = {}
  for name in next, value do names[#names + 1] = tostring(name) end
  table.sort(names)
  for i, name in ipairs(names) do
    local item = value[name]
    if item == nil then item = value[tonumber(name)] end
    parts[i] = quoted(name) .. ":" .. M.encode(item)
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

---Copies a value into tables that `encode` takes, within limits; a text replaces each omitted part.
---@param value any
---@param limits actor.console.format.Limits
---@param describe fun(t: ffi.cdata*): string describes a tensor above the limits
---@param placeholder fun(value: any, why: any): string the placeholder for a value that raises an error
---@return any
function M.plain(value, limits, describe, placeholder)
  local open = {}
  local copied
  local function copy(it, depth)
    local fine, out = pcall(copied, it, depth)
    if fine then return out end
    return placeholder(it, out)
  end
  function copied(it, depth)
    if type(it) == "cdata" and ffi.istype(tensor.new, it) then
      if it.context_ == nil or it.size > 10 * limits.entries then return describe(it) end
      local values = setmetatable({}, M.array)
      local flat = it:reshape { it.size }
      for i = 1, it.size do
        local value = flat[i]
        values[i] = type(value) == "cdata" and tostring(value):gsub("LL$", "") or value -- exceeds a JSON number
      end
      return { shape = setmetatable(it.shape, M.array), dtype = it.dtype, values = values }
    end
    local kind = type(it)
    if kind == "function" or kind == "userdata" or kind == "thread" or kind == "cdata" then return tostring(it) end
    if kind ~= "table" then return it end
    local meta = debug.getmetatable(it)
    if type(meta) == "table" and rawget(meta, "__tostring") then return tostring(it) end
    if open[it] then return "<the table around it>" end
    if depth > limits.depth then return "{...}" end
    open[it] = true
    local out, n = {}, #it
    if n > 0 then
      local mixed = next(it, n) ~= nil
      out = setmetatable({}, M.array)
      for i = 1, math.min(n, 10 * limits.entries) do out[i] = copy(rawget(it, i), depth + 1) end
      if n > #out then out[#out + 1] = ("... %d more"):format(n - #out) end
      if mixed then
        local all = {}
        for i = 1, #out do all[tostring(i)] = out[i] end
        out = all
      end
    end
    if getmetatable(out) ~= M.array then
      local count = 0
      for key, item in next, it do
        if not (type(key) == "number" and key >= 1 and key <= n and key % 1 == 0) then
          count = count + 1
          if count > 10 * limits.entries then
            out["..."] = "more"
            break
          end
          out[tostring(key)] = copy(item, depth + 1)
        end
      end
    end
    open[it] = nil
    return out
  end
  return copy(value, 1)
end

return M
