-- Every collective on tensors and values against a plain model: all ranks draw the same random calls and the inputs of
-- all ranks, call, and compare. An error names the seed and the call.
-- case: run 20 within: 120 at: rehearsal:{1,2,3,4,5,6,7,9}
-- case: SEED 20 within: 120 at: threads:{2,3,8} isolate:{2,5,9}
-- deep: SEED 40 within: 120 at: hosts:3x{1,2,3}
local actor = require "actor"
local co, tensor = actor.collective, actor.tensor
local n, me = actor.size, actor.rank
local seed = tonumber((...)) or actor.seed
local rounds = tonumber((select(2, ...))) or 60
local rng = actor.rng(seed)

local sizes = { 0, 1, 2, 3, 7, 64, 1000, 1025, 9999, 100003 }
local combine = {
  sum = function(a, b) return a + b end,
  mean = function(a, b) return a + b end,
  min = function(a, b) return a:minimum(b) end,
  max = function(a, b) return a:maximum(b) end,
  prod = function(a, b) return a * b end,
}
local ops = { "sum", "mean", "min", "max", "prod" }

local function pick(list) return list[rng:int(1, #list)] end

local function equal(a, b)
  if a.dtype ~= b.dtype or a.ndim ~= b.ndim then return false end
  for d = 1, a.ndim do
    if a.shape[d] ~= b.shape[d] then return false end
  end
  return a:hash() == b:hash()
end

-- Whole numbers, so that no algorithm rounds; small enough that products stay exact too.
local function draw(shape, dtype)
  local count = 1
  for _, size in ipairs(shape) do count = count * size end
  local values = tensor.zeros({ count }, { dtype = dtype })
  local data = values:data()
  for i = 0, count - 1 do data[i] = rng:int(-2, 2) end
  return #shape == 0 and values:reshape(1):select(1, 1) or values:reshape(unpack(shape))
end

local function rows_shape(rows) return rng:int(1, 2) == 1 and { rows } or { rows, rng:int(1, 3) } end

local function fold(inputs, op)
  local total = inputs[1]:clone()
  for r = 2, n do total = combine[op](total, inputs[r]) end
  return op == "mean" and n > 1 and total / n or total
end

-- The share of rank r (from 0) among the rows.
local function part(t, r)
  local d = t.shape[1]
  local first = r * math.floor(d / n) + math.min(r, d % n)
  return t:narrow(1, first + 1, math.floor(d / n) + (r < d % n and 1 or 0))
end

local function stack(parts)
  local rows = 0
  for _, p in ipairs(parts) do rows = rows + p.shape[1] end
  local shape = parts[1].shape
  shape[1] = rows
  local out, at = tensor.empty(shape, { dtype = parts[1].dtype }), 1
  for _, p in ipairs(parts) do
    if p.shape[1] > 0 then out:narrow(1, at, p.shape[1]):copy_(p) end
    at = at + p.shape[1]
  end
  return out
end

local function options_of(algorithms)
  local options = { reproducible = rng:int(1, 4) == 1 or nil }
  if rng:int(1, 2) == 1 then options.algorithm = pick(algorithms) end
  return options
end

-- All ranks' inputs, of one shape or (with `uneven`) with different numbers of rows.
local function inputs_of(uneven)
  local dtype, shape = pick { "float32", "float64" }, rows_shape(pick(sizes))
  local inputs = {}
  for r = 1, n do
    if uneven then shape[1] = pick(sizes) end
    inputs[r] = draw(shape, dtype)
  end
  return inputs
end

local calls = {}

function calls.barrier() return co.barrier() == true end

function calls.allreduce()
  local inputs, op = inputs_of(), pick(ops)
  local mine = inputs[me + 1]
  local before = mine:clone()
  local options = options_of { "star", "ring", "recursive_doubling", "halving_doubling", "ordered", "hierarchical" }
  local how = rng:int(1, 4)
  if how == 2 then options.out = mine * 0 end
  -- Some ranks pass no options, others irrelevant options: it is the same call.
  if next(options) == nil then options = me % 2 == how % 2 and { timeout = 1000 } or nil end
  if how == 4 and mine.ndim == 2 then mine = mine:transpose(1, 2):clone():transpose(1, 2) end
  local got = co.allreduce(mine, op, options)
  local right = equal(got, fold(inputs, op)) and equal(mine, before)
  if how == 2 then right = right and equal(options.out, got) end
  if how == 3 then
    co.allreduce(mine, op, { inplace = true })
    right = right and equal(mine, got)
  end
  return right
end

function calls.scalar()
  local inputs = {}
  for r = 1, n do inputs[r] = draw({}, "float64") end
  local got = co.allreduce(inputs[me + 1])
  local all = co.allgather(inputs[me + 1])
  local sum = 0
  for r = 1, n do
    sum = sum + inputs[r]:item()
    if all:get(r) ~= inputs[r]:item() then return false end
  end
  return got.ndim == 0 and got:item() == sum and all.size == n
end

function calls.view()
  local inputs = {}
  for r = 1, n do inputs[r] = draw({ 40, 30 }, "float32"):transpose(1, 2):narrow(1, 3, 20) end
  return equal(co.allreduce(inputs[me + 1]), fold(inputs, "sum"))
end

function calls.allreduce_function()
  local inputs = inputs_of()
  local got = co.allreduce(inputs[me + 1], function(a, b) return a * 2 + b end)
  local total = inputs[1]
  for r = 2, n do total = total * 2 + inputs[r] end
  return equal(got, total)
end

function calls.reduce()
  local inputs, op, root = inputs_of(), pick(ops), rng:int(0, n - 1)
  local got = co.reduce(inputs[me + 1], op, root, options_of { "star", "tree", "chain", "ordered" })
  if me ~= root then return got == true end
  return equal(got, fold(inputs, op))
end

function calls.reduce_scatter()
  local inputs, op = inputs_of(), pick(ops)
  local got = co.reduce_scatter(inputs[me + 1], op, options_of { "star", "ring", "ordered" })
  return equal(got, part(fold(inputs, op), me))
end

function calls.broadcast()
  local inputs, root = inputs_of(true), rng:int(0, n - 1)
  local got = co.broadcast(me == root and inputs[root + 1] or nil, root, options_of { "star", "tree", "chain", "hierarchical" })
  return equal(got, inputs[root + 1])
end

function calls.allgather()
  local inputs = inputs_of(true)
  return equal(co.allgather(inputs[me + 1]), stack(inputs))
end

function calls.gather()
  local inputs, root = inputs_of(true), rng:int(0, n - 1)
  local got = co.gather(inputs[me + 1], root)
  if me ~= root then return got == true end
  return equal(got, stack(inputs))
end

function calls.scatter()
  local inputs, root = inputs_of(true), rng:int(0, n - 1)
  local got = co.scatter(me == root and inputs[root + 1] or nil, root)
  return equal(got, part(inputs[root + 1], me))
end

function calls.alltoall()
  local inputs, parts = inputs_of(true), {}
  for r = 1, n do parts[r] = part(inputs[r], me) end
  return equal(co.alltoall(inputs[me + 1]), stack(parts))
end

function calls.values()
  local words = { "a", "bb", { 1, 2, x = { "deep" } }, true, 3.5, ("long "):rep(9000) }
  local from = {}
  for r = 1, n do from[r] = pick(words) end
  local got = co.allgather(from[me + 1])
  local dealt = {}
  for r = 1, n do dealt[r] = { me, r, from[me + 1] } end
  local taken = co.alltoall(dealt)
  local given = co.broadcast(me == n - 1 and { from, tensor.ones { 3, 2 } } or nil, n - 1)
  local root = rng:int(0, n - 1)
  local listed = co.gather(tensor.full({ me }, me), root, { list = true })
  local share = co.scatter(me == root and from or nil, root)
  for r = 1, n do
    if actor.hash(got[r]) ~= actor.hash(from[r]) then return false end
    if actor.hash(taken[r]) ~= actor.hash { r - 1, me + 1, from[r] } then return false end
    if me == root and not equal(listed[r], tensor.full({ r - 1 }, r - 1)) then return false end
  end
  if me ~= root and listed ~= true or actor.hash(share) ~= actor.hash(from[me + 1]) then return false end
  return actor.hash(given[1]) == actor.hash(from) and given[2]:get(3, 2) == 1
end

-- A function as operation on values other than tensors; texts show that it combines in rank order.
function calls.function_of_values()
  local words, root = {}, rng:int(0, n - 1)
  for r = 1, n do words[r] = ("%d,"):format(rng:int(0, 99)) end
  local function join(a, b) return a .. b end
  local all = table.concat(words)
  local one = co.reduce(words[me + 1], join, root)
  return co.allreduce(words[me + 1], join) == all and one == (me ~= root or all)
end

-- The same, but each rank gets its share of the result: rows of a tensor, or the element of its rank.
function calls.function_scattered()
  local inputs = inputs_of()
  local sum = co.reduce_scatter(inputs[me + 1], function(a, b) return a + b end)
  local lists = co.reduce_scatter({ me }, function(a, b)
    local both = {}
    for _, list in ipairs { a, b } do
      for _, rank in ipairs(list) do both[#both + 1] = rank end
    end
    return both
  end)
  return equal(sum, part(fold(inputs, "sum"), me)) and lists == me
end

-- Results written into a tensor of the caller.
function calls.into()
  local inputs, root = inputs_of(), rng:int(0, n - 1)
  local mine, sum = inputs[me + 1], fold(inputs, "sum")
  local whole, own = mine * 0, part(mine, me) * 0
  co.reduce(mine, "sum", root, { out = whole })
  local right = equal(whole, me == root and sum or mine * 0)
  co.reduce_scatter(mine, "sum", { out = own })
  right = right and equal(own, part(sum, me))
  co.scatter(me == root and mine or nil, root, { out = own })
  right = right and equal(own, part(inputs[root + 1], me))
  local rows = stack(inputs) * 0
  co.allgather(mine, { out = rows })
  right = right and equal(rows, stack(inputs))
  -- The target is a view of a larger tensor.
  local place = rows:narrow(1, 1, mine.shape[1])
  co.allreduce(mine, "sum", { out = place })
  right = right and equal(rows:narrow(1, 1, mine.shape[1]), sum)
  co.broadcast(mine, root, { inplace = true })
  return right and equal(mine, inputs[root + 1])
end

function calls.group()
  -- A group of every other rank; the remaining ranks do something else meanwhile.
  local ranks, name = {}, "odd " .. rng:int(1, 1000000000)
  for r = 1, n - 1, 2 do ranks[#ranks + 1] = r end
  if #ranks == 0 or me % 2 == 0 then return true end
  local group = co.group(name, ranks)
  local got = group:allgather(tensor.full({ 1 }, me))
  local sum = group:allreduce(tensor.full({ 70000 }, me), "sum")
  local want = 0
  for i, r in ipairs(ranks) do
    if got:get(i) ~= r then return false end
    want = want + r
  end
  return group:rank() == (me - 1) / 2 and group:size() == #ranks and sum:get(1) == want and sum:get(70000) == want
end

-- Each function starts an asynchronous call, and returns it with the expected result.
local asynchronous = {
  function(inputs) return co.allreduce(inputs[me + 1], "max", { async = true }), fold(inputs, "max") end,
  function(inputs, root)
    return co.broadcast(me == root and inputs[root + 1] or nil, root, { async = true }), inputs[root + 1]
  end,
  function(inputs) return co.allgather(inputs[me + 1], { async = true }), stack(inputs) end,
  function(inputs)
    return co.reduce_scatter(inputs[me + 1], "sum", { async = true }), part(fold(inputs, "sum"), me)
  end,
  function() return co.barrier { async = true }, true end,
  function(inputs, root)
    return co.reduce(inputs[me + 1], "min", root, { async = true }), me ~= root or fold(inputs, "min")
  end,
  function(inputs, root) return co.gather(inputs[me + 1], root, { async = true }), me ~= root or stack(inputs) end,
  function(inputs, root)
    return co.scatter(me == root and inputs[root + 1] or nil, root, { async = true }), part(inputs[root + 1], me)
  end,
  function(inputs)
    local parts = {}
    for r = 1, n do parts[r] = part(inputs[r], me) end
    return co.alltoall(inputs[me + 1], { async = true }), stack(parts)
  end,
}

-- Several calls at a time; each rank waits for them in its own order.
function calls.async()
  local pending, wanted = {}, {}
  local others = actor.rng(seed, me + 1)
  for i = 1, 6 do
    local inputs, kind, root = inputs_of(), rng:int(1, #asynchronous), rng:int(0, n - 1)
    pending[i], wanted[i] = asynchronous[kind](inputs, root)
  end
  for _ = 1, 6 do
    local i = others:int(1, #pending)
    local one, want = table.remove(pending, i), table.remove(wanted, i)
    if others:int(1, 2) == 1 then
      while not one:test() do end
    end
    local got = one:wait()
    if want == true then
      if got ~= true then return false end
    elseif not equal(got, want) or one:wait() ~= got then
      return false
    end
  end
  return true
end

local names = {}
for name in actor.pairs(calls) do names[#names + 1] = name end

for round = 1, rounds do
  local name = round <= #names and names[round] or pick(names)
  local fine, right = pcall(calls[name])
  if not fine or not right then
    error(("seed %s, round %d, %s on rank %d of %d: %s"):format(seed, round, name, me, n, fine and "wrong" or right))
  end
end
co.barrier()
