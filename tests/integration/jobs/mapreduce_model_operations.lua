--- The operations of mapreduce_model.lua, each with its model on plain Lua arrays.
---
--- By name: `from`: {accepted kind = kind of the result}; `inputs`: their number if over 1; `args(kind)`;
--- `apply(args, dataset, ...)`; `model(args, rows, ...)`; `order`: "kept": ordered rows give ordered rows; "needed":
--- needs ordered rows; "used": needs ordered rows, the result has no order; "made": the result is always ordered.
---
--- Kinds: "number", "text"; "pairs" of a key and a number; "boxes": tables of two that keyed operations treat as such
--- pairs; "tables": pairs of a key and a table; "any": rows of unknown kind.
local mr = require "actor.mapreduce"
local tensor = require("actor").tensor
local rows_of = require "mapreduce_model_rows"

local as_value, each, id, pick = rows_of.as_value, rows_of.each, rows_of.id, rows_of.pick
local sorted, text = rows_of.sorted, rows_of.text

local operations = {}

local same = { number = "number", text = "text", pairs = "pairs", tables = "tables", any = "any", boxes = "boxes" }
local comparable = { number = "number", text = "text", pairs = "pairs" }
local keyed = { pairs = "pairs" }
local to_tables = { pairs = "tables" }

operations.map = {
  from = { number = "number", text = "text" }, order = "kept",
  apply = function(_, dataset) return dataset:map(function(x) return type(x) == "number" and x * 2 + 1 or x .. "!" end) end,
  model = function(_, rows)
    return each(rows, function(row) return { type(row[1]) == "number" and row[1] * 2 + 1 or row[1] .. "!" } end)
  end,
}

operations.filter = {
  from = same, order = "kept",
  args = function() return { pick { 2, 3, 5 } } end,
  apply = function(args, dataset)
    local m = args[1]
    return dataset:filter(function(a, b) return #text(a) % m ~= 0 or b == 3 end)
  end,
  model = function(args, rows)
    return each(rows, function(row) if #text(row[1]) % args[1] ~= 0 or row[2] == 3 then return row end end)
  end,
}

operations.flatmap = {
  from = { number = "number", text = "text" }, order = "kept",
  apply = function(_, dataset)
    return dataset:flatmap(function(x)
      if x == 1 or x == "a" then return {} end
      return { x, x }
    end)
  end,
  model = function(_, rows)
    return each(rows, function(row)
      if row[1] ~= 1 and row[1] ~= "a" then return row, row end
    end)
  end,
}

operations.key_by = {
  from = { number = "pairs" }, order = "kept",
  apply = function(_, dataset) return dataset:key_by(function(x) return x % 3 end) end,
  model = function(_, rows) return each(rows, function(row) return { row[1] % 3, row[1] } end) end,
}

operations.lengths = {
  from = { text = "pairs" }, order = "kept",
  apply = function(_, dataset) return dataset:map(function(x) return x:sub(1, 1), #x end) end,
  model = function(_, rows) return each(rows, function(row) return { row[1]:sub(1, 1), #row[1] } end) end,
}

operations.map_values = {
  from = keyed, order = "kept",
  apply = function(_, dataset) return dataset:map_values(function(v) return v + 1 end) end,
  model = function(_, rows) return each(rows, function(row) return { row[1], row[2] + 1 } end) end,
}

operations.flatmap_values = {
  from = { pairs = "pairs", tables = "any" }, order = "kept",
  apply = function(_, dataset)
    return dataset:flatmap_values(function(v) return type(v) == "table" and { v, 1 } or { v, -v } end)
  end,
  model = function(_, rows)
    return each(rows, function(row)
      return { row[1], row[2] }, { row[1], type(row[2]) == "table" and 1 or -row[2] }
    end)
  end,
}

operations.keys = {
  from = { pairs = "any", tables = "any" }, order = "kept",
  apply = function(_, dataset) return dataset:keys() end,
  model = function(_, rows) return each(rows, function(row) return { row[1] } end) end,
}

operations.values = {
  from = { pairs = "number", tables = "any" }, order = "kept",
  apply = function(_, dataset) return dataset:values() end,
  model = function(_, rows) return each(rows, function(row) return { row[2] } end) end,
}

-- Keys in the order of their first row, and the values of each key.
local function grouped(rows, groups, order)
  groups, order = groups or {}, order or {}
  for _, row in ipairs(rows) do
    local key = id(row[1])
    if not groups[key] then
      groups[key] = {}
      order[#order + 1] = row[1]
    end
    table.insert(groups[key], row[2])
  end
  return groups, order
end

local function by_key(rows, combine)
  local groups, order = grouped(rows)
  local out = {}
  for i, key in ipairs(order) do out[i] = { key, combine(groups[id(key)]) } end
  return out
end

local function folded(fn, zero)
  return function(values)
    local result = zero
    for _, value in ipairs(values) do
      if result == nil then result = value else result = fn(result, value) end
    end
    return result
  end
end

local function partitions() return { partitions = pick { 1, 2, 5, 16 } } end

local combiners = {
  sum = mr.sum, max = mr.max, min = mr.min,
  plus = function(a, b) return a + b end,
}

operations.reduce_by_key = {
  from = keyed,
  args = function() return { pick { "sum", "max", "min", "plus" }, pick { partitions(), {} } } end,
  apply = function(args, dataset) return dataset:reduce_by_key(combiners[args[1]], args[2]) end,
  model = function(args, rows) return by_key(rows, folded(combiners[args[1]])) end,
}

operations.fold_by_key = {
  from = keyed, args = partitions,
  apply = function(args, dataset) return dataset:fold_by_key(1000, combiners.plus, args) end,
  model = function(_, rows) return by_key(rows, folded(combiners.plus, 1000)) end,
}

operations.aggregate_by_key = {
  from = to_tables, args = partitions,
  apply = function(args, dataset)
    return dataset:aggregate_by_key({ 0, 0 }, function(state, v) return { state[1] + 1, state[2] + v } end,
      function(a, b) return { a[1] + b[1], a[2] + b[2] } end, args)
  end,
  model = function(_, rows)
    return by_key(rows, folded(function(state, v) return { state[1] + 1, state[2] + v } end, { 0, 0 }))
  end,
}

-- A state that is a number for some keys and a table for others.
local function combined_state(v) return v % 2 == 0 and v or { v } end
local function sum_of(state) return type(state) == "table" and state[1] or state end

operations.combine_by_key = {
  from = keyed, args = partitions,
  apply = function(args, dataset)
    return dataset:combine_by_key(combined_state, function(state, v) return { sum_of(state) + v } end,
      function(a, b) return sum_of(a) + sum_of(b) end, args):map_values(sum_of)
  end,
  model = function(_, rows) return by_key(rows, folded(combiners.plus)) end,
}

operations.group_by_key = {
  from = { pairs = "tables", tables = "tables" }, args = partitions,
  apply = function(args, dataset) return dataset:group_by_key(args):map_values(sorted) end,
  model = function(_, rows) return by_key(rows, sorted) end,
}

operations.partition_by = {
  from = { pairs = "pairs", tables = "tables" },
  args = function() return { pick { 1, 3, 16 } } end,
  apply = function(args, dataset) return dataset:partition_by(args[1]) end,
  model = function(_, rows) return rows end,
}

operations.cogroup = {
  from = to_tables, inputs = 2, args = partitions,
  apply = function(args, a, b)
    return a:cogroup(b, args):map_values(function(lists) return { sorted(lists[1]), sorted(lists[2]) } end)
  end,
  model = function(_, a, b)
    local order = select(2, grouped(a))
    local left, right = grouped(a), grouped(b)
    for _, row in ipairs(b) do
      if not left[id(row[1])] then
        order[#order + 1] = row[1]
        left[id(row[1])] = {}
      end
    end
    local out = {}
    for i, key in ipairs(order) do out[i] = { key, { sorted(left[id(key)]), sorted(right[id(key)] or {}) } } end
    return out
  end,
}

local function model_join(keep_left, keep_right)
  return function(_, a, b)
    local left, right = grouped(a), grouped(b)
    local out = {}
    for _, row in ipairs(a) do
      for _, other in ipairs(right[id(row[1])] or {}) do out[#out + 1] = { row[1], { row[2], other } } end
      if keep_left and not right[id(row[1])] then out[#out + 1] = { row[1], { row[2] } } end
    end
    for _, row in ipairs(keep_right and b or {}) do
      if not left[id(row[1])] then out[#out + 1] = { row[1], { nil, row[2] } } end
    end
    return out
  end
end

for name, kept in pairs({
  join = { false, false }, left_outer_join = { true, false }, right_outer_join = { false, true }, full_outer_join = { true, true },
}) do
  operations[name] = {
    from = to_tables, inputs = 2, args = partitions, model = model_join(kept[1], kept[2]), most = 500,
    apply = function(args, a, b) return a[name](a, b, args) end,
  }
end

operations.subtract_by_key = {
  from = { pairs = "pairs", tables = "tables" }, inputs = 2, args = partitions,
  apply = function(args, a, b) return a:subtract_by_key(b, args) end,
  model = function(_, a, b)
    local others = grouped(b)
    return each(a, function(row) if not others[id(row[1])] then return row end end)
  end,
}

operations.union = {
  from = same, inputs = 2, order = "kept",
  apply = function(_, a, b) return a:union(b) end,
  model = function(_, a, b)
    local out = {}
    for _, rows in ipairs({ a, b }) do
      for _, row in ipairs(rows) do out[#out + 1] = row end
    end
    return out
  end,
}

-- The first of equal rows, if `wanted` accepts it.
local function distinct(rows, wanted)
  local seen, out = {}, {}
  for _, row in ipairs(rows) do
    local name = text(row)
    if not seen[name] and (not wanted or wanted(name)) then out[#out + 1] = row end
    seen[name] = true
  end
  return out
end

local function names(rows)
  local out = {}
  for _, row in ipairs(rows) do out[text(row)] = true end
  return out
end

operations.distinct = {
  from = comparable, args = partitions,
  apply = function(args, dataset) return dataset:distinct(args) end,
  model = function(_, rows) return distinct(rows) end,
}

operations.intersection = {
  from = comparable, inputs = 2, args = partitions,
  apply = function(args, a, b) return a:intersection(b, args) end,
  model = function(_, a, b)
    local others = names(b)
    return distinct(a, function(name) return others[name] end)
  end,
}

operations.subtract = {
  from = comparable, inputs = 2, args = partitions,
  apply = function(args, a, b) return a:subtract(b, args) end,
  model = function(_, a, b)
    local others = names(b)
    return distinct(a, function(name) return not others[name] end)
  end,
}

operations.cartesian = {
  from = { number = "any", pairs = "any", text = "any" }, inputs = 2, most = 40,
  apply = function(_, a, b) return a:cartesian(b) end,
  model = function(_, a, b)
    return each(a, function(row)
      local out = {}
      for i, other in ipairs(b) do out[i] = { as_value(row), as_value(other) } end
      return unpack(out)
    end)
  end,
}

operations.shuffle = {
  from = same, args = function() return { pick { 1, 4, 9 } } end,
  apply = function(args, dataset) return dataset:shuffle(args[1]) end,
  model = function(_, rows) return rows end,
}

-- Tables with several keys, which each node writes in an order of its own.
operations.shuffle_records = {
  from = keyed, args = function() return { pick { 2, 4, 9 } } end,
  apply = function(args, dataset)
    return dataset:map_values(function(v) return v end) -- boxes become pairs
      :map(function(k, v) return { name = k, number = v, here = true, { last = v } } end):shuffle(args[1])
      :map(function(record) return record.name, record.number end)
  end,
  model = function(_, rows) return rows end,
}

operations.tensor_sums = {
  from = keyed, args = partitions,
  apply = function(args, dataset)
    return dataset:map_values(function(v) return tensor.full({ 1 }, v, { dtype = "float64" }) end)
      :reduce_by_key(function(a, b) return a + b end, args):map_values(function(t) return t:item() end)
  end,
  model = function(_, rows) return by_key(rows, folded(combiners.plus)) end,
}

operations.coalesce = {
  from = same, order = "kept", args = function() return { pick { 1, 2, 5, 20 } } end,
  apply = function(args, dataset) return dataset:coalesce(args[1]) end,
  model = function(_, rows) return rows end,
}

local function greater(x, y) return x > y or (x ~= x and y == y) end

-- Stable, in the order of `key`, NaN last.
local function stably(rows, key, descending)
  local places = {}
  for i, row in ipairs(rows) do places[i] = { row = row, key = key(row), i = i } end
  table.sort(places, function(a, b)
    if descending and greater(a.key, b.key) or not descending and greater(b.key, a.key) then return true end
    return not greater(a.key, b.key) and not greater(b.key, a.key) and a.i < b.i
  end)
  local out = {}
  for i, place in ipairs(places) do out[i] = place.row end
  return out
end

local function sort_args()
  return { descending = rows_of.int(0, 1) == 1, partitions = pick { 1, 2, 5, 16 } }
end

-- Among equal values the first are taken, so the order must be known.
operations.top_by_key = {
  from = { pairs = "tables" }, order = "used",
  args = function() return { pick { 1, 2, 5 }, pick { 3, 7 }, pick { partitions(), {} } } end,
  apply = function(args, dataset)
    local m = args[2]
    return dataset:top_by_key(args[1], function(v) return v % m end, args[3])
  end,
  model = function(args, rows)
    return by_key(rows, function(values)
      local items, out = {}, {}
      for i, value in ipairs(values) do items[i] = { value } end
      items = stably(items, function(item) return item[1] % args[2] end, true)
      for i = 1, math.min(args[1], #items) do out[i] = items[i][1] end
      return out
    end)
  end,
}

operations.sort = {
  from = { number = "number", text = "text" }, order = "made", args = sort_args,
  apply = function(args, dataset) return dataset:sort(args) end,
  model = function(args, rows) return stably(rows, function(row) return row[1] end, args.descending) end,
}

-- Equal keys retain the order of the rows, so the order must be known.
operations.sort_by = {
  from = { number = "number", text = "text", pairs = "pairs" }, order = "needed", args = sort_args,
  apply = function(args, dataset) return dataset:sort_by(function(a) return #text(a) end, args) end,
  model = function(args, rows) return stably(rows, function(row) return #text(row[1]) end, args.descending) end,
}

operations.sort_by_key = {
  from = { number = "tables" }, order = "needed", args = sort_args,
  apply = function(args, dataset) return dataset:map(function(x) return x % 4, { x } end):sort_by_key(args) end,
  model = function(args, rows)
    local pairs_of = each(rows, function(row) return { row[1] % 4, { row[1] } } end)
    return stably(pairs_of, function(row) return row[1] end, args.descending)
  end,
}

local function numbered(_, rows)
  local i = 0
  return each(rows, function(row)
    i = i + 1
    return { as_value(row), i }
  end)
end

operations.zip_with_index = {
  from = { number = "any", text = "any", pairs = "any", tables = "any" }, order = "needed",
  apply = function(_, dataset) return dataset:zip_with_index() end,
  model = numbered,
}

operations.prefix_sum = {
  from = { number = "number" }, order = "needed",
  apply = function(_, dataset) return dataset:prefix_sum() end,
  model = function(_, rows)
    local sum = 0
    return each(rows, function(row)
      sum = sum + row[1]
      return { sum }
    end)
  end,
}

operations.window = {
  from = { number = "any", text = "any", pairs = "any" }, order = "needed",
  args = function() return { pick { 1, 2, 3, 10, 100 } } end,
  apply = function(args, dataset) return dataset:window(args[1]) end,
  model = function(args, rows)
    local out, n = {}, args[1]
    for i = n, #rows do
      local window = {}
      for k = 1, n do window[k] = as_value(rows[i - n + k]) end
      out[#out + 1] = { window }
    end
    return out
  end,
}

-- Zips rows with their numbers: both sides must have the same number of rows.
operations.zip = {
  from = { number = "any", text = "any", pairs = "any" }, order = "needed",
  apply = function(_, dataset) return dataset:zip(dataset:zip_with_index():coalesce(2):values()) end,
  model = numbered,
}

require("mapreduce_model_stays")(operations, same)

return operations
