--- Common steps of all collectives before the call of C++: checks the options, delivers membership changes, and makes
--- the table that bindings/modules/engine/lua_collective.cpp reads.
local check = require("actor.check")
local events = require("actor.events")
local util = require("actor.util")
local c = require("actor.c.collective")

---@class actor.CollectiveOptions
---@field timeout? number seconds; without it the call waits for a live rank without a limit
---@field algorithm? "star"|"ring"|"recursive_doubling"|"halving_doubling"|"tree"|"chain"|"ordered"|"hierarchical" default: chosen by the size of the data and the number of ranks
---@field reproducible? boolean combine in rank order: the bits of the result do not depend on timing and algorithm
---@field async? boolean return at once and run the call in the background: the result is an actor.PendingCollective. Do
---not change the given tensors until it is done

local common = { timeout = "number?", algorithm = "string?", reproducible = "boolean?", async = "boolean?" }

local M = {}

local collective = { prefix = "collective.", kinds = common }

local newest -- the last prepared call, until it has failed

---Checks the options, and makes the description of a call.
---@param group integer number of the group; 0 is all workers
---@param name string "allreduce"
---@param options? table
---@param more? table<string, string> further options and their kinds
---@param family? {prefix: string, kinds: table<string, string>} the prefix of the name in errors, and the common
---options of the family's calls; default: the family of tensors
---@return table call
function M.prepare(group, name, options, more, family)
  family = family or collective
  local fn = family.prefix .. name
  local call = { group = group, name = name, fn = fn }
  if options ~= nil then
    check.options(options, more and util.merged(family.kinds, more) or family.kinds, fn)
    if options.timeout ~= nil then check.number(options.timeout, "timeout", fn, 0) end
    call.timeout, call.algorithm, call.reproducible = options.timeout, options.algorithm, options.reproducible
    call.async = options.async
  end
  events.check_worker(fn)
  events.deliver()
  newest = call
  return call
end

---Returns whether this error reports a lack of memory in this process, from LuaJIT, C++ or a tensor; not in another
---rank.
---@param message any
---@return boolean
function M.lacks_memory(message)
  return type(message) == "string" and (message:find("not enough memory", 1, true) or message:find("bad_alloc", 1, true)
    or message:find(": out of memory", 1, true) or message:find(": no memory for ", 1, true)) ~= nil
end

---The root of a call, by default 0.
---@param root any
---@param fn string
---@return integer
function M.checked_root(root, fn)
  if root ~= nil then check.integer(root, "root", fn, 0) end
  return root or 0
end

---Makes an array with the same value for each of n ranks, and with field n.
---@param n integer
---@param value any
---@return table
function M.everywhere(n, value)
  local list = { n = n }
  for i = 1, n do list[i] = value end
  return list
end

---Ends a call whose failure the script sees: returns nil, message, code. After the loss of a rank, `actor.rank` and
---`actor.size` change to those of the next call.
---@param message string
---@param code string
function M.failed(message, code)
  if code == "peer_lost" then events.deliver() end
  return nil, message, code
end

local Failure = {} -- the metatable of an expected failure

---Ends an operation that `together` wraps with nil, message, code when the first argument is nil. Returns its
---arguments.
function M.need(value, message, code)
  if value == nil then error(setmetatable({ message = message, code = code }, Failure), 0) end
  return value, message, code
end

local function ended(worked, ...)
  if worked then return ... end
  local message, call = ..., newest
  newest = nil
  if getmetatable(message) == Failure then return M.failed(message.message, message.code) end
  if call and M.lacks_memory(message) then
    call.algorithm = nil -- an algorithm for another kind of call
    pcall(c.leave, call)
    check.fail("%s: not enough memory", call.fn)
  end
  error(message, 0)
end

---Wraps an operation of collective calls. When this rank lacks the memory for it, the wrapper notifies the other ranks,
---which would otherwise wait for this rank. The engine itself reports a lack of memory for its own buffers.
---@param operation function which calls `prepare`
---@return function
function M.together(operation)
  return function(...)
    newest = nil
    return ended(pcall(operation, ...))
  end
end

---This worker's place in the call's group and the group's size, for the arguments of the call. Returns nil when a loss
---has yet to be reported to the other ranks: then the call can only fail, see `report_loss`.
---@param call table
---@return integer|nil place from 0; nil when this worker is not in the group
---@return integer|nil n
function M.place(call)
  local me, n, unreported_loss = c.place(call.group)
  if unreported_loss then
    call.unreported_loss = unreported_loss
    return nil, nil
  end
  call.placed = true
  return me, n
end

---Makes a call that reports the loss, in place of a call that could only fail.
---@param call table
---@return nil|userdata pending where the call is asynchronous
---@return string? message "gather: rank 2 lost", on every rank
---@return string? code "peer_lost"
function M.report_loss_raw(call)
  call.algorithm = nil -- an algorithm for another kind of call
  local result, message, code = c.barrier(call)
  call.unreported_loss = nil
  return result, message, code
end

---As `report_loss_raw`, for operations that return actor.PendingCollective.
---@param call table
---@return nil|actor.PendingCollective
---@return string? message
---@return string? code
function M.report_loss(call)
  return M.finish(call, function(result) return result end, M.report_loss_raw(call))
end

---@class actor.PendingCollective a collective in the background, while the script runs
local Pending = check.class("pending:")

---Returns whether the collective is done, so that `wait` returns at once.
---```lua
---local pending = actor.collective.allreduce(actor.tensor.ones(2), "sum", { async = true })
---print(type(pending:test()))  --> boolean
---print(pending:wait():get(1) == actor.size)  --> true
---```
---@return boolean
function Pending:test() return self.ended ~= nil or c.test(self.raw) end

---Waits for the end of the collective, and returns the result of the blocking call. Further calls return the same
---result.
---```lua
---local pending = actor.collective.allreduce(actor.tensor.ones(2), "sum", { async = true })
----- ... other work
---print(pending:wait():get(1) == actor.size)  --> true
---```
---@param options? {timeout?: number} seconds; after them it returns nil, message, "timeout", and the collective
---continues
---@return any|nil result
---@return string? message
---@return string? code
function Pending:wait(options)
  if not self.ended then
    local result, message, code = c.wait(self.raw, check.timeout(options, "wait"))
    if code == "timeout" and not c.test(self.raw) then return nil, message, code end
    self.ended = code and { M.failed(message, code) } or { self.post(result) }
  end
  return self.ended[1], self.ended[2], self.ended[3]
end

---The result of a collective: `post` of the C function's result, or its failure, or a handle that waits for it.
---@param call table
---@param post fun(result: any): any
---@param result any of the C function
---@param message? string
---@param code? string
function M.finish(call, post, result, message, code)
  if code then return M.failed(message, code) end
  if call.async then return setmetatable({ raw = result, post = post }, Pending) end
  return post(result)
end

return M
