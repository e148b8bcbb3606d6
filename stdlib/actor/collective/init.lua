--- Collective operations: every worker of the group makes the same calls in the same order, and gets the result that
--- MPI would give to its rank. Mismatched calls are errors that name both ranks and both lines. When a rank is lost or
--- a timeout expires, the call returns nil, message, code ("allreduce: rank 2 lost", "peer_lost") on all other ranks,
--- and leaves their inputs unchanged; the remaining ranks make the next call. `actor.rank` and `actor.size` are then
--- those of the remaining ranks. A rank that is lost between two calls, or before the first call of a job, fails the
--- next call.
local check = require("actor.check")
local node = require("actor.c.node")
local c = require("actor.c.collective")
local calls = require("actor.collective.call")
local tensors = require("actor.collective.tensors")

---@class actor.Collectives operations of one group; the operations of `actor.collective` itself include all workers
local Group = check.class("group:")

---Waits until every live worker has made this call.
---@param options? actor.CollectiveOptions
---@return boolean|nil passed
---@return string? message "barrier: rank 2 lost"
---@return string? code "peer_lost" or "timeout"
function Group:barrier(options) return tensors.barrier(self.number, options) end

---Sends the root's value to all ranks: a tensor, or any value that can travel. Only the root's `value` is used; the
---others may pass nil.
---@param value any
---@param root? integer rank, default 0
---@param options? actor.CollectiveOptions|{out?: actor.Tensor, inplace?: boolean} target of the result: `inplace`:
---`value` itself; `out`: that tensor
---@return any|nil value on the root its own `value`
---@return string? message
---@return string? code
function Group:broadcast(value, root, options) return tensors.broadcast(self.number, value, root, options) end

---Combines the ranks' tensors element by element; every rank gets the same bits. For tensors of bool, "sum" counts the
---true elements in int64, as `t:sum()` does; a bool `out` (and `inplace`) gets whether this count is not 0. "max" and
---"min" of bool return bool: or, and. With a function as `op` the lowest rank combines whole values, in rank order:
---`op(a, b)` returns a new value.
---@param value actor.Tensor of the same dtype and shape on every rank; with a function any value
---@param op? "sum"|"mean"|"min"|"max"|"prod"|fun(a: any, b: any): any default "sum"
---@param options? actor.CollectiveOptions|{out?: actor.Tensor, inplace?: boolean}
---@return actor.Tensor|any|nil result a new tensor unless `out` or `inplace` is given
---@return string? message
---@return string? code
function Group:allreduce(value, op, options) return tensors.allreduce(self.number, value, op, options) end

---Combines as `allreduce` does, but only the root gets the result; the other ranks get true.
---@param value actor.Tensor
---@param op? "sum"|"mean"|"min"|"max"|"prod"|fun(a: any, b: any): any
---@param root? integer rank, default 0
---@param options? actor.CollectiveOptions|{out?: actor.Tensor, inplace?: boolean}
---@return actor.Tensor|any|true|nil result
---@return string? message
---@return string? code
function Group:reduce(value, op, root, options) return tensors.reduce(self.number, value, op, root, options) end

---Combines as `allreduce` does, and gives each rank its part of the rows (the first dimension). With a function as `op`
---the lowest rank combines whole values in rank order, and cuts the result as `scatter` does.
---@param value actor.Tensor of the same dtype and shape on every rank; with a function any values that it combines into
---a tensor or an array of n values
---@param op? "sum"|"mean"|"min"|"max"|"prod"|fun(a: any, b: any): any
---@param options? actor.CollectiveOptions|{out?: actor.Tensor}
---@return actor.Tensor|any|nil part of d rows rank r gets d div n, plus one if r < d mod n
---@return string? message
---@return string? code
function Group:reduce_scatter(value, op, options) return tensors.reduce_scatter(self.number, value, op, options) end

---Gives every rank the tensors of all ranks as one, joined along the first dimension in rank order: [d0,...] and
---[d1,...] give [d0+d1,...]. Other values, and tensors with {list=true}, give an array with a field n.
---@param value any
---@param options? actor.CollectiveOptions|{out?: actor.Tensor, list?: boolean}
---@return actor.Tensor|any[]|nil all
---@return string? message
---@return string? code
function Group:allgather(value, options) return tensors.allgather(self.number, value, options) end

---Joins the ranks' values as `allgather` does, but only the root gets the result; the other ranks get true.
---@param value any
---@param root? integer rank, default 0
---@param options? actor.CollectiveOptions|{out?: actor.Tensor, list?: boolean}
---@return actor.Tensor|any[]|true|nil all
---@return string? message
---@return string? code
function Group:gather(value, root, options) return tensors.gather(self.number, value, root, options) end

---Gives each rank its part of the rows of the root's tensor, or its element of the root's array of n values.
---@param value? actor.Tensor|any[] on the root; ignored on the other ranks
---@param root? integer rank, default 0
---@param options? actor.CollectiveOptions|{out?: actor.Tensor}
---@return any|nil part
---@return string? message
---@return string? code
function Group:scatter(value, root, options) return tensors.scatter(self.number, value, root, options) end

---Sends part r of each rank's rows to rank r, which joins these parts in rank order. An array of n values is
---distributed in the same way, and the result is an array.
---@param value actor.Tensor|any[] tensors with equal dimensions except the first
---@param options? actor.CollectiveOptions|{out?: actor.Tensor}
---@return actor.Tensor|any[]|nil parts
---@return string? message
---@return string? code
function Group:alltoall(value, options) return tensors.alltoall(self.number, value, options) end

---Returns this worker's place in the group, from 0; nil when it is not a member.
---@return integer|nil
function Group:rank() return (c.members(self.number)) end

---Returns the number of live workers in the group.
---@return integer
function Group:size()
  local _, n = c.members(self.number)
  return n
end

---Returns the traffic of this rank in the group's successful collectives.
---@return {calls: integer, sent: number} stats sent: bytes of data in messages, without data that passes through shared
---memory
function Group:stats()
  local calls, sent = c.stats(self.number)
  return { calls = calls, sent = sent }
end

local all_workers = setmetatable({ number = 0 }, Group)

---@class actor.collective: actor.Collectives
local M = {}

for name, method in pairs(Group) do
  if type(method) == "function" then
    M[name] = function(...) return method(all_workers, ...) end
  end
end

local join_point = { prefix = "collective.", kinds = { timeout = "number?" } }

---Admits the workers that have joined the run late (`--nnodes MIN:MAX`). Every worker makes this call, like any
---collective; without waiting late workers it costs as much as a barrier. Before the call `rank`, `size` and all
---collectives count only the admitted workers. Afterwards they count the new workers too, whose ranks are last. The
---script must send the common state to them: `if join_point() > 0 then model = broadcast(model) end`.
---
---A late worker runs the script from its beginning. Finished actions return their recorded values. Its first collective
---waits for the other workers' next join_point. If that collective is join_point itself, it matches the other workers'
---call and returns together with it; any other collective is the next that all workers make together. From then on the
---late worker takes part in the others' actions. If the others end without another join_point, the late worker's script
---ends while it waits.
---@param options? {timeout?: number} seconds for the call; a late worker waits as long as the others run
---@return integer|nil late number of admitted workers, the same on every rank
---@return string? message "join_point: rank 2 lost"
---@return string? code
function M.join_point(options) return c.join_point(calls.prepare(0, "join_point", options, nil, join_point)) end

local locks, events = require("actor.collective.lock"), require("actor.collective.events")
M.lock = locks.lock
M.send_event, M.get_event, M.wait_event = events.send_event, events.get_event, events.wait_event
M.table = require("actor.collective.table").new
M.steps = require("actor.collective.steps").steps
M.rotator = require("actor.collective.rotator").new
M.scheduler = require("actor.collective.scheduler").new

---Makes a group of some of the workers, with all collective operations as methods: `group:allreduce(t)`. Its members
---never change, except that lost members leave. Ranks in the group count from 0, in rank order, without gaps after a
---loss. Costs no communication: each member makes the group by itself, with the same name and ranks.
---@param name string
---@param ranks integer[] the members' present ranks in the whole cluster
---@return actor.Collectives
function M.group(name, ranks)
  local fn = "collective.group"
  check.arg(name, "string", "name", fn)
  if name == "" then check.fail("bad argument 'name' to %s: expected a name, got ''", fn) end
  check.arg(ranks, "table", "ranks", fn)
  if #ranks == 0 then check.fail("bad argument 'ranks' to %s: expected at least one rank", fn) end
  for _, rank in ipairs(ranks) do check.integer(rank, "ranks", fn, 0) end
  if node.role == "server" then check.fail("%s is for workers; guard with actor.role", fn) end
  return setmetatable({ number = c.group(name, ranks) }, Group)
end

return M
