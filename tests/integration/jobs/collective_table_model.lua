-- Random operations on random tables against a model: the tables of all ranks as plain Lua arrays.
--
--     actorhost -n 3 tests/integration/jobs/collective_table_model.lua SEED CASES, with "run" for the seed of the run
--
-- case: run 20 within: 60 at: rehearsal:{1,2,3,4,5,6,7,9}
-- case: 24 20 within: 60 at: threads:{3,8} isolate:{2,5}
-- case: 61 20 within: 60 at: hosts:3x2
--
-- All nodes draw the same random numbers, so each knows every rank's operations and data. After each operation every
-- rank compares its own tables with the model's.
local actor = require "actor"
local c, tensor = actor.collective, actor.tensor
local seed, cases = tonumber((select(1, ...))) or actor.seed, tonumber((select(2, ...))) or 50
local me, n = actor.rank, actor.size
local rng

local function pick(array) return array[rng:int(#array)] end

-- ---- values: an array of numbers in the model; in a table the representation depends on the kind ----

local kinds = {
  number = { size = 1, real = function(v) return v[1] end, plain = function(x) return { x } end },
  float64 = { size = 6, real = function(v) return tensor(v):reshape(2, 3):to("float64") end, plain = function(t) return t:flatten():totable() end },
  float32 = { size = 4, real = function(v) return tensor(v):to("float32") end, plain = function(t) return t:totable() end },
  empty = { size = 0, real = function() return tensor.zeros({ 0, 2 }) end, plain = function(t) assert(t.size == 0 and t.ndim == 2) return {} end },
  -- For function combiners only: the text shows the order of combination.
  text = { size = 1, real = function(v) return { text = v[1] } end, plain = function(x) return { x.text } end },
}

local elementwise = {
  sum = function(a, b) return a + b end,
  prod = function(a, b) return a * b end,
  min = math.min,
  max = math.max,
  text = function(a, b) return a .. b end,
}

-- The table's combiner function; it changes its argument, and no table may show this.
local function joined(a, b)
  a.text = a.text .. b.text
  return a
end

local function new_value(kind, combiner)
  local out = {}
  for i = 1, kinds[kind].size do
    if kind == "text" then
      out[i] = string.char(rng:int(97, 122))
    else
      local factors = kind == "float32" and { 1, -1 } or { 1, -1, 2 } -- powers soon exceed a float
      out[i] = combiner == "prod" and pick(factors) or rng:int(-50, 50)
    end
  end
  return out
end

-- ---- the model: cells {values, weight} by id for each rank ----

local function combine(combiner, a, b)
  if not a then return b end
  local out = {}
  for i = 1, #a.values do
    if combiner == "mean" then
      out[i] = (a.values[i] * a.weight + b.values[i] * b.weight) / (a.weight + b.weight)
    else
      out[i] = elementwise[combiner](a.values[i], b.values[i])
    end
  end
  return { values = out, weight = a.weight + b.weight }
end

local function merge(combiner, into, from)
  for id, cell in pairs(from) do into[id] = combine(combiner, into[id], cell) end
  return into
end

local function everyone(combiner, tables)
  local all = {}
  for rank = 0, n - 1 do merge(combiner, all, tables[rank]) end
  return all
end

local function shallow(cells)
  local out = {}
  for id, cell in pairs(cells) do out[id] = cell end
  return out
end

-- ---- comparing ----

local function text_of(values)
  local out = {}
  for i, v in ipairs(values) do out[i] = tostring(v) end
  return "{" .. table.concat(out, " ") .. "}"
end

local function near(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do
    if a[i] ~= b[i] and not (type(a[i]) == "number" and math.abs(a[i] - b[i]) <= 1e-5 * math.max(1, math.abs(b[i]))) then return false end
  end
  return true
end

local function compare(case, name, tbl, model)
  local count = 0
  for id, cell in pairs(model) do
    count = count + 1
    local value = tbl:get(id)
    local got = value ~= nil and kinds[case.kind].plain(value)
    local same = got and (case.combiner == "mean" and near(got, cell.values) or text_of(got) == text_of(cell.values))
    if not same then
      error(("%s: id %d of %s is %s, the model has %s"):format(case.text(), id, name, got and text_of(got) or "nil", text_of(cell.values)), 0)
    end
  end
  if count ~= tbl:size() then
    error(("%s: %s has %d partitions (%s), the model %d"):format(case.text(), name, tbl:size(), table.concat(tbl:ids(), " "), count), 0)
  end
end

-- ---- operations: each does its work on the model of all ranks, and on this rank's tables ----

local operations = {}

-- Some ranks change some of their partitions, each in its own way.
local function change(case, how)
  for rank = 0, n - 1 do
    for _ = 1, rng:int(0, case.most) do
      local which, id = pick { "t", "t", "g" }, rng:int(-3, case.ids)
      local cell = { values = new_value(case.kind, case.combiner), weight = 1 }
      how(case, rank, which, id, cell)
    end
  end
end

function operations.add(case)
  change(case, function(_, rank, which, id, cell)
    local tables = case.model[which]
    tables[rank][id] = combine(case.combiner, tables[rank][id], cell)
    if rank == me then case[which]:add(id, kinds[case.kind].real(cell.values)) end
  end)
end

function operations.set(case)
  change(case, function(_, rank, which, id, cell)
    case.model[which][rank][id] = cell
    if rank == me then case[which]:set(id, kinds[case.kind].real(cell.values)) end
  end)
end

function operations.remove(case)
  change(case, function(_, rank, which, id)
    case.model[which][rank][id] = nil
    if rank == me then case[which]:remove(id) end
  end)
end

function operations.broadcast(case)
  local root, tables = rng:below(n), case.model.t
  for rank = 0, n - 1 do tables[rank] = shallow(tables[root]) end
  assert(case.t:broadcast(root) == case.t)
end

function operations.reduce(case)
  local root = rng:below(n)
  case.model.t[root] = everyone(case.combiner, case.model.t)
  assert(case.t:reduce(root) == case.t)
end

local function to_all(case)
  local all = everyone(case.combiner, case.model.t)
  for rank = 0, n - 1 do case.model.t[rank] = shallow(all) end
end

function operations.allreduce(case)
  to_all(case)
  assert(case.t:allreduce() == case.t)
end

-- All ranks have the same ids with tensors of equal shape, like a model's parameters.
function operations.allreduce_alike(case)
  local ids = {}
  for _ = 1, rng:int(1, 6) do ids[#ids + 1] = rng:int(-3, case.ids + 3) end
  for rank = 0, n - 1 do
    case.model.t[rank] = {}
    if rank == me then case.t:clear() end
    for _, id in ipairs(ids) do
      local cell = { values = new_value(case.kind, case.combiner), weight = 1 }
      case.model.t[rank][id] = cell
      if rank == me then case.t:set(id, kinds[case.kind].real(cell.values)) end
    end
  end
  to_all(case)
  assert(case.t:allreduce() == case.t)
end

function operations.allgather(case)
  to_all(case)
  assert(case.t:allgather() == case.t)
end

-- Sends each rank's partitions to their owners, which combine them with the partitions of `into`.
local function deal(case, tables, into)
  for rank = 0, n - 1 do
    for id, cell in pairs(tables[rank]) do
      local owner = case.partitioner(id, n)
      into[owner][id] = combine(case.combiner, into[owner][id], cell)
    end
  end
end

function operations.regroup(case)
  local into = {}
  for rank = 0, n - 1 do into[rank] = {} end
  deal(case, case.model.t, into)
  case.model.t = into
  assert(case.t:regroup() == case.t)
end

function operations.push(case)
  deal(case, case.model.t, case.model.g)
  assert(case.t:push(case.g) == case.t)
end

function operations.pull(case)
  local missing, after = false, {}
  for rank = 0, n - 1 do
    after[rank] = {}
    for id, cell in pairs(case.model.t[rank]) do
      local found = case.model.g[case.partitioner(id, n)][id]
      after[rank][id] = found or cell
      missing = missing or not found
    end
  end
  local skip = rng:below(2) == 1
  if missing and not skip then
    local fine, message = pcall(case.t.pull, case.t, case.g)
    assert(not fine and message:find("it has no partition"), message)
  else
    case.model.t = after
    assert(case.t:pull(case.g, { missing = skip and "skip" or nil }) == case.t)
  end
end

function operations.rotate(case)
  local targets = {}
  for rank = 0, n - 1 do targets[rank + 1] = rank end
  rng:shuffle(targets)
  local how, permutation = pick { "next", "array", "map", "function", "bad" }, nil
  if how == "next" then
    for rank = 0, n - 1 do targets[rank + 1] = (rank + 1) % n end
  elseif how == "array" then
    permutation = targets
  elseif how == "map" then
    permutation = {}
    for rank = 0, n - 1 do permutation[rank] = targets[rank + 1] end
  elseif how == "function" then
    permutation = function(rank) return targets[rank + 1] end
  else
    local bad = pick { function() return 0 end, function(rank) return rank + 1 end, { [0] = 0.5 }, { "a" }, {} }
    if n == 1 and type(bad) == "function" and bad(0) == 0 then return end
    local fine, message = pcall(case.t.rotate, case.t, bad)
    assert(not fine and message:find("bad argument 'permutation'"), message)
    return
  end
  local after = {}
  for rank = 0, n - 1 do after[targets[rank + 1]] = case.model.t[rank] end
  case.model.t = after
  assert(case.t:rotate(permutation) == case.t)
end

function operations.clear(case)
  local rank = rng:below(n)
  case.model.t[rank] = {}
  if rank == me then case.t:clear() end
end

-- Continues with a copy; the original is changed in place, and the copy must not show this.
function operations.copy(case)
  local old = case.t
  case.t = old:copy()
  for _, value in old:pairs() do
    if tensor.is_tensor(value) then value:fill_(999) end
  end
  old:clear()
end

-- ---- the run ----

local names = {}
for name in actor.pairs(operations) do names[#names + 1] = name end

local partitioners = {
  function(id, ranks) return id % ranks end,
  function(_, ranks) return ranks - 1 end,
  function(id, ranks) return math.abs(id * 7) % ranks end,
}

local function run_case(number)
  rng = actor.rng(seed, number)
  local case = { combiner = pick { "sum", "mean", "min", "max", "prod", "text" }, ids = pick { 0, 3, 40 }, most = pick { 0, 2, 10 }, done = {} }
  case.kind = case.combiner == "text" and "text" or pick { "number", "float32", "float64", "empty" }
  if case.combiner == "mean" and case.kind == "float32" then case.kind = "float64" end
  case.partitioner = pick(partitioners)
  function case.text()
    return ("seed %d, case %d, rank %d of %d (%s of %s): %s"):format(seed, number, me, n, case.combiner, case.kind, table.concat(case.done, " "))
  end
  local options = { combiner = case.combiner == "text" and joined or case.combiner, partitioner = case.partitioner }
  case.t, case.g = c.table(options), c.table(options)
  case.model = { t = {}, g = {} }
  for rank = 0, n - 1 do case.model.t[rank], case.model.g[rank] = {}, {} end
  for i = 1, rng:int(2, 14) do
    local name = i % 3 == 1 and "add" or pick(names)
    case.done[#case.done + 1] = name
    local fine, message = pcall(operations[name], case)
    if not fine then error(case.text() .. ": " .. tostring(message), 0) end
    compare(case, "the table", case.t, case.model.t[me])
    compare(case, "the global table", case.g, case.model.g[me])
  end
end

for number = 1, cases do run_case(number) end
c.barrier()
