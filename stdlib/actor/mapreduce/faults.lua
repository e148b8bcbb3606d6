--- Builds the message of a task's error: the failed operation, its place in the script, the cause and the record. The
--- loops of compile.lua register here. Their lines that call a user's function end in a mark: "--f3" for the third
--- operation, "--put" for the output of the rows.
local util = require("actor.util")
local c = require("actor.c.mapreduce")

---@class actor.mapreduce.Label
---@field op string "map"
---@field shown? string instead of `op`
---@field where string "job.lua:12"

local M = {}

local MOST = 80 -- bytes of a text in a message

local chunks, made = {}, 0 -- of this action, by source

---Forgets the loops of the previous action.
function M.begin_action() chunks, made = {}, 0 end

---Loads a loop's text so that its errors can be explained. `state.batch` is the current batch of rows.
---@param text string
---@param ops actor.mapreduce.Label[]
---@param labels {put?: actor.mapreduce.Label, combine?: actor.mapreduce.Label}
---@param state table
---@return function
function M.load(text, ops, labels, state)
  made = made + 1
  local name = ("@stdlib/actor/mapreduce/loop-%d"):format(made)
  chunks[name] = { text = text, ops = ops, labels = labels, state = state }
  return assert(load(text, name, "t"))
end

-- The mark of a line of a text.
local function mark_at(text, line)
  local i = 0
  for each in text:gmatch("([^\n]*)\n?") do
    i = i + 1
    if i == line then return each:match("%-%-(%w+)$") end
  end
end

local escapes = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ["\0"] = "\\0", ['"'] = '\\"', ["\\"] = "\\\\" }

local function show_text(text)
  local cut = text
  if #text > MOST then
    local stop = MOST
    while stop > MOST - 4 and text:byte(stop + 1) >= 128 and text:byte(stop + 1) < 192 do stop = stop - 1 end
    cut = text:sub(1, stop)
  end
  cut = cut:gsub('[%c"\\]', function(c) return escapes[c] or ("\\%d"):format(c:byte()) end)
  return #text > MOST and ('"%s..." (%d bytes)'):format(cut, #text) or ('"%s"'):format(cut)
end

---A value for a message, shortened.
---@param value any
---@return string
function M.show(value)
  local kind = type(value)
  if kind == "string" then return show_text(value) end
  if kind ~= "table" then return tostring(value) end
  local parts, count = {}, 0
  for key, item in util.pairs(value) do
    count = count + 1
    if count > 5 then
      parts[6] = "..."
      break
    end
    local text = type(item) == "table" and "{...}" or M.show(item)
    parts[count] = key == count and text or ("%s = %s"):format(tostring(key), text)
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end
local get -- reads a value of a batch; set by compile.lua

---@param fn fun(value: ffi.cdata*): any
function M.read_with(fn) get = fn end

-- The current row of a loop.
local function record_of(state)
  local batch = state.batch
  if not batch or batch.at >= batch.count then return nil end
  if state.array then return M.show(state.array[batch.first[0].number]) end
  local text = M.show(get(batch.first[batch.at]))
  if batch.pair[batch.at] % 2 == 1 then text = text .. ", " .. M.show(get(batch.second[batch.at])) end
  return text
end

-- "; record: ...", the current row of a loop; "" when the row is not the cause.
local function blamed(chunk)
  if debug.getinfo(3, "f").func == c.fail then return "" end -- an error of files or memory, or with the row in it
  local ok, record = pcall(record_of, chunk.state)
  return ok and record and "; record: " .. record or ""
end

local Explained = {}

---An error that `explain` leaves as it is.
---@param text string
---@return table
function M.explained(text) return setmetatable({ text = text }, Explained) end

---The current operation outside of loops: errors that no loop raises name it.
---@type actor.mapreduce.Label?
M.doing = nil

local function failed(label, text, rest)
  return ("%s (%s) failed: %s%s"):format(label.shown or label.op, label.where, text, rest)
end

---For xpcall: returns the error's text with the operation, the place and the record, as far as known.
---@param message any
---@return string
function M.explain(message)
  if getmetatable(message) == Explained then return message.text end
  local text = tostring(message):gsub("^stdlib/actor/mapreduce/loop%-%d+:%d+: ", "")
  for level = 2, math.huge do
    local info = debug.getinfo(level, "Sl")
    if not info then break end
    local chunk = chunks[info.source]
    if chunk then
      local mark = mark_at(chunk.text, info.currentline) or ""
      local op = chunk.labels[mark] or chunk.ops[tonumber(mark:match("^f(%d+)$"))]
      return op and failed(op, text, blamed(chunk)) or text
    end
  end
  return M.doing and failed(M.doing, text, "") or text
end

return M
