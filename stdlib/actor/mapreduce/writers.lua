--- Functions that move rows from Lua to a sink in C++: unchanged, under keys, or combined by key.
local ffi = require("ffi")
local values = require("actor.mapreduce.values")
local api = require("actor.ffi")("mapreduce")
local c = require("actor.c.mapreduce")

local M = {}

local get, set, as_pair, from_bytes, to_bytes = values.get, values.set, values.as_pair, values.from_bytes, values.to_bytes
local one, some = values.one, values.some

local TAG_NIL, TAG_NUMBER = ffi.C.AH_ROW_TAG_NIL, ffi.C.AH_ROW_TAG_NUMBER
local BATCH = 64 -- keys of one lookup

-- Tables and tensors stay in Lua for a while, so that they are encoded once for many rows.
local HELD_KEYS, HELD_ROWS = 4096, 65536

local object_types = { table = true, cdata = true, userdata = true }

---Whether a value is a table or a tensor.
---@param value any
---@return boolean
function M.is_object(value) return object_types[type(value)] or false end

---@class actor.mapreduce.Combining
---@field first? fun(value: any): any makes a state of a key's first value; default: the value itself
---@field merge? fun(a: any, b: any): any combines two states; default: the function itself
---@field objects? boolean the result of `first` is, or may be, a table or a tensor
---@field own? boolean true: no other code has the values, so the function may change them

---A function that combines pairs by key with `fn` in a sink of api.combine(""). Pairs are collected in batches, so that
---the table's memory is fetched before they are combined.
---@param fn fun(a: any, b: any): any
---@param how? actor.mapreduce.Combining
---@return fun(key: any, value: any) put
---@return fun(sink: ffi.cdata*) bind sets the sink
---@return fun() finish to be called after the last pair
---@return fun(key: ffi.cdata*, value: ffi.cdata*, pair: integer) put_raw takes a row as stored in a batch, for
---compile.raw_loop
function M.combiner(fn, how)
  how = how or {}
  local first, merge, objects, own = how.first, how.merge or fn, how.objects, how.own
  local key, value = ffi.new("ah_mr_value"), ffi.new("ah_mr_value")
  local numbers, kinds, others = ffi.new("double[?]", BATCH), ffi.new("uint8_t[?]", BATCH), {}
  local OTHER, NUMBER, STATE = 0, 1, 2
  local sink
  local waiting = 0
  local held, order, held_keys, held_rows = {}, {}, 0, 0 -- `order`: the keys in order of arrival

  local function store(slot, v, more)
    set(value, some(v, more))
    if api.set_slot(api.streams, sink, slot, value) ~= 0 then c.fail() end
  end

  local function combine(slot, v, with, begin)
    local tag = slot.tag
    if tag == TAG_NUMBER then -- numbers are combined in place
      local combined = one(with(slot.number, v))
      if type(combined) == "number" then
        slot.number = combined
      else
        store(slot, combined)
      end
    elseif tag == TAG_NIL then
      if begin then v = one(begin(v)) end
      if type(v) == "number" then
        slot.tag, slot.number = TAG_NUMBER, v
      else
        store(slot, v)
      end
    else
      api.get_slot(slot, value)
      store(slot, with(get(value), v))
    end
  end

  local function combine_waiting()
    local count = waiting
    waiting = 0
    local slots = api.locate(api.streams, sink)
    if slots == nil then c.fail() end
    for i = 0, count - 1 do
      local kind = kinds[i]
      if kind == NUMBER then
        combine(slots[i], numbers[i], fn, first)
      elseif kind == OTHER then
        combine(slots[i], others[i], fn, first)
      else
        combine(slots[i], others[i], merge, nil)
      end
    end
  end

  -- `k`: an ah_mr_value, whose bytes are copied.
  local function wait_under(k, v, kind)
    local i = api.take(api.streams, sink, k) - 1
    kinds[i] = kind
    if kind == NUMBER then numbers[i] = v else others[i] = v end
    waiting = i + 1
    if waiting == BATCH then combine_waiting() end
  end

  local function wait(k, v, kind)
    set(key, k)
    wait_under(key, v, kind)
  end

  local function flush_held()
    local states, keys, count = held, order, held_keys
    held, order, held_keys, held_rows = {}, {}, 0, 0
    for i = 1, count do wait(keys[i], states[keys[i]], STATE) end
  end

  -- No other code may have a stored value, since the function may change it.
  local function unshared(state, v)
    if state == v and not own and object_types[type(v)] then return from_bytes(to_bytes(v)) end
    return state
  end

  local function hold(k, v)
    local state = held[k]
    if state == nil then
      held_keys = held_keys + 1
      order[held_keys] = k
      state = v
      if first then state = some(first(v)) end
      held[k] = unshared(state, v)
    else
      held[k] = unshared(some(fn(state, v)), v)
    end
    held_rows = held_rows + 1
    if held_keys == HELD_KEYS or held_rows == HELD_ROWS then flush_held() end
  end

  local function put(k, v)
    if v == nil then k, v = as_pair(k, v) end
    if type(v) == "number" and not objects then
      wait(k, v, NUMBER)
    elseif (objects or (not first and object_types[type(v)])) and k == k and k ~= nil and type(k) ~= "table" then
      hold(k, v)
    else
      wait(k, v, OTHER)
    end
  end

  -- A row as stored in a batch: its key need not become a Lua value.
  local function put_raw(k, v, pair)
    if pair == 1 and not objects and v.tag == TAG_NUMBER and k.tag ~= TAG_NIL then
      wait_under(k, v.number, NUMBER)
    else
      local b = nil
      if pair ~= 0 then b = get(v) end
      put(get(k), b)
    end
  end

  return put, function(to)
    sink, waiting = to, 0
    held, order, held_keys, held_rows = {}, {}, 0, 0
  end, function()
    flush_held()
    combine_waiting()
  end, put_raw
end

---Returns functions that put rows into a sink.
---@return fun(a: any, b: any) put
---@return fun(sink: ffi.cdata*) bind sets the sink
function M.writer()
  local row = ffi.new("ah_mr_row")
  local sink
  local function put(a, b)
    set(row.first, a)
    if b ~= nil then
      set(row.second, b)
      row.pair = 1
    else
      row.pair = 0
    end
    if api.put(api.streams, sink, row) ~= 0 then c.fail() end
  end
  return put, function(to) sink = to end
end

---Returns functions that put rows into a sink for a sort, under their keys.
---@return fun(key: any, a: any, b: any) put
---@return fun(sink: ffi.cdata*) bind sets the sink
function M.keyed_writer()
  local row, under = ffi.new("ah_mr_row"), ffi.new("ah_mr_value")
  local sink
  local function put(key, a, b)
    set(under, key)
    set(row.first, a)
    row.pair = b ~= nil and 1 or 0
    if b ~= nil then set(row.second, b) end
    if api.put_under(api.streams, sink, under, row) ~= 0 then c.fail() end
  end
  return put, function(to) sink = to end
end

return M
