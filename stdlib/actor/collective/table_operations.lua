--- The collective operations of tables. Every rank of the group makes the same call, with a table of the same options;
--- a rank's table may be empty. Partitions of one id are combined in rank order, so the bits of results do not depend
--- on timing. Each operation returns the table itself, or nil, message, code when a rank is lost or the time is up.
--- Then, and when it raises, the tables of all ranks are unchanged. After a successful operation a partition may be
--- another tensor than before: `get` it again.
---
--- Costs for n ranks with tables of S bytes each. broadcast: S from the root to each. reduce: S from each to the root.
--- allgather: S from each to each. regroup, push: at most S from each. allreduce: at most 2S from each, or one
--- all-reduce of tensors where all ranks have the same ids with tensors of the same layout.
local check = require("actor.check")
local node = require("actor.c.node")
local c = require("actor.c.collective")
local calls = require("actor.collective.call")
local combine = require("actor.collective.combine")
local parcels = require("actor.collective.table_parcels")
local permutations = require("actor.collective.permutation")
local sharing = require("actor.collective.table_sharing")
local tensors = require("actor.collective.table_tensors")
local util = require("actor.util")

---@class actor.Table
local Table = {}

---@class actor.TableCallOptions
---@field timeout? number seconds; without it the call waits for a live rank without a limit

local need = calls.need
local checked_root = calls.checked_root
local begin, about, exchange, everywhere = parcels.begin, parcels.about, parcels.exchange, parcels.everywhere

-- Combines all parcels in rank order, after `before`, the table's own partitions. Nil and the error when two do not
-- fit.
local function combined(tbl, got, me, n, before)
  local fold = combine.fold(tbl.combiner)
  for place = 0, n - 1 do
    local parcel = got[place + 1]
    if before then
      for _, id in ipairs(parcel.ids) do
        if fold.values[id] == nil and before.values[id] ~= nil then
          fold:add(id, before.values[id], before.weights[id], false)
        end
      end
    end
    parcels.absorb(fold, parcel, place ~= me)
  end
  return fold:finish()
end

-- Adds the data that ranks need to share a table.
local function for_sharing(tbl, gives, me)
  if not tbl.shared then return gives end
  local number = me == 0 and sharing.draw_number() or nil
  for i, parcel in ipairs(gives) do
    gives[i] = util.merged(parcel, { id = node.id, number = number })
  end
  return gives
end

-- Ends an operation that combines: if all ranks could combine, the table gets the result. With `got`, the parcels of
-- all ranks, the partitions are at their owners and may be shared.
local function conclude(call, tbl, values, weights, got)
  local shared
  if values and got and tbl.shared then shared = sharing.publish(values, got) end
  need(parcels.conclude(call, not values and weights --[[@as string]] or nil, function()
    if shared then sharing.withdraw(shared) end
  end))
  sharing.replace(tbl, values, weights --[[@as table]], shared)
end

---Sends the root's whole table to all ranks, which replace their own tables.
---```lua
---local t = actor.collective.table { combiner = "sum" }
---if actor.rank == 0 then t:set(1, "from rank 0") end
---t:broadcast(0)
---print(t:get(1))  --> from rank 0
---```
---@param root? integer rank, default 0
---@param options? actor.TableCallOptions
---@return actor.Table|nil self
---@return string? message "broadcast: rank 2 lost"
---@return string? code "peer_lost" or "timeout"
function Table:broadcast(root, options)
  local call = begin(self, "broadcast", options)
  root = checked_root(root, "table:broadcast")
  need(sharing.settle(self, call))
  local values, weights = sharing.newest(self)
  local parcel = parcels.pack(values, weights)
  call.about = about(self)
  local got = need(c.broadcast(call, parcel, root))
  if got ~= true then values, weights = parcels.unpack(got) end
  sharing.replace(self, values, weights)
  return self
end

---Combines all ranks' tables into the root's table; the other tables do not change.
---```lua nodes=2
---local t = actor.collective.table { combiner = "sum" }
---t:set(1, actor.rank + 1)
---t:reduce(0)
---print(t:get(1))  --> 3
---```
---@param root? integer rank, default 0
---@param options? actor.TableCallOptions
---@return actor.Table|nil self
---@return string? message
---@return string? code
function Table:reduce(root, options)
  local call = begin(self, "reduce", options)
  root = checked_root(root, "table:reduce")
  need(sharing.settle(self, call))
  local own, own_weights = sharing.newest(self)
  local got, me, n = need(exchange(call, function(me, n)
    if root >= n then check.fail("bad argument 'root' to table:reduce: there is no rank %d among %d", root, n) end
    local signature = ("%s to rank %d"):format(about(self), root)
    return signature, { [root + 1] = parcels.pack(own, own_weights) }, everywhere(n, me == root)
  end))
  local values, weights = own, own_weights
  if me == root then values, weights = combined(self, got, me, n) end
  conclude(call, self, values, weights)
  return self
end

-- Distributes ids evenly, whatever their pattern; the same on every machine.
local function spread(id, n)
  local x = id * 0.6180339887498949
  return math.min(n - 1, math.floor((x - math.floor(x)) * n))
end

---Gives every rank the union of all tables, with partitions of one id combined. Each rank combines some of the ids,
---which suits tables with many common ids; otherwise see `allgather`.
---```lua nodes=2
---local t = actor.collective.table { combiner = "sum" }
---t:set(0, 1) -- on both ranks
---t:set(actor.rank + 1, 1) -- on this rank alone
---t:allreduce()
---print(t:get(0), t:size())  --> 2 3
---```
---@param options? actor.TableCallOptions
---@return actor.Table|nil self
---@return string? message
---@return string? code
function Table:allreduce(options)
  local call = begin(self, "allreduce", options)
  need(sharing.settle(self, call))
  local own, own_weights = sharing.newest(self)
  local alike, weights = need(tensors.allreduce(self, call, own, own_weights))
  if alike then
    sharing.replace(self, alike --[[@as table]], weights --[[@as table]])
    return self
  end
  local got, me, n = need(exchange(call, function(_, n)
    return about(self), parcels.deal(spread, own, own_weights, n), everywhere(n, true)
  end))
  local part
  part, weights = combined(self, got, me, n)
  local parcel = part and parcels.pack(part, weights) or { failed = weights }
  local whole = need(exchange(call, function(_, ranks)
    return about(self) .. ", combined", everywhere(ranks, parcel), everywhere(ranks, true)
  end))
  parcels.raise_failed(call, whole, n)
  local values
  values, weights = combined(self, whole, me, n)
  sharing.replace(self, values, weights)
  return self
end

---Gives every rank the union of all tables, as `allreduce` does, but every rank sends its whole table to each other
---rank, which combines by itself. This suits tables with few common ids.
---```lua nodes=2
---local t = actor.collective.table { combiner = "sum" }
---t:set(actor.rank + 1, "value " .. actor.rank)
---t:allgather()
---print(t:get(1), t:get(2))  --> value 0 value 1
---```
---@param options? actor.TableCallOptions
---@return actor.Table|nil self
---@return string? message
---@return string? code
function Table:allgather(options)
  local call = begin(self, "allgather", options)
  need(sharing.settle(self, call))
  local own, own_weights = sharing.newest(self)
  local got, me, n = need(exchange(call, function(_, n)
    return about(self), everywhere(n, parcels.pack(own, own_weights)), everywhere(n, true)
  end))
  local values, weights = combined(self, got, me, n)
  conclude(call, self, values, weights)
  return self
end

---Moves each partition to the rank chosen by the partitioner, which combines partitions of one id. This starts the
---sharing of a table with the option `shared`: see `lock`.
---```lua nodes=2
---local t = actor.collective.table { combiner = "sum" }
---for id = 1, 4 do t:set(id, 1) end
---t:regroup() -- each id is on one rank now, with the sum over the ranks
---print(t:size(), t:get(t:ids()[1]))  --> 2 2
---```
---@param options? actor.TableCallOptions
---@return actor.Table|nil self
---@return string? message
---@return string? code
function Table:regroup(options)
  local call = begin(self, "regroup", options)
  need(sharing.settle(self, call))
  local own, own_weights = sharing.newest(self)
  local got, me, n = need(exchange(call, function(me, n)
    local dealt = parcels.deal(self.partitioner, own, own_weights, n)
    return about(self), for_sharing(self, dealt, me), everywhere(n, true)
  end))
  parcels.raise_failed(call, got, n)
  local values, weights = combined(self, got, me, n)
  conclude(call, self, values, weights, got)
  return self
end

-- Checks the second table of an operation on two tables.
local function check_global(self, global, fn)
  if type(global) ~= "table" or getmetatable(global) ~= getmetatable(self) then
    check.wrong("global", fn, "a table of collective.table", global)
  end
  if global == self then check.fail("bad argument 'global' to %s: it is the same table", fn) end
  if (global.group and global.group.number) ~= (self.group and self.group.number) then
    check.fail("bad argument 'global' to %s: it is another group's", fn)
  end
end

-- Copies the partitions that this rank sends to itself, which otherwise would be in two tables.
local function with_copies(parcel)
  local values = {}
  for i, value in ipairs(parcel.values) do values[i] = combine.copy(value) end
  return util.merged(parcel, { values = values })
end

---Adds this rank's partitions to a global table: sends them to the ranks chosen by the global table's partitioner,
---where its combiner merges them with the present partitions. This table does not change.
---```lua nodes=2
---local global = actor.collective.table { combiner = "sum" } -- each id on one rank
---global:set(actor.rank, 0)
---local part = actor.collective.table { combiner = "sum" }
---part:set(0, 5)
---part:push(global) -- adds the ranks' parts to the owner's values
---print(global:get(0))  --> 10
---```
---@param global actor.Table of the same group
---@param options? actor.TableCallOptions
---@return actor.Table|nil self
---@return string? message
---@return string? code
function Table:push(global, options)
  local call = begin(self, "push", options)
  check_global(self, global, "table:push")
  need(sharing.settle(self, call))
  need(sharing.settle(global, call))
  local own, own_weights = sharing.newest(self)
  local got, me, n = need(exchange(call, function(me, n)
    local dealt = parcels.deal(global.partitioner, own, own_weights, n)
    return ("%s to that %s"):format(about(self), about(global)), for_sharing(global, dealt, me), everywhere(n, true)
  end))
  parcels.raise_failed(call, got, n)
  got[me + 1] = with_copies(got[me + 1])
  local before, before_weights = sharing.newest(global)
  local values, weights = combined(global, got, me, n, { values = before, weights = before_weights })
  if values then
    for id, value in pairs(before) do
      if values[id] == nil then values[id], weights[id] = value, before_weights[id] end
    end
  end
  conclude(call, global, values, weights, got)
  return self
end

-- An owner's reply to each requesting rank: its partitions of the requested ids. With `strict` a missing id is a
-- failure, which is sent to all ranks.
local function make_replies(global, requests, n, strict)
  local values, weights = sharing.newest(global)
  local replies = {}
  for i = 1, n do
    replies[i] = parcels.empty()
    for _, id in ipairs(requests[i].ids) do
      if values[id] ~= nil then
        parcels.put(replies[i], id, values[id], weights[id])
      elseif strict then
        return everywhere(n, { failed = ("it has no partition %d, which rank %d requests"):format(id, i - 1) })
      end
    end
  end
  return replies
end

---Replaces this table's partitions by the global table's partitions with the same ids.
---```lua nodes=2
---local global = actor.collective.table { combiner = "sum" }
---global:set(actor.rank, 10 * actor.rank) -- id mod n is the owner's rank
---local part = actor.collective.table { combiner = "sum" }
---part:set(1, 0)
---part:pull(global) -- gets the owner's value of each of its ids
---print(part:get(1))  --> 10
---```
---@param global actor.Table of the same group
---@param options? actor.TableCallOptions|{missing?: "error"|"skip"} missing: handling of an id without a partition in
---the global table. "error" (the default): every rank raises an error that names the rank and the id. "skip": the
---partition stays as it is
---@return actor.Table|nil self
---@return string? message
---@return string? code
function Table:pull(global, options)
  local call = begin(self, "pull", options, { missing = "string?" })
  check_global(self, global, "table:pull")
  local missing = options and options.missing or "error"
  check.one_of(missing, { "error", "skip" }, "missing", "table:pull")
  need(sharing.settle(self, call))
  need(sharing.settle(global, call))
  local own, own_weights = sharing.newest(self)
  local wanted = {}
  for id in pairs(own) do wanted[id] = true end
  local requests, me, n = need(exchange(call, function(_, n)
    return ("%s from that %s (missing = %s)"):format(about(self), about(global), missing),
      parcels.deal(global.partitioner, wanted, {}, n), everywhere(n, true)
  end))
  parcels.raise_failed(call, requests, n)
  local replies = make_replies(global, requests, n, missing == "error")
  local got = need(exchange(call, function(_, ranks) return "replies", replies, everywhere(ranks, true) end))
  parcels.raise_failed(call, got, n)
  got[me + 1] = with_copies(got[me + 1])
  local values, weights = {}, {}
  for id, value in pairs(own) do values[id], weights[id] = value, own_weights[id] end
  for i = 1, n do
    local some, some_weights = parcels.unpack(got[i])
    for id, value in pairs(some) do values[id], weights[id] = value, some_weights[id] end
  end
  sharing.replace(self, values, weights)
  return self
end

---Moves each rank's whole table to the next rank, or by the given permutation. If it is not a permutation, every rank
---raises an error with the reason. If ranks pass different permutations, the error names both.
---```lua nodes=2
---local t = actor.collective.table { combiner = "sum" }
---t:set(1, "of rank " .. actor.rank)
---t:rotate() -- to the next rank
---print(t:get(1))  --> of rank 1
---```
---@param permutation? integer[]|table<integer, integer>|fun(rank: integer, n: integer): integer the target rank of each
---rank's table: a table by rank from 0, an array in rank order, or a function
---@param options? actor.TableCallOptions
---@return actor.Table|nil self
---@return string? message
---@return string? code
function Table:rotate(permutation, options)
  local call = begin(self, "rotate", options)
  if permutation ~= nil and type(permutation) ~= "table" and type(permutation) ~= "function" then
    check.wrong("permutation", "table:rotate", "table, function or nil", permutation)
  end
  need(sharing.settle(self, call))
  local own, own_weights = sharing.newest(self)
  local source, wrong
  local got, me, n = need(exchange(call, function(me, n)
    local targets, text = permutations.targets(permutation, n)
    source, wrong = nil, not targets and text or nil
    if not targets then return ("%s by no permutation: %s"):format(about(self), text), {}, {} end
    for i, target in ipairs(targets) do
      if target == me then source = i end
    end
    return ("%s by %s"):format(about(self), text), { [targets[me + 1] + 1] = parcels.pack(own, own_weights) },
      { [source] = true }
  end))
  if wrong then check.fail("bad argument 'permutation' to table:rotate: %s", wrong) end
  local values, weights = own, own_weights
  if source ~= me + 1 then values, weights = parcels.unpack(got[source]) end
  sharing.replace(self, values, weights)
  return self
end

for name, operation in pairs(Table) do Table[name] = calls.together(operation) end

-- An operation of tensors with another name for tables.
local function instead(name, what)
  return function() check.fail("a table has no %s: %s", name, what) end
end

local SENDS = "regroup() sends each partition to the rank that the partitioner names"

---Raises an error: tables have `reduce`, which moves all partitions to one rank, and `allgather`, to every rank.
Table.gather = instead("gather", "reduce(root) brings all partitions to one rank, allgather() to every rank")

---Raises an error: tables have `regroup`, which sends each partition to the rank that the partitioner names.
Table.scatter = instead("scatter", SENDS)

---Raises an error: tables have `regroup`, which sends each partition to the rank that the partitioner names.
Table.alltoall = instead("alltoall", SENDS)

---Raises an error: tables have `regroup`, which combines the partitions of an id at the rank that owns it.
Table.reduce_scatter =
  instead("reduce_scatter", "regroup() combines the partitions of an id at the rank that the partitioner names")

return Table
