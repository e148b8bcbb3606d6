--- Readers turn the rows of a source into the rows of a wide operation, for the operations after it. `read(source,
--- rest)` calls `rest` with each row and returns 0, or a negative number when the source has failed. A stage creates a
--- reader once on a node; the reader resets the state of a task before it reads.
local compile = require("actor.mapreduce.compile")
local api = require("actor.ffi")("mapreduce")
local c = require("actor.c.mapreduce")

local M = {}

local get = compile.get
local band, rshift = bit.band, bit.rshift

---Calls `take` with each row.
---@param source ffi.cdata*
---@param take fun(a: any, b: any)
---@return integer result 0, or negative when the source has failed
function M.each(source, take)
  local batch = api.batch(source)
  while true do
    local n = api.next(api.streams, source)
    if n <= 0 then return n end
    for i = 0, n - 1 do
      batch.at = i
      local b = nil
      if batch.pair[i] ~= 0 then b = get(batch.second[i]) end
      take(get(batch.first[i]), b)
    end
  end
end

---Returns a function that pulls the rows of a source one by one.
---@param source ffi.cdata*
---@return fun(): boolean, any, any there whether there is a row, and the row
function M.puller(source)
  local batch = api.batch(source)
  local i, n = 0, 0
  return function()
    if i == n then
      i, n = 0, api.next(api.streams, source)
      if n < 0 then c.fail() end
      if n == 0 then return false, nil, nil end
    end
    local b = nil
    if batch.pair[i] ~= 0 then b = get(batch.second[i]) end
    i = i + 1
    return true, get(batch.first[i - 1]), b
  end
end

-- Reads a source of api.groups: `begin` gets each key, `add` each of its values with the number of the value's input.
local function groups(source, begin, add)
  local batch = api.batch(source)
  while true do
    local n = api.next(api.streams, source)
    if n <= 0 then return n end
    for i = 0, n - 1 do
      batch.at = i
      local flags = batch.pair[i]
      if band(flags, 2) == 0 then
        local key = get(batch.first[i])
        begin(key == 0 and 0 or key) -- as a key -0 is 0
      end
      add(get(batch.second[i]), rshift(flags, 2) + 1)
    end
  end
end

---Rows `key, {value, ...}`.
function M.grouped()
  local function read(source, rest)
    local key, values, n = nil, nil, 0
    local result = groups(source, function(k)
      if values then rest(key, values) end
      key, values, n = k, {}, 0
    end, function(value)
      n = n + 1
      values[n] = value
    end)
    if result == 0 and values then rest(key, values) end
    return result
  end
  return { read = read }
end

---Rows `key, {{values of the first input, ...}, {values of the second, ...}, ...}`.
---@param inputs integer
function M.cogrouped(inputs)
  local function read(source, rest)
    local key, values = nil, nil
    local result = groups(source, function(k)
      if values then rest(key, values) end
      key, values = k, {}
      for i = 1, inputs do values[i] = {} end
    end, function(value, input)
      local list = values[input]
      list[#list + 1] = value
    end)
    if result == 0 and values then rest(key, values) end
    return result
  end
  return { read = read }
end

---Rows `key, value` of the second input, for keys that the first input lacks.
function M.without()
  local function read(source, rest)
    local key, met = nil, false
    return groups(source, function(k)
      key, met = k, false
    end, function(value, input)
      if input == 1 then met = true elseif not met then rest(key, value) end
    end)
  end
  return { read = read }
end

---Rows `key, {left, right}` for each left value with each right value of a key. The left values are held in memory, the
---right values are streamed.
---@param keep_left boolean also return key, {left} for keys that the right input lacks
---@param keep_right boolean also return key, {nil, right} for keys that the left input lacks
function M.joined(keep_left, keep_right)
  local function read(source, rest)
    local key, lefts, n, met = nil, {}, 0, true
    local function finish()
      if keep_left and not met then
        for i = 1, n do rest(key, { lefts[i] }) end
      end
    end
    local result = groups(source, function(k)
      finish()
      key, lefts, n, met = k, {}, 0, false
    end, function(value, input)
      if input == 1 then
        n = n + 1
        lefts[n] = value
        return
      end
      met = true
      for i = 1, n do rest(key, { lefts[i], value }) end
      if n == 0 and keep_right then rest(key, { nil, value }) end
    end)
    if result == 0 then finish() end
    return result
  end
  return { read = read }
end

return M
