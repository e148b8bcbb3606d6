--- Formats values for a reader: bounded in depth, width and entries, and never an error. It runs on the node that holds
--- the values. Modes: "table" to read, "lua" to paste into a script, "json" for programs.
local ffi = require("ffi")
local json = require("actor.console.json")
local numbers = require("actor.numbers")
local tensor = require("actor.tensor.base")

local M = {}

---@class actor.console.format.Limits
---@field depth? integer tables within tables, default 5
---@field entries? integer of one table, default 100
---@field width? integer columns of a line, default 100
---@field bytes? integer of the whole text, default 16384

local default = { depth = 5, entries = 100, width = 100, bytes = 16384 }
local long_text = 200 -- bytes of a string within a table
local few_numbers = 8 -- of a tensor within a table

M.modes = { table = true, lua = true, json = true }

local reserved = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat return then true until while")
  :gmatch("%a+") do
  reserved[word] = true
end

-- The first `most` bytes of a text, whole characters only, and whether the text is longer.
local function cut(text, most)
  if #text <= most then return text, false end
  while most > 0 and text:byte(most + 1) >= 128 and text:byte(most + 1) < 192 do most = most - 1 end
  return text:sub(1, most), true
end

-- A placeholder for a value whose formatting has raised an error.
local function placeholder(value, why)
  why = type(why) == "string" and why or type(why)
  return ("<a %s that cannot be shown: %s>"):format(type(value), (cut(why, long_text)))
end

local function is_name(key)
  return type(key) == "string" and key:find("^[%a_][%w_]*$") ~= nil and not reserved[key]
end

local lua_texts = { nan = "0/0", inf = "math.huge", ["-inf"] = "-math.huge" }

local function number_text(x, lua, is_single)
  local text = numbers.text(x, is_single)
  return lua and lua_texts[text] or text
end

local escapes = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ['"'] = '\\"', ["\\"] = "\\\\" }

local function quoted(text)
  return '"' .. text:gsub('[%c"\\\127]', function(c) return escapes[c] or ("\\%03d"):format(c:byte()) end) .. '"'
end

-- The place of a function: "function job.lua:12".
local function function_text(fn)
  local info = debug.getinfo(fn, "S")
  if info.what == "C" then return "function built in" end
  return ("function %s:%d"):format(info.short_src, info.linedefined)
end

local function shape_of(t) return t.ndim == 0 and "scalar" or table.concat(t.shape, "x") end

-- An element of a tensor: a number, a boolean, or an int64_t.
local function element_text(x, lua, is_single)
  if type(x) == "number" then return number_text(x, lua, is_single) end
  return lua and tostring(x) or (tostring(x):gsub("LL$", ""))
end

-- The first `most` elements of a tensor.
local function numbers_of(t, most)
  local numbers = {}
  if t.ndim == 0 then return { t:item() } end
  local flat = t:reshape { t.size }
  for i = 1, math.min(most, t.size) do numbers[i] = flat[i] end
  return numbers
end

local function tensor_line(t)
  if t.context_ == nil then return "tensor (empty)" end
  local texts = {}
  for i, x in ipairs(t.size <= few_numbers and numbers_of(t, few_numbers) or {}) do texts[i] = element_text(x, false, t.dtype == "float32") end
  return ("tensor %s %s%s"):format(shape_of(t), t.dtype, #texts > 0 and ": " .. table.concat(texts, " ") or "")
end

-- The text of a value with its own __tostring, in one line.
local function own_text(value)
  local meta = type(value) == "table" and debug.getmetatable(value)
  if meta and type(meta) == "table" and rawget(meta, "__tostring") == nil then return nil end
  if type(value) == "table" and not meta then return nil end
  local own = tostring(value)
  if type(own) ~= "string" then return ("<its __tostring returned a %s>"):format(type(own)) end
  return (own:gsub("%s+", " "))
end

-- Keys in display order: 1 to n, other numbers, strings, other types.
local function keys_of(t, most)
  local n = #t
  local keys, rank = {}, {}
  local order = { number = 1, string = 2, boolean = 3 }
  for key in next, t do
    if not (type(key) == "number" and key >= 1 and key <= n and key % 1 == 0) then
      keys[#keys + 1] = key
      rank[key] = order[type(key)] or 4
    end
  end
  table.sort(keys, function(a, b)
    if rank[a] ~= rank[b] then return rank[a] < rank[b] end
    if rank[a] <= 2 then return a < b end
    return tostring(a) < tostring(b)
  end)
  local first = math.min(n, most)
  return first, n, keys
end

local Writer = {}
Writer.__index = Writer

function Writer:scalar(value, inside)
  local kind = type(value)
  if kind == "number" then return number_text(value, self.lua) end
  if kind == "string" then
    if not inside and not self.lua then return value end
    local text, less = cut(value, self.lua and math.huge or long_text)
    return quoted(text) .. (less and (" (%d bytes)"):format(#value) or "")
  end
  if kind == "nil" or kind == "boolean" then return tostring(value) end
  if kind == "cdata" and ffi.istype(tensor.new, value) then
    return self.lua and self:tensor_source(value) or (inside and tensor_line(value) or tostring(value))
  end
  local text
  if kind == "function" then
    text = function_text(value)
  else
    text = own_text(value) or tostring(value)
  end
  text = cut(text, long_text)
  return self.lua and ("nil --[[%s]]"):format((text:gsub("%]%]", "] ]"))) or text
end

function Writer:tensor_source(t)
  if t.size > self.limits.entries then return ("nil --[[%s]]"):format(tensor_line(t)) end
  local texts = {}
  for i, x in ipairs(numbers_of(t, t.size)) do texts[i] = element_text(x, true, t.dtype == "float32") end
  return ('require("actor.tensor").new({%s}, { dtype = "%s" }):reshape({%s})'):format(table.concat(texts, ", "), t.dtype,
    table.concat(t.shape, ", "))
end

function Writer:key(key)
  if is_name(key) then return key end
  if type(key) == "table" then return "[table]" end
  return "[" .. self:scalar(key, true) .. "]"
end

-- Puts items on lines of at most `width` columns; with `dense` (an array of short items) several items share a line.
local function laid_out(items, indent, width, dense)
  local inner = (" "):rep(indent + 2)
  local total = 4 + indent
  for _, item in ipairs(items) do
    total = total + #item + 2
    if item:find("\n", 1, true) then total = math.huge end
  end
  if total <= width then return "{ " .. table.concat(items, ", ") .. " }" end
  if not dense then
    return "{\n" .. inner .. table.concat(items, ",\n" .. inner) .. "\n" .. (" "):rep(indent) .. "}"
  end
  local lines, line = {}, ""
  for _, item in ipairs(items) do
    if line ~= "" and #inner + #line + 2 + #item > width then
      lines[#lines + 1], line = line .. ",", ""
    end
    line = line == "" and item or line .. ", " .. item
  end
  lines[#lines + 1] = line
  return "{\n" .. inner .. table.concat(lines, "\n" .. inner) .. "\n" .. (" "):rep(indent) .. "}"
end

function Writer:table(t, depth, indent)
  if self.open[t] then return self.lua and "nil --[[the table around it]]" or "<the table around it>" end
  if next(t) == nil then return "{}" end
  if depth > self.limits.depth or self.left <= 0 then return self.lua and "nil --[[more]]" or "{...}" end
  self.open[t] = true
  local first, n, keys = keys_of(t, self.limits.entries)
  local items, dense = {}, #keys == 0
  local function add(text)
    items[#items + 1] = text
    self.left = self.left - #text
  end
  for i = 1, first do
    if self.left <= 0 then
      first = i - 1
      break
    end
    local value = rawget(t, i)
    if type(value) == "table" or type(value) == "string" then dense = false end
    add(self:value(value, depth + 1, indent + 2))
  end
  local shown = first
  for _, key in ipairs(keys) do
    if shown >= self.limits.entries or self.left <= 0 then break end
    shown = shown + 1
    local name = self:key(key)
    add(name .. " = " .. self:value(rawget(t, key), depth + 1, indent + 2))
  end
  self.open[t] = nil
  local more = n + #keys - shown
  if more > 0 then items[#items + 1] = (self.lua and "--[[%d more]]" or "... %d more"):format(more) end
  return laid_out(items, indent, self.limits.width, dense)
end

local function value_text(self, value, depth, indent)
  if type(value) ~= "table" then return self:scalar(value, true) end
  local text = not self.lua and own_text(value)
  if text then return (cut(text, long_text)) end
  return self:table(value, depth, indent)
end

-- A failing value does not hide the other values.
function Writer:value(value, depth, indent)
  local fine, text = pcall(value_text, self, value, depth, indent)
  if fine then return text end
  return self.lua and ("nil --[[%s]]"):format((placeholder(value, text):gsub("%]%]", "] ]"))) or placeholder(value, text)
end

local function text_of(value, mode, limits)
  if mode == "json" then return json.encode(json.plain(value, limits, tensor_line, placeholder)) end
  local writer = setmetatable({ lua = mode == "lua", limits = limits, open = {}, left = limits.bytes }, Writer)
  if type(value) ~= "table" then return writer:scalar(value, false) end
  local own = mode == "table" and own_text(value)
  return own or writer:table(value, 1, 0)
end

---Returns a value as text. A placeholder replaces a value that cannot be formatted.
---@param value any
---@param mode? "table"|"lua"|"json" default "table"
---@param limits? actor.console.format.Limits
---@return string
function M.value(value, mode, limits)
  mode = M.modes[mode] and mode or "table"
  limits = setmetatable(limits or {}, { __index = default })
  local fine, text = pcall(text_of, value, mode, limits)
  if not fine then
    text = placeholder(value, text)
    if mode == "json" then text = json.encode(text) end
  end
  local short, less = cut(text, limits.bytes)
  if not less then return text end
  if mode == "json" then return json.encode(("<%d bytes>"):format(#text)) end
  return ("%s\n... %d bytes more"):format(short, #text - #short)
end

---Returns a table as `print` shows it: in one line, or in some lines.
---@param t table
---@return string
function M.printed(t) return M.value(t, "table", { depth = 3, entries = 20, bytes = 2000 }) end

---Returns the values of a chunk as text: one below the other; in JSON, as one array.
---@param mode? string "table", "lua" or "json", and optionally the columns of a line: "table 80"
---@param ... any
---@return string
function M.values(mode, ...)
  local texts, limits = {}, nil
  local name, width = (mode or "table"):match("^(%a+) (%d+)$")
  if name then mode, limits = name, { width = math.min(tonumber(width), default.width) } end
  for i = 1, select("#", ...) do texts[i] = M.value((select(i, ...)), mode, limits) end
  if mode == "json" then return "[" .. table.concat(texts, ",") .. "]" end
  return table.concat(texts, mode == "lua" and ", " or "\n")
end

return M
