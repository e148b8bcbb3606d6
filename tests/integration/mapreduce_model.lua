-- Random pipelines over random rows against a model: the same operations on plain Lua arrays.
--
--     actorhost -n 3 tests/integration/mapreduce_model.lua SEED CASES
--
-- A case is a tree: operations with their arguments over sources with their rows. One that goes wrong is made smaller as
-- long as it still does, and printed with its seed. All nodes make the same cases, since they have the same random numbers.
local actor = require "actor"
local mr = require "actor.mapreduce"

local seed, cases = tonumber((select(1, ...))) or 1, tonumber((select(2, ...))) or 100

-- ---- rows ----

-- In the model a row is {a} or, as a pair, {a, b}.

local function text(value)
  if type(value) == "number" and value == 0 then return "0" end
  if type(value) ~= "table" then return type(value):sub(1, 1) .. tostring(value) end
  local out, last = {}, 0
  for i in pairs(value) do last = math.max(last, i) end
  for i = 1, last do out[i] = value[i] == nil and "-" or text(value[i]) end
  return "{" .. table.concat(out, ",") .. "}"
end

local function as_value(row) return row[2] ~= nil and row or row[1] end

local function by_text(a, b) return text(a) < text(b) end

local function sorted(values)
  local copy = {}
  for i, value in ipairs(values) do copy[i] = value end
  table.sort(copy, by_text)
  return copy
end

-- One text of what came out; in order where the order is known.
local function texts(values, ordered)
  local out = {}
  for i, value in ipairs(values) do out[i] = text(value) end
  if not ordered then table.sort(out) end
  return table.concat(out, " ")
end

-- ---- random numbers and sources ----

local rng -- of the present case

local function pick(array) return array[rng:int(1, #array)] end

local make_value = {
  number = function() return rng:int(-8, 8) / pick { 1, 1, 2 } end,
  text = function() return pick { "", "a", "b", "ab", "Ab", "longer than eight bytes", "a\0b", "\255" } .. pick { "", "", "x" } end,
}

local make_row
function make_row(kind)
  if kind == "boxes" then return { make_row("pairs") } end
  if kind == "pairs" then
    local key = pick { make_value.number, make_value.number, make_value.text, function() return rng:int(0, 1) == 1 end }
    return { key(), rng:int(-20, 20) }
  end
  return { make_value[kind]() }
end

local function make_source()
  local kind = pick { "number", "text", "pairs", "pairs", "boxes" }
  local rows = {}
  for i = 1, pick { 0, 1, 2, 5, 17, 60, 400 } do rows[i] = make_row(kind) end
  return { op = "source", kind = kind, rows = rows, partitions = pick { 1, 2, 3, 7 }, inputs = {} }
end

-- ---- operations ----

-- By name: `from`, the kinds of rows that it takes, {kind of its result by that}; `inputs` if more than one; `args(kind)`;
-- `apply(args, dataset, ...)`; `model(args, rows, ...)`; `order`: "kept" where the result is in order if the rows were,
-- "needed" where they have to be, "made" where it always is.
--
-- Kinds: "number", "text"; "pairs" of a key and a number; "boxes": tables of two that keyed operations take for such pairs;
-- "tables": pairs of a key and a table; "any": rows of which nothing is known.
local operations = {}

local function each(rows, fn)
  local out = {}
  for _, row in ipairs(rows) do
    for _, new in ipairs({ fn(row) }) do out[#out + 1] = new end
  end
  return out
end

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

-- Keys in the order in which they come first, and the values of each.
local function grouped(rows, groups, order)
  groups, order = groups or {}, order or {}
  for _, row in ipairs(rows) do
    if not groups[row[1]] then
      groups[row[1]] = {}
      order[#order + 1] = row[1]
    end
    table.insert(groups[row[1]], row[2])
  end
  return groups, order
end

local function by_key(rows, combine)
  local groups, order = grouped(rows)
  local out = {}
  for i, key in ipairs(order) do out[i] = { key, combine(groups[key]) } end
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
  sum = mr.sum, max = mr.max,
  plus = function(a, b) return a + b end,
}

operations.reduce_by_key = {
  from = keyed,
  args = function() return { pick { "sum", "max", "plus" }, pick { partitions(), {} } } end,
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
      if not left[row[1]] and right[row[1]] then
        order[#order + 1] = row[1]
        left[row[1]] = {}
      end
    end
    local out = {}
    for i, key in ipairs(order) do out[i] = { key, { sorted(left[key]), sorted(right[key] or {}) } } end
    return out
  end,
}

local function model_join(keep_left, keep_right)
  return function(_, a, b)
    local left, right = grouped(a), grouped(b)
    local out = {}
    for _, row in ipairs(a) do
      for _, other in ipairs(right[row[1]] or {}) do out[#out + 1] = { row[1], { row[2], other } } end
      if keep_left and not right[row[1]] then out[#out + 1] = { row[1], { row[2] } } end
    end
    for _, row in ipairs(keep_right and b or {}) do
      if not left[row[1]] then out[#out + 1] = { row[1], { nil, row[2] } } end
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

-- One of each row that `wanted` wants.
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

operations.coalesce = {
  from = same, order = "kept", args = function() return { pick { 1, 2, 5, 20 } } end,
  apply = function(args, dataset) return dataset:coalesce(args[1]) end,
  model = function(_, rows) return rows end,
}

-- Stable, by `less` of what `key` gives.
local function stably(rows, key, descending)
  local places = {}
  for i, row in ipairs(rows) do places[i] = { row = row, key = key(row), i = i } end
  table.sort(places, function(a, b)
    if a.key == b.key then return a.i < b.i end
    if descending then return b.key < a.key end
    return a.key < b.key
  end)
  local out = {}
  for i, place in ipairs(places) do out[i] = place.row end
  return out
end

local function sort_args()
  return { descending = rng:int(0, 1) == 1, partitions = pick { 1, 2, 5, 16 } }
end

operations.sort = {
  from = { number = "number", text = "text" }, order = "made", args = sort_args,
  apply = function(args, dataset) return dataset:sort(args) end,
  model = function(args, rows) return stably(rows, function(row) return row[1] end, args.descending) end,
}

-- Where equal keys come in the order of the rows it has to be known.
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

operations.zip_with_index = {
  from = { number = "any", text = "any", pairs = "any", tables = "any" }, order = "needed",
  apply = function(_, dataset) return dataset:zip_with_index() end,
  model = function(_, rows)
    local i = 0
    return each(rows, function(row)
      i = i + 1
      return { as_value(row), i }
    end)
  end,
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

-- With the numbers of its rows: there have to be as many on both sides.
operations.zip = {
  from = { number = "any", text = "any", pairs = "any" }, order = "needed",
  apply = function(_, dataset)
    return dataset:zip(dataset:zip_with_index():coalesce(2):values())
  end,
  model = function(_, rows)
    local i = 0
    return each(rows, function(row)
      i = i + 1
      return { as_value(row), i }
    end)
  end,
}

operations.cache = {
  from = same, order = "kept",
  apply = function(_, dataset)
    dataset:cache():count()
    return dataset
  end,
  model = function(_, rows) return rows end,
}

-- ---- cases ----

-- Those that take boxes for pairs.
local of_pairs = {}
for name, operation in pairs(operations) do
  of_pairs[name] = operation.from == keyed or operation.from == to_tables or name == "group_by_key" or name == "partition_by"
    or name == "keys" or name == "values" or name == "flatmap_values"
end

-- What rows a case has, of which kind, and whether their order is known; nothing where it cannot be.
local function expect(case, seen)
  if seen[case] then return unpack(seen[case]) end
  local rows, kind, ordered
  if case.op == "source" then
    rows, kind, ordered = case.rows, case.kind, true
  else
    local operation, inputs, all_ordered = operations[case.op], {}, true
    local first
    for i, input in ipairs(case.inputs) do
      local input_rows, input_kind, input_ordered = expect(input, seen)
      if input_kind == "boxes" and of_pairs[case.op] then
        input_rows, input_kind = each(input_rows, function(row) return row[1] end), "pairs"
      end
      if not input_rows or not operation.from[input_kind] or (first and first ~= input_kind) then return nil end
      if operation.most and #input_rows > operation.most then return nil end
      first, all_ordered, inputs[i] = input_kind, all_ordered and input_ordered, input_rows
    end
    if operation.order == "needed" and not all_ordered then return nil end
    rows, kind = operation.model(case.args, unpack(inputs)), operation.from[first]
    ordered = operation.order == "made" or operation.order == "needed" or (operation.order == "kept" and all_ordered)
    if #rows > 20000 then return nil end
  end
  seen[case] = { rows, kind, ordered }
  return rows, kind, ordered
end

local function build(case, seen)
  if seen[case] then return seen[case] end
  local dataset
  if case.op == "source" then
    local array = {}
    for i, row in ipairs(case.rows) do array[i] = as_value(row) end
    dataset = mr.parallelize(array, case.partitions)
    if case.kind == "pairs" then dataset = dataset:map(function(pair) return pair[1], pair[2] end) end
  else
    local inputs = {}
    for i, input in ipairs(case.inputs) do inputs[i] = build(input, seen) end
    dataset = operations[case.op].apply(case.args, unpack(inputs))
  end
  seen[case] = dataset
  return dataset
end

local function make_case(depth)
  if depth == 0 then return make_source() end
  local input = make_case(depth - 1)
  local op_names = {}
  for name in pairs(operations) do op_names[#op_names + 1] = name end
  table.sort(op_names)
  for _ = 1, 20 do
    local name = pick(op_names)
    local operation = operations[name]
    local case = { op = name, inputs = { input } }
    -- Another dataset, the same one, or one that both come from.
    if operation.inputs == 2 then
      case.inputs[2] = pick { make_case(pick { 0, 0, 1, depth - 1 }), input, input.inputs[1] or input }
    end
    case.args = operation.args and operation.args() or {}
    if expect(case, {}) then return case end
  end
  return input
end

-- ---- what goes wrong ----

local function text_of(case)
  if case.op == "source" then
    return ("%s(%d){%s}"):format(case.kind, case.partitions, texts(case.rows, true))
  end
  local out, args = {}, {}
  for i, input in ipairs(case.inputs) do out[i] = text_of(input) end
  for key, value in actor.pairs(case.args) do args[#args + 1] = tostring(key) .. "=" .. (type(value) == "table" and "{..}" or tostring(value)) end
  return ("%s[%s](%s)"):format(case.op, table.concat(args, ","), table.concat(out, ", "))
end

-- Nothing when a case gives what it should; else what was wrong.
local function fault(case)
  local rows, _, ordered = expect(case, {})
  if not rows then return nil end
  local values = {}
  for i, row in ipairs(rows) do values[i] = as_value(row) end
  local wanted = texts(values, ordered)
  local ok, result = pcall(function() return build(case, {}):collect() end)
  if not ok then return "error: " .. tostring(result) end
  local got = texts(result, ordered)
  if got ~= wanted then return ("got    %s\nwanted %s"):format(got, wanted) end
end

local function copy_of(case, old, new)
  if case == old then return new end
  local copy = { inputs = {} }
  for key, value in pairs(case) do
    if key ~= "inputs" then copy[key] = value end
  end
  for i, input in ipairs(case.inputs) do copy.inputs[i] = copy_of(input, old, new) end
  return copy
end

local function nodes_of(case, out)
  out[#out + 1] = case
  for _, input in ipairs(case.inputs) do nodes_of(input, out) end
  return out
end

-- A part of a source's rows.
local function part(source, from, to)
  local rows = {}
  for i = from, to do rows[#rows + 1] = source.rows[i] end
  return { op = "source", kind = source.kind, rows = rows, partitions = source.partitions, inputs = {} }
end

-- Cases that are a little smaller.
local function smaller(case)
  local out = {}
  for _, node in ipairs(nodes_of(case, {})) do
    for _, input in ipairs(node.inputs) do out[#out + 1] = copy_of(case, node, input) end
    local n = node.rows and #node.rows or 0
    if n > 1 then
      out[#out + 1] = copy_of(case, node, part(node, 1, math.floor(n / 2)))
      out[#out + 1] = copy_of(case, node, part(node, math.floor(n / 2) + 1, n))
    end
    for i = 1, n <= 8 and n or 0 do
      local rest = part(node, 1, n)
      table.remove(rest.rows, i)
      out[#out + 1] = copy_of(case, node, rest)
    end
  end
  return out
end

local function shrunk(case, what)
  for _ = 1, 60 do
    local less
    for _, candidate in ipairs(smaller(case)) do
      local still = fault(candidate)
      if still then
        less, what = candidate, still
        break
      end
    end
    if not less then break end
    case = less
  end
  return case, what
end

-- ---- the run ----

local used = {}
for i = 1, cases do
  rng = actor.rng(seed, i)
  local case = make_case(pick { 1, 2, 3, 4, 5 })
  for _, node in ipairs(nodes_of(case, {})) do used[node.op] = (used[node.op] or 0) + 1 end
  local what = fault(case)
  if what then
    case, what = shrunk(case, what)
    error(("seed %d, case %d: %s\n%s"):format(seed, i, text_of(case), what), 0)
  end
end

local never = {}
for name in actor.pairs(operations) do
  if not used[name] then never[#never + 1] = name end
end
print(("%d cases are as the model says; seed %d; never used: %s"):format(cases, seed, #never > 0 and table.concat(never, " ") or "none"))
