--- Completion at a prompt: variables, fields after dots, methods after a colon, also behind a call of a function whose
--- docstring has a return type. It runs on the node that holds the values, only reads them, and calls no function of
--- the script.
local core = require("actor.c.core")
local ffi = require("ffi")
local help = require("actor.help")
local names = require("actor.console.names")
local returns = require("actor.console.returns")
local tensor = require("actor.tensor.base")

local M = {}

local most = 200 -- limit of returned words

local keywords = { "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil",
  "not", "or", "repeat", "return", "then", "true", "until", "while" }
local properties = { "shape", "dtype", "ndim", "size" }

local function is_tensor(value) return type(value) == "cdata" and ffi.istype(tensor.new, value) end

-- The tables to search for the fields of a value: the value itself, then those of its metatables.
local function places(value)
  local list = {}
  if is_tensor(value) then
    require("actor.tensor")
    return { tensor.methods }
  end
  if type(value) == "string" then return { string } end
  for _ = 1, 10 do
    if type(value) ~= "table" then break end
    list[#list + 1] = value
    local meta = debug.getmetatable(value)
    value = type(meta) == "table" and rawget(meta, "__index") or nil
  end
  return list
end

local function field(value, key)
  for _, place in ipairs(places(value)) do
    local found = rawget(place, key)
    if found ~= nil then return found end
  end
  if value == package.loaded.actor and core.library()["actor." .. key] then
    local fine, module = pcall(require, "actor." .. key)
    return fine and module or nil
  end
end

local Words = {}
Words.__index = Words

function Words:add(name, value)
  local wanted = type(name) == "string" and name:sub(1, #self.start) == self.start and name:find("^[%a_][%w_]*$")
  if not wanted or self.seen[name] or (name:sub(1, 1) == "_" and self.start == "") then return end
  local call = type(value) == "function"
  if self.sign == ":" and not call then return end
  if not call and name:sub(-1) == "_" and self.sign ~= "" then return end -- private to the library
  self.seen[name] = true
  self[#self + 1] = self.path .. self.sign .. name .. (call and "(" or "")
end

function Words:of(value)
  for _, place in ipairs(places(value)) do
    for name, found in next, place do self:add(name, found) end
  end
  if is_tensor(value) then
    for _, name in ipairs(properties) do self:add(name, true) end
  end
  if value == package.loaded.actor then
    for module in pairs(core.library()) do self:add(module:match("^actor%.([%a_]+)$"), true) end
  end
end

-- The value of a name: a local variable of the script, a global, or a module of the library.
local function value_of(name)
  local found, value = names.read_local(name)
  if found then return value end
  value = rawget(getfenv(0), name)
  local module = names.modules()[name]
  if value ~= nil or not module then return value end
  local fine, loaded = pcall(require, module)
  return fine and loaded or nil
end

local function words_at(before)
  local word = before:match("[%w_]*$")
  local head = before:sub(1, #before - #word)
  local sign = head:match("[.:]$") and not head:find("%.%.$") and head:sub(-1) or ""
  local words = setmetatable({ path = "", sign = sign, start = word, seen = {} }, Words)
  if sign == "" then
    for name, value in next, getfenv(0) do words:add(name, value) end
    for _, name in ipairs(names.locals()) do words:add(name, value_of(name)) end
    for name in pairs(names.modules()) do words:add(name, true) end
    for _, name in ipairs(keywords) do words:add(name, true) end
  else
    local kind = returns.of(head:sub(1, -2), value_of, field)
    if kind and kind.class then
      for _, name in ipairs(help.members(kind.class)) do words:add(name, type) end
    elseif kind and kind.text then
      words:of("")
    elseif kind then
      words:of(kind.value)
    end
    words.path = head:sub(1, -2):match("[%w_.:]*$")
    for i, found in ipairs(words) do words[i] = words.path .. found end
    word = words.path .. sign .. word
  end
  table.sort(words)
  for i = #words, most + 1, -1 do words[i] = nil end
  return word, words
end

---Finds the completions of the last word of a text: for "tensor.ze", "tensor.zeros(" and "tensor.zeros_like(".
---@param before string the chunk up to the cursor
---@return string word the typed part of the word
---@return string[] words the completions, complete and sorted
function M.at(before)
  local fine, word, words = pcall(words_at, before)
  if fine then return word, setmetatable(words, nil) end
  return "", {}
end

---Chooses the text to insert after the typed word, and the list to show, which is empty for a single completion.
---@param word string
---@param words string[]
---@param columns integer of the terminal
---@param behind? string separators: a word is shown from its last separator on; default dots and colons
---@return string insert
---@return string list words in columns
function M.choice(word, words, columns, behind)
  if #words == 0 then return "", "" end
  local common = words[1]
  for _, other in ipairs(words) do
    while other:sub(1, #common) ~= common do common = common:sub(1, -2) end
  end
  while #common > 0 and common:byte(-1) >= 128 do common = common:sub(1, -2) end -- whole characters
  if #words == 1 then return words[1]:sub(#word + 1), "" end
  if #common > #word then return common:sub(#word + 1), "" end
  local shown, width = {}, 0
  local last = ("[^%s]+$"):format(behind or ".:")
  for i, other in ipairs(words) do
    shown[i] = other:gsub("^:", ""):match(last) or other
    width = math.max(width, #shown[i] + 2)
  end
  local across = math.max(1, math.floor(columns / width))
  local down = math.ceil(#shown / across)
  local lines = {}
  for row = 1, down do
    local cells = {}
    for i = row, #shown, down do cells[#cells + 1] = shown[i] .. (" "):rep(width - #shown[i]) end
    lines[row] = (table.concat(cells):gsub("%s+$", ""))
  end
  return "", table.concat(lines, "\n")
end

return M
