--- Collective operations: every worker of the group calls the same ones in the same order, and gets what MPI would give
--- on its rank. Calls that do not fit together are errors that name both ranks and both lines. When a rank is lost or a
--- timeout has passed, the same call returns nil, message, code ("allreduce: rank 2 lost", "peer_lost") on all other
--- ranks, and leaves their inputs as they were; the remaining ranks make the next call.
local check = require("actor.check")
local node = require("actor.c.node")
local c = require("actor.c.collective")
local calls = require("actor.collective.call")
local tensors = require("actor.collective.tensors")

---@class actor.Collectives operations of one group; those of `actor.collective` itself are for all workers
local Group = {}
Group.__index = Group
setmetatable(Group, check.strict("group:"))

---Waits until every live worker has made this call.
---@param options? actor.CollectiveOptions
---@return boolean|nil passed
---@return string? message "barrier: rank 2 lost"
---@return string? code "peer_lost" or "timeout"
function Group:barrier(options) return tensors.barrier(self.number, options) end

---Gives the root's value to all ranks: a tensor, or any value that can travel. Only the root's `value` is used; the
---others may pass nil.
---@param value any
---@param root? integer rank, default 0
---@param options? actor.CollectiveOptions|{out?: actor.Tensor, inplace?: boolean} where the result goes: `inplace`: into `value`; `out`: into that tensor
---@return any|nil value on the root the one that it gave
---@return string? message
---@return string? code
function Group:broadcast(value, root, options) return tensors.broadcast(self.number, value, root, options) end

---Combines the ranks' tensors element by element; every rank gets the same bits. The sum of tensors of bool counts how
---many are true, in int64, as `t:sum()` does; a bool `out` (and `inplace`) gets whether this count is not 0, and "max" and
---"min" give bool: or, and. With a function as `op` the lowest rank combines whole values, in rank order: `op(a, b)`
---returns a new value.
---@param value actor.Tensor of the same dtype and shape on every rank; with a function any value
---@param op? "sum"|"mean"|"min"|"max"|"prod"|fun(a: any, b: any): any default "sum"
---@param options? actor.CollectiveOptions|{out?: actor.Tensor, inplace?: boolean, filter?: actor.Filter|string, stream?: string}
---`filter` (actor.filter): what is sent is compressed, with loss: each rank's input once and the result once; every
---rank gets the same bits, also on threads. Error feedback (the default of topk and int8) keeps what was lost for the
---next call with the same `stream` and layout: give different tensors of one layout a stream's name each. For sum and
---mean only
---@return actor.Tensor|any|nil result a new one unless `out` or `inplace` is given
---@return string? message
---@return string? code
function Group:allreduce(value, op, options) return tensors.allreduce(self.number, value, op, options) end

---Combines as `allreduce` does, but only the root gets the result; the others get true.
---@param value actor.Tensor
---@param op? "sum"|"mean"|"min"|"max"|"prod"|fun(a: any, b: any): any
---@param root? integer rank, default 0
---@param options? actor.CollectiveOptions|{out?: actor.Tensor, inplace?: boolean}
---@return actor.Tensor|any|true|nil result
---@return string? message
---@return string? code
function Group:reduce(value, op, root, options) return tensors.reduce(self.number, value, op, root, options) end

---Combines as `allreduce` does, and gives each rank its part of the rows (the first dimension). With a function as `op`
---the lowest rank combines whole values in rank order, and the result is cut as `scatter` cuts.
---@param value actor.Tensor of the same dtype and shape on every rank; with a function any values of which it makes a tensor, or an array of n values
---@param op? "sum"|"mean"|"min"|"max"|"prod"|fun(a: any, b: any): any
---@param options? actor.CollectiveOptions|{out?: actor.Tensor}
---@return actor.Tensor|any|nil part of d rows rank r gets d div n, and one more if r < d mod n
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

---Joins the ranks' values as `allgather` does, but only the root gets them; the others get true.
---@param value any
---@param root? integer rank, default 0
---@param options? actor.CollectiveOptions|{out?: actor.Tensor, list?: boolean}
---@return actor.Tensor|any[]|true|nil all
---@return string? message
---@return string? code
function Group:gather(value, root, options) return tensors.gather(self.number, value, root, options) end

---Gives each rank its part of the rows of the root's tensor, or its element of the root's array of n values.
---@param value? actor.Tensor|any[] on the root; ignored on the others
---@param root? integer rank, default 0
---@param options? actor.CollectiveOptions|{out?: actor.Tensor}
---@return any|nil part
---@return string? message
---@return string? code
function Group:scatter(value, root, options) return tensors.scatter(self.number, value, root, options) end

---Sends part r of each rank's rows to rank r, which gets these parts joined in rank order. An array of n values is
---dealt out in the same way and gives an array.
---@param value actor.Tensor|any[] tensors that agree in all dimensions but the first
---@param options? actor.CollectiveOptions|{out?: actor.Tensor}
---@return actor.Tensor|any[]|nil parts
---@return string? message
---@return string? code
function Group:alltoall(value, options) return tensors.alltoall(self.number, value, options) end

---Returns this worker's place in the group, from 0; nil when it is not a member.
---@return integer|nil
function Group:rank()
  return (c.members(self.number))
end

---Returns how many live workers the group has.
---@return integer
function Group:size()
  local _, n = c.members(self.number)
  return n
end

---Returns what this rank has sent in the group's collectives that succeeded.
---@return {calls: integer, sent: number, filter: actor.filter.Stats} stats sent: bytes of data in messages, without those
---that go through shared memory; filter: bytes of filtered data, before filtering and as they were sent
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

---Makes a group of some of the workers, with all collective operations as methods: `group:allreduce(t)`. Its members
---never change, except that lost ones leave; ranks in the group count from 0, in rank order, and close up when a member
---is lost. Costs no communication: each member makes the group by itself, with the same name and ranks.
---@param name string
---@param ranks integer[] the members' ranks in the whole cluster, as they are now
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
