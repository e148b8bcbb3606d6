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
---```lua
---actor.collective.barrier() -- all workers are here
---```
---@param options? actor.CollectiveOptions
---@return boolean|nil passed
---@return string? message "barrier: rank 2 lost"
---@return string? code "peer_lost" or "timeout"
function Group:barrier(options) return tensors.barrier(self.number, options) end

---Sends the root's value to all ranks: a tensor, or any value that can travel. Only the root's `value` is used; the
---others may pass nil.
---```lua
---local rate = actor.collective.broadcast(actor.rank == 0 and 0.25 or nil)
---print(rate)  --> 0.25
---```
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
---```lua nodes=2
---local total = actor.collective.allreduce(actor.tensor.full({ 3 }, actor.rank + 1), "sum")
---print(total)  --> tensor([3., 3., 3.], float32)
---local longest = actor.collective.allreduce("rank " .. actor.rank, function(a, b) return #a >= #b and a or b end)
---print(longest)  --> rank 0
---```
---@param value actor.Tensor of the same dtype and shape on every rank; with a function any value
---@param op? "sum"|"mean"|"min"|"max"|"prod"|fun(a: any, b: any): any default "sum"
---@param options? actor.CollectiveOptions|{out?: actor.Tensor, inplace?: boolean}
---@return actor.Tensor|any|nil result a new tensor unless `out` or `inplace` is given
---@return string? message
---@return string? code
function Group:allreduce(value, op, options) return tensors.allreduce(self.number, value, op, options) end

---Combines as `allreduce` does, but only the root gets the result; the other ranks get true.
---```lua nodes=2
---local sum = actor.collective.reduce(actor.tensor.ones(2), "sum", 0)
---print(sum) -- on rank 0; true on the others --> tensor([2., 2.], float32)
---```
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
---```lua nodes=2
---local part = actor.collective.reduce_scatter(actor.tensor.arange(4), "sum")
---print(part) -- rows 1 and 2 on rank 0, rows 3 and 4 on rank 1 --> tensor([0., 2.], float32)
---```
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
---```lua nodes=2
---print(actor.collective.allgather(actor.tensor.full({ 2 }, actor.rank)))  --> tensor([0., 0., 1., 1.], float32)
---local names = actor.collective.allgather("rank " .. actor.rank)
---print(names[1], names[2])  --> rank 0 rank 1
---```
---@param value any
---@param options? actor.CollectiveOptions|{out?: actor.Tensor, list?: boolean}
---@return actor.Tensor|any[]|nil all
---@return string? message
---@return string? code
function Group:allgather(value, options) return tensors.allgather(self.number, value, options) end

---Joins the ranks' values as `allgather` does, but only the root gets the result; the other ranks get true.
---```lua nodes=2
---local all = actor.collective.gather(actor.rank * 10, 0)
---if actor.rank == 0 then print(all[1], all[2]) end  --> 0 10
---```
---@param value any
---@param root? integer rank, default 0
---@param options? actor.CollectiveOptions|{out?: actor.Tensor, list?: boolean}
---@return actor.Tensor|any[]|true|nil all
---@return string? message
---@return string? code
function Group:gather(value, root, options) return tensors.gather(self.number, value, root, options) end

---Gives each rank its part of the rows of the root's tensor, or its element of the root's array of n values.
---```lua nodes=2
---local mine = actor.collective.scatter(actor.rank == 0 and { "left", "right" } or nil)
---print(mine)  --> left
---```
---@param value? actor.Tensor|any[] on the root; ignored on the other ranks
---@param root? integer rank, default 0
---@param options? actor.CollectiveOptions|{out?: actor.Tensor}
---@return any|nil part
---@return string? message
---@return string? code
function Group:scatter(value, root, options) return tensors.scatter(self.number, value, root, options) end

---Sends part r of each rank's rows to rank r, which joins these parts in rank order. An array of n values is
---distributed in the same way, and the result is an array.
---```lua nodes=2
---local received = actor.collective.alltoall { "to rank 0 from " .. actor.rank, "to rank 1 from " .. actor.rank }
---print(received[1])  --> to rank 0 from 0
---print(received[2])  --> to rank 0 from 1
---```
---@param value actor.Tensor|any[] tensors with equal dimensions except the first
---@param options? actor.CollectiveOptions|{out?: actor.Tensor}
---@return actor.Tensor|any[]|nil parts
---@return string? message
---@return string? code
function Group:alltoall(value, options) return tensors.alltoall(self.number, value, options) end

---Returns this worker's place in the group, from 0; nil when it is not a member.
---```lua
---print(actor.collective.group("first", { 0 }):rank())  --> 0
---```
---@return integer|nil
function Group:rank() return (c.members(self.number)) end

---Returns the number of live workers in the group.
---```lua
---print(actor.collective.group("alone", { 0 }):size())  --> 1
---```
---@return integer
function Group:size()
  local _, n = c.members(self.number)
  return n
end

---Returns the traffic of this rank in the group's successful collectives.
---```lua
---actor.collective.allreduce(actor.tensor.ones(1000))
---print(actor.collective.stats().calls > 0)  --> true
---```
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
---```lua
---for round = 1, 3 do
---  local late = actor.collective.join_point()
---  if late > 0 then print(late .. " workers joined") end
---  -- ... the work of a round, with the new number of ranks
---end
---```
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
---```lua nodes=2
---local pair = actor.collective.group("pair", { 0, 1 })
---print(pair:allreduce(actor.tensor.ones(1)):item())  --> 2
---```
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
