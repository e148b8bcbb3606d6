-- Random pipelines over random rows against a model: the same operations on plain Lua arrays
-- (mapreduce_model_operations.lua). Prints a line for each case with a hash of its rows in order, which is equal for
-- any number of nodes, threads, processes or hosts. Sometimes a plan differs on one rank and must be refused.
--
--     actorhost -n 3 tests/integration/jobs/mapreduce_model.lua SEED CASES [FIRST] [shuffled]
--
-- SEED: a number, or "run" for the seed of the run. "shuffled": `pairs` uses a new order each time. A case is a tree of
-- operations with arguments over sources with rows. A failing case is reduced while it still fails, and printed with
-- its seed. All nodes draw the same random cases.
-- case: run 19 at: rehearsal:{1,3,8}
-- case: run 19 flags: --codes 0,3 --faults kill=2,within=50ms at: rehearsal:5
-- case: run 19 flags: --codes 0,3 --faults kill=1,join=2,after=770ms,within=50ms at: rehearsal:3x2
local actor = require "actor"
local mr = require "actor.mapreduce"
local operations = require "mapreduce_model_operations"
local rows_of = require "mapreduce_model_rows"

local seed, cases = tonumber((select(1, ...))) or actor.seed, tonumber((select(2, ...))) or 100
local first = tonumber((select(3, ...))) or 1
if select(select("#", ...), ...) == "shuffled" then require "shuffled_pairs" end
local MISFIT_EACH = 20 -- one mismatch in this many cases

local as_value, pick, texts = rows_of.as_value, rows_of.pick, rows_of.texts

-- ---- cases ----

-- Whether the operation treats boxes as pairs.
local function is_of_pairs(operation) return operation.from.pairs and not operation.from.number end

-- The expected rows of a case, their kind, and whether their order is known; nil for an impossible case.
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
      if input_kind == "boxes" and is_of_pairs(operation) then
        input_rows, input_kind = rows_of.each(input_rows, function(row) return row[1] end), "pairs"
      end
      if not input_rows or not operation.from[input_kind] or (first and first ~= input_kind) then return nil end
      if operation.most and #input_rows > operation.most then return nil end
      first, all_ordered, inputs[i] = input_kind, all_ordered and input_ordered, input_rows
    end
    if (operation.order == "needed" or operation.order == "used") and not all_ordered then return nil end
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
  if depth == 0 then return rows_of.make_source() end
  local input = make_case(depth - 1)
  local op_names = {}
  for name in pairs(operations) do op_names[#op_names + 1] = name end
  table.sort(op_names)
  for _ = 1, 20 do
    local name = pick(op_names)
    local operation = operations[name]
    local case = { op = name, inputs = { input } }
    -- Another dataset, the same dataset, or a common ancestor.
    if operation.inputs == 2 then
      case.inputs[2] = pick { make_case(pick { 0, 0, 1, depth - 1 }), input, input.inputs[1] or input }
    end
    case.args = operation.args and operation.args() or {}
    if expect(case, {}) then return case end
  end
  return input
end

-- ---- failures ----

local function text_of(case)
  if case.op == "source" then
    return ("%s(%d){%s}"):format(case.kind, case.partitions, texts(case.rows, true))
  end
  local out, args = {}, {}
  for i, input in ipairs(case.inputs) do out[i] = text_of(input) end
  for key, value in actor.pairs(case.args) do args[#args + 1] = tostring(key) .. "=" .. (type(value) == "table" and "{..}" or tostring(value)) end
  return ("%s[%s](%s)"):format(case.op, table.concat(args, ","), table.concat(out, ", "))
end

-- Results that depend on the partitions and order of the rows.
local follow_ups = {
  parts = function(dataset)
    return dataset:map_partition(function(rows, i)
      local n = 0
      for _ in rows do n = n + 1 end
      return i, n
    end):collect()
  end,
  sample = function(dataset) return dataset:sample(0.5, { seed = 7 }):collect() end,
  take = function(dataset) return dataset:take(3) end,
  sum = function(dataset) return { ("%.17g"):format(dataset:map(function(a) return #rows_of.text(a) / 7 end):sum()) } end,
  stdev = function(dataset) return { ("%.17g"):format(dataset:map(function(a) return #rows_of.text(a) / 7 end):stdev() or 0) } end,
  histogram = function(dataset)
    return { dataset:map(function(a) return #rows_of.text(a) end):histogram(rows_of.pick { 1, 3, { 1, 4, 9 } }) }
  end,
  again = function(dataset) return dataset:collect() end,
}

-- Returns nil and a hash of the rows in order if the result is right; else a description of the fault.
local function fault(case, follow_up)
  local rows, _, ordered = expect(case, {})
  if not rows then return nil end
  local values = {}
  for i, row in ipairs(rows) do values[i] = as_value(row) end
  local wanted = texts(values, ordered)
  local ok, result, seen = pcall(function()
    local dataset = build(case, {})
    return dataset:collect(), follow_up and follow_ups[follow_up](dataset)
  end)
  if not ok then return "error: " .. tostring(result) end
  local got = texts(result, ordered)
  if got ~= wanted then return ("got    %s\nwanted %s"):format(got, wanted) end
  if follow_up == "again" and rows_of.exactly(seen) ~= rows_of.exactly(result) then
    return ("two actions differ: %s and %s"):format(rows_of.exactly(result), rows_of.exactly(seen))
  end
  return nil, actor.codec.hash({ rows_of.exactly(result), follow_up and rows_of.exactly(seen) })
end

-- Copies a case; a part used twice stays a single part in the copy.
local function copy_of(case, old, new, done)
  if case == old then return new end
  done = done or {}
  if done[case] then return done[case] end
  local copy = { inputs = {} }
  done[case] = copy
  for key, value in pairs(case) do
    if key ~= "inputs" then copy[key] = value end
  end
  for i, input in ipairs(case.inputs) do copy.inputs[i] = copy_of(input, old, new, done) end
  return copy
end

local function nodes_of(case, out)
  out[#out + 1] = case
  for _, input in ipairs(case.inputs) do nodes_of(input, out) end
  return out
end

-- A range of a source's rows.
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

-- ---- plans that differ ----

local acting = { cache = true, persist = true, unpersist = true, checkpoint = true, csv = true, jsonl = true }

-- Changes one row of a source; returns nil if no source has rows.
local function changed(case)
  for _, node in ipairs(nodes_of(case, {})) do
    local row = node.rows and node.rows[1]
    if row then
      local copy = part(node, 1, #node.rows)
      copy.rows[1] = row[2] and { row[1], row[2] + 1 } or type(row[1]) == "table" and { { row[1][1], row[1][2] + 1 } }
        or type(row[1]) == "number" and { row[1] == 0 and 1 or 0 } or { row[1] .. "?" }
      return copy_of(case, node, copy)
    end
  end
end

local misfits = {
  row = function(case, odd) return build(odd and changed(case) or case, {}):count() end,
  top = function(case, odd) return build(case, {}):top(odd and 2 or 3, function() return 1 end) end,
  filter = function(case, odd)
    local fn = odd and function() return true end or function() return false end -- on one line
    return build(case, {}):filter(fn):count()
  end,
}

-- Runs a case that differs on one rank. A refused rank writes a file; at least one rank must be refused.
local function disagree(i, case)
  for _, node in ipairs(nodes_of(case, {})) do
    if acting[node.op] then return 0 end -- these would have different numbers of actions on the ranks
  end
  local odd = rows_of.int(0, actor.size - 1)
  local kind = pick { "row", "top", "filter" }
  if kind == "row" and not changed(case) then kind = "filter" end
  local ok, message = pcall(misfits[kind], case, actor.rank == odd)
  if not ok then
    message = tostring(message)
    local _, ranks = message:gsub("rank %d+ ?[^,;]- at mapreduce_model", "")
    assert(message:find("nodes disagree on what to compute", 1, true) and message:find("rank " .. odd, 1, true) and ranks == 2,
      message)
    assert(io.open(("refused-%d.%d"):format(i, actor.rank), "w")):close()
  end
  return 1
end

-- ---- the run ----

local used, refused = {}, 0
local function print_line(...)
  if actor.rank == 0 then print(...) end
end

for i = first, first + cases - 1 do
  rows_of.begin(seed, i)
  local case = make_case(pick { 1, 2, 3, 4 })
  local follow_up = pick { "parts", "sample", "take", "sum", "stdev", "histogram", "again" }
  for _, node in ipairs(nodes_of(case, {})) do used[node.op] = (used[node.op] or 0) + 1 end
  local what, hash = fault(case, follow_up)
  if what then
    case, what = shrunk(case, what)
    error(("seed %d, case %d: %s\n%s"):format(seed, i, text_of(case), what), 0)
  end
  print_line(i .. " " .. hash .. (cases == 1 and " " .. text_of(case) or ""))
  if i % MISFIT_EACH == 0 and actor.size > 1 then refused = refused + disagree(i, case) end
end

local never = {}
for name in actor.pairs(operations) do
  if not used[name] then never[#never + 1] = name end
end
print_line(("%d cases are as the model says; seed %d; never used: %s"):format(cases, seed, #never > 0 and table.concat(never, " ") or "none"))
print_line(("%d plans were to be refused"):format(refused))
