--- Collective operations: every worker of the group calls the same one, in the same order, and gets what MPI's would give
--- on its rank. Calls that do not fit together are errors that name both ranks and both lines. A lost rank or a passed
--- timeout gives nil, message, code ("allreduce: rank 2 lost", "peer_lost") on all others, in the same call, and leaves
--- their inputs as they were; the next call is made by those who are left.
local check = require("actor.check")
local node = require("actor.c.node")
local c = require("actor.c.collective")
local calls = require("actor.collective.call")
local tensors = require("actor.collective.tensors")

---@class actor.Collectives operations of one group; those of `actor.collective` itself are everybody's
local Group = {}
Group.__index = Group
setmetatable(Group, check.strict("group:"))

---Waits until every live worker is here.
---@param options? actor.CollectiveOptions
---@return boolean|nil passed
---@return string? message "barrier: rank 2 lost"
---@return string? code "peer_lost" or "timeout"
function Group:barrier(options) return tensors.barrier(self.number, options) end

---Gives the root's value to all: a tensor, or any value that can travel. Only the root's `value` is looked at, others
---may pass nil.
---@param value any
---@param root? integer rank, default 0
---@param options? actor.CollectiveOptions|{out?: actor.Tensor, inplace?: boolean} `inplace`: into `value`; `out`: into that one
---@return any|nil value at the root the one that it gave
---@return string? message
---@return string? code
function Group:broadcast(value, root, options) return tensors.broadcast(self.number, value, root, options) end

---Combines the ranks' tensors element by element; every rank gets the same bits. With a function as `op` whole values
---are combined, in rank order, on the lowest rank: `op(a, b)` gives a new one.
---@param value actor.Tensor the same dtype and shape everywhere; with a function any value
---@param op? "sum"|"mean"|"min"|"max"|"prod"|fun(a: any, b: any): any default "sum"
---@param options? actor.CollectiveOptions|{out?: actor.Tensor, inplace?: boolean, filter?: actor.Filter|string, stream?: string}
---`filter` (actor.filter): what travels is compressed, with loss: each rank's input once and the result once; every rank
---gets the same bits, also on threads. Error feedback (the default of topk and int8) keeps what was lost for the next call
---of the same `stream` and layout: give tensors of one layout that are different things a name each. Sum and mean only
---@return actor.Tensor|any|nil result a new one unless `out` or `inplace` is given
---@return string? message
---@return string? code
function Group:allreduce(value, op, options) return tensors.allreduce(self.number, value, op, options) end

---As allreduce, for one rank only: the others get true.
---@param value actor.Tensor
---@param op? "sum"|"mean"|"min"|"max"|"prod"|fun(a: any, b: any): any
---@param root? integer rank, default 0
---@param options? actor.CollectiveOptions|{out?: actor.Tensor, inplace?: boolean}
---@return actor.Tensor|any|true|nil result
---@return string? message
---@return string? code
function Group:reduce(value, op, root, options) return tensors.reduce(self.number, value, op, root, options) end

---Combines as allreduce does and leaves each rank its part of the rows (the first dimension). With a function as `op` the
---lowest rank combines whole values in rank order, as in allreduce: what comes of it is cut as `scatter` cuts.
---@param value actor.Tensor the same dtype and shape everywhere; with a function any value that it makes a tensor, or an array of n values, of
---@param op? "sum"|"mean"|"min"|"max"|"prod"|fun(a: any, b: any): any
---@param options? actor.CollectiveOptions|{out?: actor.Tensor}
---@return actor.Tensor|any|nil part of d rows rank r has d div n, one more for r < d mod n
---@return string? message
---@return string? code
function Group:reduce_scatter(value, op, options) return tensors.reduce_scatter(self.number, value, op, options) end

---The ranks' tensors one below the other, in rank order, on every rank: [d0,...] and [d1,...] give [d0+d1,...]. Other
---values, and tensors with {list=true}, give an array with a field n.
---@param value any
---@param options? actor.CollectiveOptions|{out?: actor.Tensor, list?: boolean}
---@return actor.Tensor|any[]|nil all
---@return string? message
---@return string? code
function Group:allgather(value, options) return tensors.allgather(self.number, value, options) end

---As allgather, for one rank only: the others get true.
---@param value any
---@param root? integer rank, default 0
---@param options? actor.CollectiveOptions|{out?: actor.Tensor, list?: boolean}
---@return actor.Tensor|any[]|true|nil all
---@return string? message
---@return string? code
function Group:gather(value, root, options) return tensors.gather(self.number, value, root, options) end

---Gives each rank its part of the rows of the root's tensor, or its one of the root's array of n values.
---@param value? actor.Tensor|any[] at the root; not looked at elsewhere
---@param root? integer rank, default 0
---@param options? actor.CollectiveOptions|{out?: actor.Tensor}
---@return any|nil part
---@return string? message
---@return string? code
function Group:scatter(value, root, options) return tensors.scatter(self.number, value, root, options) end

---Part r of each rank's rows goes to rank r, which gets them one below the other in rank order; an array of n values is
---dealt out likewise and gives an array.
---@param value actor.Tensor|any[] tensors that agree in all but the first dimension
---@param options? actor.CollectiveOptions|{out?: actor.Tensor}
---@return actor.Tensor|any[]|nil parts
---@return string? message
---@return string? code
function Group:alltoall(value, options) return tensors.alltoall(self.number, value, options) end

---This worker's place in the group, from 0; nil when it is not in it.
---@return integer|nil
function Group:rank()
  return (c.members(self.number))
end

---How many live workers the group has.
---@return integer
function Group:size()
  local _, n = c.members(self.number)
  return n
end

---What this rank has sent in collectives of the group that worked.
---@return {calls: integer, sent: number, filter: actor.filter.Stats} stats sent: bytes of data in messages, nothing for
---what goes through shared memory; filter: those that went through filters, as elements and as they travelled
function Group:stats()
  local calls, sent, before, after = c.stats(self.number)
  return { calls = calls, sent = sent, filter = { before = before, after = after, ratio = after > 0 and before / after or 1 } }
end

local everybody = setmetatable({ number = 0 }, Group)

---@class actor.collective: actor.Collectives
local M = {}

for name, method in pairs(Group) do
  if type(method) == "function" then
    M[name] = function(...) return method(everybody, ...) end
  end
end

local join_point = { prefix = "collective.", kinds = { timeout = "number?" } }

---Lets in the workers that have joined the run late (`--nnodes MIN:MAX`). Every worker makes this call, like any
---collective; when no late worker waits, it costs as much as a barrier. Before the call `rank`, `size` and all collectives
---count only the workers that are in; from the call on they count the new ones too, whose ranks come last. The script has
---to give these what the others have: `if join_point() > 0 then model = broadcast(model) end`.
---
---A worker that has joined late runs the script from its beginning. Actions that are over give it their recorded values.
---Its first collective waits for the others' next join_point. If that collective is join_point itself, it returns together
---with the others'; any other one is the next that all workers make together. From there on the late worker takes part in
---the others' actions. If the others end without another join_point, the late worker's script ends where it waits.
---@param options? {timeout?: number} seconds for the call; a late worker waits as long as the others go on
---@return integer|nil late how many have come in, the same on every rank
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

---A part of the workers under a name, with the same operations as methods: `group:allreduce(t)`. Members are fixed by
---id; ranks within it are places, from 0 in rank order, and close up when one is lost. Costs no communication: each
---member makes it by itself, with the same name and ranks.
---@param name string
---@param ranks integer[] of the whole cluster, as they are now
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
