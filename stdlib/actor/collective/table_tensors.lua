--- All-reduce of tables with the same ids and tensors of the same layouts on all ranks, such as a model or gradients.
--- The tensors of one element type become one tensor, for one all-reduce with its algorithms. Each rank sends 2S bytes,
--- as in the general case, but without encoding, and they are combined in place.
local tensor = require("actor.tensor")
local codec = require("actor.codec")
local c = require("actor.c.collective")
local combine = require("actor.collective.combine")
local parcels = require("actor.collective.table_parcels")
local util = require("actor.util")

local M = {}

local words = 4  -- of the hash of a table's layout

-- A text that is equal for tables that can be combined in this way; nil when this table cannot.
local function layout(tbl, ids, values, weights)
  if tbl.combiner.fn or #ids == 0 or next(weights) ~= nil then return nil end
  local parts = {}
  for i, id in ipairs(ids) do
    local value = values[id]
    if not tensor.is_tensor(value) or value.ndim == 0 then return nil end
    parts[i] = ("%d %s"):format(id, combine.layout(value))
  end
  return table.concat(parts, "; ")
end

-- Whether all ranks have the same text: then the largest of each word of its hash is also the smallest.
local function agree(call, text)
  local words_and_negatives = { text and 0 or 1 }
  local digits = text and codec.hash(text) or ("0"):rep(4 * words)
  for i = 0, words - 1 do
    local word = tonumber(digits:sub(4 * i + 1, 4 * i + 4), 16)
    words_and_negatives[2 * i + 2], words_and_negatives[2 * i + 3] = word, -word
  end
  local most, message, code = c.reduction(call, "allreduce", tensor(words_and_negatives):to("float64"), "max")
  if not most then return nil, message, code end
  local same = most:get(1) == 0
  for i = 0, words - 1 do same = same and most:get(2 * i + 2) == -most:get(2 * i + 3) end
  return same
end

-- All tensors of this type as one tensor, and the first element of each.
local function packed(dtype, ids, values)
  local total, starts = 0, {}
  for _, id in ipairs(ids) do
    if values[id].dtype == dtype then starts[id], total = total + 1, total + values[id].size end
  end
  local flat = tensor.empty({ total }, { dtype = dtype })
  for id, start in pairs(starts) do
    local value = values[id]
    if value.size > 0 then flat:narrow(1, start, value.size):copy_(value:flatten()) end
  end
  return flat, starts
end

---Combines the ranks' tables if they have the same layout.
---@param tbl actor.Table
---@param call table
---@param values table<integer, any>
---@param weights table<integer, number>
---@return table<integer, any>|boolean|nil values; false when the layouts differ; nil, message, code
---@return table<integer, number>|string weights
---@return string? code
function M.allreduce(tbl, call, values, weights)
  local ids = util.sorted_keys(values)
  local ordered = { group = call.group, name = call.name, timeout = call.timeout, about = parcels.about(tbl) }
  local same, message, code = agree(ordered, layout(tbl, ids, values, weights))
  if not same then return same, message, code end
  ordered.reproducible = true
  local out, counts = {}, {}
  for _, dtype in ipairs { "float32", "float64", "int32", "int64", "uint8", "bool" } do
    local flat, starts = packed(dtype, ids, values)
    if next(starts) ~= nil then
      flat, message, code = c.reduction(ordered, "allreduce", flat, tbl.combiner.name)
      if not flat then return nil, message, code end
    end
    for id, start in pairs(starts) do
      local shape, size = values[id].shape, values[id].size
      out[id] = size > 0 and flat:narrow(1, start, size):view(shape) or tensor.empty(shape, { dtype = dtype })
    end
  end
  if tbl.combiner.weighted then
    local _, n = c.members(call.group)
    for _, id in ipairs(ids) do counts[id] = n > 1 and n or nil end
  end
  return out, counts
end

return M
