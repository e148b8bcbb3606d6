--- The rounds of `graph.base` (base-(k+1): Takezawa, Sato, Bao, Niwa, Yamada, Beyond exponential graph, NeurIPS 2023;
--- definition: the authors' code).

-- The power of `base` that is the largest not above n.
local function power_below(n, base)
  local power = 1
  while power * base <= n do power = power * base end
  return power
end

-- The factors of n from 2 to k + 1, in the order of the rounds; nil if another factor remains.
local function factors_of(n, k)
  local list = {}
  for f = k + 1, 2, -1 do
    while n % f == 0 do
      table.insert(list, 1, f)
      n = n / f
    end
  end
  return n == 1 and list or nil
end

-- A round: weights[i][j], symmetric; `ids` maps 1 .. n to workers.
local function add_clique(weights, members)
  for _, i in ipairs(members) do
    for _, j in ipairs(members) do
      if i ~= j then weights[i][j] = 1 / #members end
    end
  end
end

-- Hyper-hypercube: the rounds' cliques over `ids`; nil if a prime factor of their number exceeds k + 1.
local function hypercube(ids, k)
  local factors, rounds, stride = factors_of(#ids, k), {}, 1
  if not factors then return nil end
  for t, f in ipairs(factors) do
    rounds[t] = {}
    for i = 0, #ids - 1 do
      if math.floor(i / stride) % f == 0 then
        local clique = {}
        for d = 0, f - 1 do clique[d + 1] = ids[i + d * stride + 1] end
        table.insert(rounds[t], clique)
      end
    end
    stride = stride * f
  end
  return rounds
end

local function slice(list, first, last)
  local out = {}
  for i = first, last do out[#out + 1] = list[i] end
  return out
end

-- The parts of `ids` with sizes a * (k + 1) ^ p, a <= k, and the equal subsets of each part.
local function parts_of(ids, k)
  local parts, power, at = {}, power_below(#ids, k + 1), 1
  while at <= #ids do
    local a = math.floor((#ids - at + 1) / power)
    if a > 0 then
      local part = { ids = slice(ids, at, at + a * power - 1), subsets = {} }
      for s = 1, a do part.subsets[s] = slice(ids, at + (s - 1) * power, at + s * power - 1) end
      parts[#parts + 1] = part
      at = at + a * power
    end
    power = power / (k + 1)
  end
  return parts
end

-- The rounds of the simple base-(k+1) graph over `ids`: functions that add edges to weights.
local function simple_base(ids, k)
  local cube = hypercube(ids, k)
  local rounds = {}
  if cube then
    for t, cliques in ipairs(cube) do
      rounds[t] = function(weights) for _, clique in ipairs(cliques) do add_clique(weights, clique) end end
    end
    return rounds
  end
  local parts = parts_of(ids, k)
  local count, first, within = #parts, {}, {}
  for l, part in ipairs(parts) do
    first[l], within[l], part.used = hypercube(part.ids, k), {}, 0
    for s, subset in ipairs(part.subsets) do within[l][s] = hypercube(subset, k) end
  end
  -- Averages within part l: over the whole part if it is small, else within its subsets.
  local function mix_within(weights, l)
    local part = parts[l]
    local whole = #part.ids < k + 1
    local length = whole and #first[l] or #within[l][1]
    if length > 0 then
      local t = part.used % length + 1
      for s = 1, whole and 1 or #within[l] do
        for _, clique in ipairs((whole and first[l] or within[l][s])[t]) do add_clique(weights, clique) end
      end
    end
    part.used = part.used + 1
  end
  local function add_round(m)
    local weights_of = {}
    local function edge(i, j, share) weights_of[#weights_of + 1] = { i, j, share } end
    local recorded = setmetatable({}, { __index = function(t, i)
      local row = setmetatable({}, { __newindex = function(_, j, share) edge(i, j, share) end })
      rawset(t, i, row)
      return row
    end })
    if m < #first[1] then
      for l = 1, count do
        local t = #first[l] > 0 and m % #first[l] + 1
        for _, clique in ipairs(t and first[l][t] or {}) do add_clique(recorded, clique) end
      end
    else
      local q = m - #first[1] + 1 -- the part that the later parts exchange with
      local unused, later = {}, 0
      if q <= count then
        for s, subset in ipairs(parts[q].subsets) do unused[s] = { unpack(subset) } end
        for l = q, count do later = later + #parts[l].ids end
      end
      for l = count, 1, -1 do
        if q < l then
          local share = #parts[q].ids / later / #unused
          for _, i in ipairs(parts[l].ids) do
            for s = 1, #unused do
              local j = table.remove(unused[s])
              edge(i, j, share)
              edge(j, i, share)
            end
          end
        elseif q ~= l or l == count then
          mix_within(recorded, l)
        end
      end
    end
    rounds[#rounds + 1] = function(weights)
      for _, e in ipairs(weights_of) do weights[e[1]][e[2]] = e[3] end
    end
  end
  local m = 0
  repeat
    add_round(m)
    m = m + 1
  until parts[1].used == #within[1][1]
  return rounds
end

-- The rounds of base-(k+1) for n workers, each {[i] = {[j] = share}}.
local function base_rounds(n, k)
  local ids, product = {}, 1
  for i = 0, n - 1 do ids[i + 1] = i end
  for q = 2, k + 1 do product = product * power_below(n, q) end
  local a, b = n, product
  while b > 0 do a, b = b, a % b end
  local groups, size = a, n / a -- gcd groups
  local plain = simple_base(ids, k)
  local inner, cubes = {}, {}
  for g = 0, groups - 1 do inner[g + 1] = simple_base(slice(ids, g * size + 1, (g + 1) * size), k) end
  for j = 1, size do
    local members = {}
    for g = 0, groups - 1 do members[g + 1] = ids[g * size + j] end
    cubes[j] = hypercube(members, k)
  end
  local functions = plain
  if #inner[1] + #cubes[1] <= #plain then
    functions = {}
    for t = 1, #inner[1] do
      functions[t] = function(weights) for _, group in ipairs(inner) do group[t](weights) end end
    end
    for t = 1, #cubes[1] do
      functions[#functions + 1] = function(weights)
        for _, cube in ipairs(cubes) do
          for _, clique in ipairs(cube[t]) do add_clique(weights, clique) end
        end
      end
    end
  end
  local rounds = {}
  for t, fill in ipairs(functions) do
    local weights = {}
    for i = 0, n - 1 do weights[i] = {} end
    fill(weights)
    rounds[t] = weights
  end
  if #rounds == 0 then rounds[1] = { [0] = {} } end
  return rounds
end

return base_rounds
