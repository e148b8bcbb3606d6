--- A slice of a rotator as one tensor, for travel: a description of its partitions, followed by all partitions. The
--- tensor is lent to the network without packing, and at the receiver the partitions are views of it, so a visit costs
--- no copy. Only for slices with tensors of one type; other slices travel as parcels, like tables.
---
---   flat   = size:u64 length:u64 text[length] padding *elements
---   text   = encoding of { ids, shapes }; the elements begin `size` bytes after the beginning
local ffi = require("ffi")
local base = require("actor.tensor.base")
local codec = require("actor.codec")
local combine = require("actor.collective.combine")
local tensor = require("actor.tensor")

local M = {}

local alignment, head = 64, 16
local sizes = ffi.typeof("uint64_t*")
local width_of = { float32 = 4, float64 = 8, int32 = 4, int64 = 8, uint8 = 1, bool = 1 }

-- The ids in order and the shapes, if all partitions are tensors of one type that fit into one tensor; else nil.
local function layout_of(slice)
  if next(slice.parts) == nil or next(slice.weights) ~= nil then return nil end
  local ids, shapes, dtype = slice:ids(), {}, nil
  for i, id in ipairs(ids) do
    local value = slice.parts[id]
    if not tensor.is_tensor(value) or value.ndim == 0 or value.size == 0 then return nil end
    dtype = dtype or value.dtype
    if value.dtype ~= dtype then return nil end
    shapes[i] = value.ndim == 1 and value.size or value.shape
  end
  return ids, shapes, dtype
end

---Makes one tensor with copies of the slice's partitions; nil for a slice that cannot be one tensor.
---@param slice actor.Table
---@return actor.Tensor|nil
local function flatten(slice)
  local ids, shapes, dtype = layout_of(slice)
  if not ids then return nil end
  local text = codec.encode({ ids, shapes })
  local width = width_of[dtype]
  local before = math.ceil((head + #text) / alignment) * alignment
  local count = before / width
  for _, id in ipairs(ids) do count = count + slice.parts[id].size end
  local flat = tensor.empty({ count }, { dtype = dtype })
  local bytes = ffi.cast("char*", flat:data())
  ffi.fill(bytes, before)
  ffi.cast(sizes, bytes)[0], ffi.cast(sizes, bytes)[1] = before, #text
  ffi.copy(bytes + head, text, #text)
  local at = before / width + 1
  for _, id in ipairs(ids) do
    local value = slice.parts[id]
    flat:narrow(1, at, value.size):view(value.shape):copy_(value)
    at = at + value.size
  end
  return flat
end

---Makes the slice's partitions views of the tensor.
---@param slice actor.Table
---@param flat actor.Tensor made by `flatten`
function M.open(slice, flat)
  local bytes = ffi.cast("char*", flat:data())
  local width = width_of[flat.dtype]
  local before, length = tonumber(ffi.cast(sizes, bytes)[0]), tonumber(ffi.cast(sizes, bytes)[1])
  assert(head + length <= before and before <= flat.size * width, "rotator: malformed slice")
  local ids, shapes = unpack(assert(codec.decode(ffi.string(bytes + head, length))))
  local at = before / width + 1
  local parts, given = {}, {}
  for i, id in ipairs(ids) do
    local shape, size = shapes[i], shapes[i]
    if type(shape) == "table" then
      size = 1
      for _, extent in ipairs(shape) do size = size * extent end
    end
    local part = flat:narrow(1, at, size)
    if type(shape) == "table" then part = part:view(shape) end
    parts[id], given[id] = part, part
    at = at + size
  end
  slice.parts, slice.weights = parts, {}
  slice.flat, slice.given = flat, given
end

-- Whether the partitions are still the views that `open` set.
local function untouched(slice)
  if not slice.flat or next(slice.weights) ~= nil then return false end
  for id, part in pairs(slice.given) do
    if not rawequal(slice.parts[id], part) then return false end
  end
  for id in pairs(slice.parts) do
    if slice.given[id] == nil then return false end
  end
  return true
end

---Copies the slice's partitions into one tensor, if possible; the old partitions do not change. Partitions that are
---still the views of an earlier round stay these views.
---@param slice actor.Table
---@param left? {flat: actor.Tensor, given: table<integer, actor.Tensor>}
---@return boolean
function M.lay_flat(slice, left)
  if left then
    slice.flat, slice.given = left.flat, left.given
    if untouched(slice) then return true end
    slice.flat, slice.given = nil, nil
  end
  local flat = flatten(slice)
  if flat then M.open(slice, flat) end
  return flat ~= nil
end

---Returns the slice as one tensor to send, if possible. The tensor is lent: its partitions must not change.
---@param slice actor.Table
---@return actor.Tensor|nil
function M.close(slice)
  if untouched(slice) then return slice.flat end
  return flatten(slice)
end

---Empties the partitions that `open` set: another rank has them now, and their memory is free for the next slice.
---@param slice actor.Table
function M.leave(slice)
  if slice.given then
    for _, part in pairs(slice.given) do base.api.release(part) end
    base.api.release(slice.flat)
  end
  slice.parts, slice.weights, slice.flat, slice.given = {}, {}, nil, nil
end

---Ends the travel of a returned slice: copies its contents into its source tensors, if they fit.
---@param slice actor.Table
---@param parts table<integer, any> the source tensors
function M.settle(slice, parts)
  if not slice.flat then return end
  local settled, weights = {}, slice.weights
  for id, part in pairs(slice.parts) do
    local old = parts[id]
    if not rawequal(part, slice.given[id]) then
      settled[id] = part
    elseif tensor.is_tensor(old) and combine.layout(old) == combine.layout(part) then
      settled[id] = old:copy_(part)
    else
      settled[id] = part:clone()
    end
  end
  M.leave(slice)
  slice.parts, slice.weights = settled, weights
end

return M
