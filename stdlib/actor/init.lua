--- The standard library. `actor.NAME` requires the module "actor.NAME" when it is first used; the members below are
--- always there. A node's identity (rank, size, id, role, epoch, seed, on_membership, on_error) comes from the host's
--- module "actor.c.node", asked at each use since membership changes; without a host reading it is an error.
local check = require("actor.check")
local core = require("actor.c.core")
local clock = require("actor.ffi")("core")
local util = require("actor.util")

---@class actor
---@field args string[] what followed the script on the command line; args[0] is the script's path, nil on machines that do not have it
---@field version string of actorhost
---@field log actor.log
---@field rng fun(seed: number, stream?: number): actor.Rng
local M = {
  args = core.args,
  version = core.version,
  pairs = util.pairs,
}

---A hash of a value, the same in every VM and on every machine; see actor.codec.
---@param value any
---@return string
function M.hash(value)
  return require("actor.c.codec").hash(value)
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

local node

local function member(_, name)
  if identity[name] or events[name] then
    if not node then
      if not package.preload["actor.c.node"] then
        check.fail("actor.%s: this Lua state is not a node of a cluster", name)
      end
      node = require("actor.c.node")
    end
    if events[name] then return require("actor.events")[name] end
    return node[name]
  end
  local found, module = pcall(require, "actor." .. name)
  if found then
    rawset(M, name, module)
    return module
  end
  if module:find("module 'actor." .. name .. "' not found", 1, true) then
    check.fail("there is no actor.%s", name)
  end
  error(module, 0)
end

return setmetatable(M, {
  __index = function(t, name)
    if type(name) ~= "string" then check.fail("there is no actor[%s]", tostring(name)) end
    return member(t, name)
  end,
})
