--- Collective operations: every worker calls the same one, in the same order, and gets what MPI's would give on its rank.
--- Calls that do not fit together are errors that name both ranks and both lines; a lost rank or a passed timeout gives
--- nil, message, code on the others and leaves their tensors as they were.
local check = require("actor.check")
local node = require("actor.c.node")
local events = require("actor.events")
local c = require("actor.c.collective")
local lock = require("actor.collective.lock")
local passing = require("actor.collective.events")

local M = {
  lock = lock.lock,
  send_event = passing.send_event,
  get_event = passing.get_event,
  wait_event = passing.wait_event,
}

---@class actor.CollectiveOptions
---@field timeout? number seconds; without it a live rank is waited for as long as it takes

local function prepare(name, options, kinds)
  if options ~= nil then
    check.options(options, kinds, name)
    if options.timeout ~= nil then check.number(options.timeout, "timeout", name, 0) end
  end
  if node.role == "server" then
    check.fail("%s is for workers and this is a parameter server; guard with actor.role", name)
  end
  events.deliver()
  return options or {}
end

---Waits until every live worker is here.
---@param options? actor.CollectiveOptions
---@return boolean|nil passed
---@return string? message "barrier: rank 2 lost"
---@return string? code "peer_lost" or "timeout"
function M.barrier(options)
  options = prepare("collective.barrier", options, { timeout = "number?" })
  return c.barrier(options.timeout)
end

---Combines the workers' tensors element by element, in rank order; every rank gets the same bits.
---@param tensor actor.Tensor the same dtype and shape everywhere
---@param op? "sum"|"mean"|"min"|"max"|"prod" default "sum"
---@param options? {timeout?: number, out?: actor.Tensor, inplace?: boolean} `inplace`: into `tensor`; `out`: into that one
---@return actor.Tensor|nil result a new tensor unless `out` or `inplace` is given
---@return string? message
---@return string? code
function M.allreduce(tensor, op, options)
  local name = "collective.allreduce"
  options = prepare(name, options, { timeout = "number?", out = "cdata?", inplace = "boolean?" })
  if op ~= nil then check.arg(op, "string", "op", name) end
  local result, message, code = c.allreduce(tensor, op or "sum", options.timeout)
  if not result then return nil, message, code end
  local target = options.inplace and tensor or options.out
  if not target then return result end
  return target:copy_(result)
end

return M
