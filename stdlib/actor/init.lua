--- The standard library. `actor.NAME` requires the module "actor.NAME" when it is first used; the members below are
--- always there. A node's identity (rank, size, id, role, epoch, seed, on_membership, on_error) comes from the host's
--- module "actor.c.node", asked at each use since membership changes; without a host reading it is an error.
local check = require("actor.check")
local core = require("actor.c.core")
local clock = require("actor.ffi")("core")
local spelling = require("actor.c.names")
local util = require("actor.util")

---@class actor
---@field args string[] what followed the script on the command line; args[0] is the script's path, nil on machines that do not have it
---@field version string of actorhost
---@field average actor.average
---@field barrier actor.barrier
---@field codec actor.codec
---@field collective actor.collective
---@field data actor.data
---@field filter actor.filter
---@field help actor.help
---@field log actor.log
---@field mapreduce actor.mapreduce
---@field nn actor.nn
---@field optim actor.optim
---@field param actor.param
---@field plot actor.plot
---@field progress actor.progress
---@field psp actor.psp
---@field sim actor.sim
---@field tensor actor.tensor
---@field trace actor.trace
---@field options fun(defaults: table<string|integer, string|number|boolean>, args?: string[]): table<string|integer, any> a job's own flags
---@field rank integer|nil this worker's place among the live ones, from 0; nil on a server
---@field size integer how many live workers there are
---@field id integer|nil this worker's own number, never another's; nil on a server
---@field role "worker"|"server"
---@field shard integer|nil of a server, from 0
---@field epoch integer number of the membership
---@field seed integer of the run, the same on every node
---@field on_membership fun(fn: fun(change: actor.MembershipChange)) see actor.events
---@field on_error fun(fn: fun(message: string))
---@field rng fun(seed: number, stream?: number): actor.Rng
local M = {
  args = core.args,
  version = core.version,
  pairs = util.pairs,
}

local node

local function the_node(name)
  if not node then
    if not package.preload["actor.c.node"] then
      check.fail("actor.%s: this Lua state is not a node of a cluster", name)
    end
    node = require("actor.c.node")
  end
  return node
end

---A hash of a value, the same in every VM and on every machine; see actor.codec.
---@param value any
---@return string
function M.hash(value)
  return require("actor.c.codec").hash(value)
end

---Does nothing for so long; ends with the run.
---@param seconds number
function M.sleep(seconds)
  the_node("sleep").sleep(seconds)
end

---Seconds of the run's clock (its zero means nothing).
---@return number
function M.now()
  return clock.now(clock.clock)
end

local identity = {
  rank = true, size = true, id = true, role = true, epoch = true, seed = true, shard = true,
}
local events = { on_membership = true, on_error = true }

local function member(_, name)
  if identity[name] then return the_node(name)[name] end
  if events[name] then return the_node(name) and require("actor.events")[name] end
  local found, module = pcall(require, "actor." .. name)
  if found then
    rawset(M, name, module)
    return module
  end
  if module:find("module 'actor." .. name .. "' not found", 1, true) then
    local names = {}
    for _, some in ipairs { M, identity, events } do
      for key in pairs(some) do names[#names + 1] = key end
    end
    for module in pairs(core.library()) do names[#names + 1] = module:match("^actor%.([^.]+)$") end
    spelling.unknown("actor.", name, names)
  end
  error(module, 0)
end

return setmetatable(M, {
  __index = function(t, name)
    if type(name) ~= "string" then check.fail("there is no actor[%s]", tostring(name)) end
    return member(t, name)
  end,
})
