--- Values that functions of operations read: `mr.broadcast(value)`. Every node runs the script and so has the value
--- already. The handle declares that the value is the same everywhere; the next action checks this by hash.
local check = require("actor.check")
local codec = require("actor.codec")

---@class actor.mapreduce.Broadcast
---@field private content any
---@field hash string 16 hexadecimal digits
local Broadcast = check.class("broadcast:")

local M = {}

local all = "" -- see M.all

---Makes a handle of `value`. The value must be the same on every node and must not change afterwards. It must be able
---to travel: a number, a text, a table of these or a tensor.
---```lua
---local factor = actor.mapreduce.broadcast(10)
---print(actor.mapreduce.range(1, 3):map(function(n) return n * factor:get_value() end):sum())  --> 60
---```
---@param value any
---@return actor.mapreduce.Broadcast
function M.new(value)
  if value == nil then check.wrong("value", "mapreduce.broadcast", "a value", value) end
  local hash = codec.hash(value)
  all = codec.hash({ all, hash })
  return setmetatable({ content = value, hash = hash }, Broadcast)
end

---The hash of all contents so far. Every node makes the same broadcasts in the same order.
---@return string
function M.all() return all end

---@param value any
---@return boolean
function M.is(value) return type(value) == "table" and getmetatable(value) == Broadcast end

---Returns the value of the handle.
---```lua
---local names = actor.mapreduce.broadcast { "zero", "one", "two" }
---print(actor.mapreduce.range(1, 2):map(function(n) return names:get_value()[n + 1] end):first())  --> one
---```
---@return any
function Broadcast:get_value() return self.content end
Broadcast.value = Broadcast.get_value

function Broadcast:__tostring() return ("broadcast (%s)"):format(self.hash) end

---Returns the value of a handle.
---@param handle actor.mapreduce.Broadcast
---@return any
function M.get_value(handle)
  if not M.is(handle) then check.wrong("handle", "mapreduce.get_value", "what broadcast returned", handle) end
  return handle.content
end

return M
