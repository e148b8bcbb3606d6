-- Counts in nested loops over pairs, with number keys and values. LuaJIT's compiler could read such a value again
-- after a later step of an inner loop (bindings/vm/NOTES.md).
-- case: at: threads:24
local actor = require("actor")

-- By worker: the workers that it sends to, with their shares.
local function rows_of(kind, round, n)
  local rows = {}
  for id = 0, n - 1 do
    local out = {}
    if kind == "ring" and n > 2 then out[(id + 1) % n], out[(id - 1) % n] = 1 / 3, 1 / 3 end
    if kind == "ring" and n == 2 then out[1 - id] = 0.5 end
    if kind == "complete" then for other = 0, n - 1 do if other ~= id then out[other] = 1 / n end end end
    if kind == "one_peer" and n > 1 then out[(id + 2 ^ (round % math.ceil(math.log(n) / math.log(2)))) % n] = 0.5 end
    rows[id] = out
  end
  return rows
end

-- The number of groups of workers that some row connects.
local function groups_of(kind, rounds, n)
  local group, groups = {}, n
  for i = 0, n - 1 do group[i] = i end
  local function root(i)
    while group[i] ~= i do i = group[i] end
    return i
  end
  for round = 0, rounds - 1 do
    for i, row in pairs(rows_of(kind, round, n)) do
      for j, share in pairs(row) do
        local a, b = root(i), root(j)
        if share > 0 and a ~= b then group[a], groups = b, groups - 1 end
      end
    end
  end
  return groups
end

for _ = 1, 30 do
  jit.flush() -- compiles anew, with other random numbers
  for _, kind in ipairs { "ring", "complete", "one_peer" } do
    for _, n in ipairs { 1, 2, 3, 5, 8, 16 } do
      local groups = groups_of(kind, 5, n)
      assert(groups == 1, ("%s of %d: %d groups in rank %d"):format(kind, n, groups, actor.rank))
    end
  end
end
