--- Building blocks of the collective operations of tables: partitions as parcels, exchanges with arguments for the
--- live ranks, and outcomes shared by all ranks. A rank that cannot continue (its partitioner fails, two partitions do
--- not fit) sends the reason in place of its partitions, so that all ranks raise and none waits.
local check = require("actor.check")
local c = require("actor.c.collective")
local tensor = require("actor.tensor")

local calls = require("actor.collective.call")
local util = require("actor.util")

local M = {}

local table_options = { prefix = "table:", kinds = { timeout = "number?" } }

---@class actor.TableParcel partitions in transit
---@field ids integer[]
---@field values any[]
---@field weights number[]|nil of a mean
---@field failed string|nil instead of the other fields: the reason for missing partitions
---@field number integer|nil from the first rank, for a table to be shared: the table's number
---@field id integer|nil for a table to be shared: the sender's permanent id

---Checks the options of an operation, and makes the description of its call.
---@param tbl actor.Table
---@param name string "regroup"
---@param options? table
---@param more? table<string, string> further options and their kinds
---@return table call
function M.begin(tbl, name, options, more)
  return calls.prepare(tbl.group and tbl.group.number or 0, name, options, more, table_options)
end

---The part of an operation that must be the same on every rank, as shown in a mismatch error: "of table 'w' (sum)".
---@param tbl actor.Table
---@return string
function M.about(tbl)
  return ("of %s (%s%s)"):format(tbl.name and ("table '%s'"):format(tbl.name) or "a table", tbl.combiner.name,
    tbl.shared and ", shared" or "")
end

---@return actor.TableParcel
function M.empty() return { ids = {}, values = {} } end

---@param parcel actor.TableParcel
---@param id integer
---@param value any
---@param weight? number
function M.put(parcel, id, value, weight)
  local i = #parcel.ids + 1
  parcel.ids[i], parcel.values[i] = id, value
  if not weight or weight == 1 then return end
  if not parcel.weights then parcel.weights = {} end
  parcel.weights[i] = weight
end

---The weight of a parcel's i-th partition.
---@param parcel actor.TableParcel
---@param i integer
---@return number
function M.weight(parcel, i) return parcel.weights and parcel.weights[i] or 1 end

---@param values table<integer, any>
---@param weights table<integer, number>
---@return actor.TableParcel
function M.pack(values, weights)
  local parcel = M.empty()
  for _, id in ipairs(util.sorted_keys(values)) do M.put(parcel, id, values[id], weights[id]) end
  return parcel
end

---The partitions of a parcel.
---@param parcel actor.TableParcel
---@return table<integer, any> values
---@return table<integer, number> weights
function M.unpack(parcel)
  local values, weights = {}, {}
  for i, id in ipairs(parcel.ids) do
    values[id] = parcel.values[i]
    local weight = M.weight(parcel, i)
    if weight ~= 1 then weights[id] = weight end
  end
  return values, weights
end

---Adds a parcel's partitions to a fold.
---@param fold actor.Fold
---@param parcel actor.TableParcel
---@param received boolean the partitions are from another rank
function M.absorb(fold, parcel, received)
  for i, id in ipairs(parcel.ids) do fold:add(id, parcel.values[i], M.weight(parcel, i), received) end
end

---Returns the rank of an id by the partitioner; nil and the reason when the result is no rank.
---@param partitioner fun(id: integer, n: integer): integer
---@param id integer
---@param n integer
---@return integer|nil place
---@return string? wrong
function M.owner(partitioner, id, n)
  local worked, place = pcall(partitioner, id, n)
  if not worked then return nil, ("the partitioner failed for id %d: %s"):format(id, tostring(place)) end
  if type(place) ~= "number" or place ~= math.floor(place) or place < 0 or place >= n then
    return nil, ("the partitioner gives id %d to %s, which is no rank from 0 to %d"):format(id, tostring(place), n - 1)
  end
  return place
end

---Distributes partitions by a partitioner: a parcel for each of n ranks, by place from 1.
---@param partitioner fun(id: integer, n: integer): integer
---@param values table<integer, any>
---@param weights table<integer, number>
---@param n integer
---@return actor.TableParcel[] parcels each with `failed` when a partition has no valid rank
function M.deal(partitioner, values, weights, n)
  local parcels = {}
  for i = 1, n do parcels[i] = M.empty() end
  for _, id in ipairs(util.sorted_keys(values)) do
    local place, wrong = M.owner(partitioner, id, n)
    if not place then return M.everywhere(n, { failed = wrong }) end
    M.put(parcels[place + 1], id, values[id], weights[id])
  end
  return parcels
end

M.everywhere = calls.everywhere

-- Calls c.exchange with arguments for the live ranks. Returns its result, this rank's place, n, and the parcel for
-- itself.
local function enter(call, build)
  local me, n = calls.place(call)
  if not n then return calls.report_loss_raw(call) end
  if not me then check.fail("%s: this worker is not in the group", call.name) end
  local signature, gives, expects = build(me, n)
  local own = gives[me + 1]
  gives[me + 1], expects[me + 1] = nil, nil
  gives.n, expects.n = n, n
  local got, message, code = c.exchange(call, signature, gives, expects)
  if not got then return nil, message, code end
  return got, me, n, own
end

---Exchanges parcels between the ranks. A rank's parcel for itself is not sent: it is in the result unchanged.
---@param call table
---@param build fun(me: integer, n: integer): string, table, table returns the signature, the parcel for each place
---(from 1), and whether to expect a parcel from each place
---@return table|nil parcels by place from 1
---@return integer|string me this rank's place from 0; or the message
---@return integer|string n; or the code
function M.exchange(call, build)
  local got, me, n, own = enter(call, build)
  if not got then return nil, me, n end
  got[me + 1] = own
  return got, me, n
end

---As exchange, but in the background. The given values may be changed after the return.
---@param call table
---@param build fun(me: integer, n: integer): string, table, table
---@return userdata|nil pending for `finish`
---@return string? message
---@return string? code
function M.start(call, build)
  local pending, message, code = enter(util.merged(call, { async = true }), build)
  if not pending then return nil, message, code end
  return pending
end

---Waits for an exchange of `start`.
---@param pending userdata
---@return table|nil parcels by place from 1; nothing for this rank itself
---@return string? message
---@return string? code
function M.finish(pending) return c.wait(pending) end

---The first failed rank, and its reason. Every rank has a parcel of each rank, so all get the same result.
---@param parcels actor.TableParcel[]
---@param n integer
---@return integer|nil place from 0
---@return string? failed
function M.first_failed(parcels, n)
  for i = 1, n do
    if parcels[i].failed then return i - 1, parcels[i].failed end
  end
end

---Raises the error of one rank on every rank.
---@param call table
---@param parcels actor.TableParcel[]
---@param n integer
function M.raise_failed(call, parcels, n)
  local place, failed = M.first_failed(parcels, n)
  if place then check.fail("table:%s: rank %d: %s", call.name, place, failed) end
end

---Finds out, with all ranks, whether any of them has an error.
---@param call table
---@param wrong string|nil the error here
---@return boolean|nil fine
---@return integer|string? place the failed rank, from 0; or the message
---@return string? failed the error there; or the code
function M.verdict(call, wrong)
  local flag, message, code = c.reduction(call, "allreduce", tensor({ wrong and 1 or 0 }), "max")
  if not flag then return nil, message, code end
  if flag:item() == 0 then return true end
  local parcels, me, n = M.exchange(call, function(_, ranks)
    return "failures", M.everywhere(ranks, { failed = wrong }), M.everywhere(ranks, true)
  end)
  if not parcels then return nil, me, n end
  return false, M.first_failed(parcels, n --[[@as integer]])
end

---Ends an operation: returns true on every rank when no rank has an error, else raises on all.
---@param call table
---@param wrong string|nil the error here
---@param undo? fun() called before it raises or fails
---@return true|nil
---@return string? message
---@return string? code
function M.conclude(call, wrong, undo)
  local fine, place, failed = M.verdict(call, wrong)
  if fine then return true end
  if undo then undo() end
  if fine == nil then return nil, place --[[@as string]], failed end
  check.fail("table:%s: rank %d: %s", call.name, place, failed)
end

return M
