--- What every collective does before it calls: checks its options, tells of membership changes, and makes the table that
--- bindings/lua_collective.cpp reads.
local check = require("actor.check")
local node = require("actor.c.node")
local events = require("actor.events")

---@class actor.CollectiveOptions
---@field timeout? number seconds; without it a live rank is waited for as long as it takes
---@field algorithm? "star"|"ring"|"recursive_doubling"|"halving_doubling"|"tree"|"chain"|"ordered" instead of the one that suits size and ranks
---@field reproducible? boolean the bits of a loop over the ranks, whatever the timing and the algorithm

local common = { timeout = "number?", algorithm = "string?", reproducible = "boolean?" }

local M = {}

---Checks the options and says what is called.
---@param group integer number of the group; 0 is everybody
---@param name string "allreduce"
---@param options? table
---@param more? table<string, string> further options and their kinds
---@return table call
function M.prepare(group, name, options, more)
  local fn = "collective." .. name
  local call = { group = group, name = name }
  if options ~= nil then
    local kinds = common
    if more then
      kinds = {}
      for key, kind in pairs(common) do kinds[key] = kind end
      for key, kind in pairs(more) do kinds[key] = kind end
    end
    check.options(options, kinds, fn)
    if options.timeout ~= nil then check.number(options.timeout, "timeout", fn, 0) end
    call.timeout, call.algorithm, call.reproducible = options.timeout, options.algorithm, options.reproducible
  end
  if node.role == "server" then
    check.fail("%s is for workers and this is a parameter server; guard with actor.role", fn)
  end
  events.deliver()
  return call
end

---The same call by another name, for operations that are made of two.
---@param call table
---@param name string
---@return table
function M.as(call, name)
  return { group = call.group, name = name, timeout = call.timeout }
end

return M
