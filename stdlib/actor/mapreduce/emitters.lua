--- The text of narrow operations in a stage's loop (compile.lua). Each emitter takes the number of its operation in the
--- stage, the names of the present row's variables, and `rest`. `rest` returns the text of the following operations for
--- the names of a row. Lines that call a user's function end in a mark for faults.lua.
local emitters = {}

function emitters.map(i, a, b, rest)
  return ([[
    local aI, bI, cI = fI(A, B) --fI
    if aI == nil then nothing(bI) end --fI
    if cI ~= nil then too_many() end --fI
    REST]]):gsub("%u+", { I = i, A = a, B = b, REST = rest("a" .. i, "b" .. i) })
end

function emitters.filter(i, a, b, rest)
  return ([[
    if fI(A, B) then --fI
      REST
    end]]):gsub("%u+", { I = i, A = a, B = b, REST = rest(a, b) })
end

-- Passes the results of a function, row by row, to one local function, which the JIT inlines. This is text and not a
-- function, since a trace ends where a loop's function returns.
local spread = [[
    local r1, r2, r3, r4, more = four(fI(ARGUMENTS)) --fI
    if type(r1) == "function" then
      local matches = matches_of(r1, mI)
      if matches then
        local n = api.match(api.streams, matches)
        while n > 0 do
          for j = 0, n - 1 do matchedI(text_at(matches.bytes[j], matches.sizes[j])) end
          n = api.match(api.streams, matches)
        end
      else
        for x, y, z in r1, r2, r3 do --fI
          if z ~= nil then too_many() end --fI
          nextI(x, y)
        end
      end
    elseif r2 == nil and type(r1) == "table" then
      local size = length(r1) --fI
      for j = 1, size do
        local item = r1[j]
        if item == nil then no_array(size) end --fI
        nextI(item)
      end
    else
      if r1 ~= nil then nextI(r1) end
      if r2 ~= nil then nextI(r2) end
      if r3 ~= nil then nextI(r3) end
      if r4 ~= nil then nextI(r4) end
      if more then each(nextI, more) end
    end]]

function emitters.flatmap(i, a, b)
  return (spread:gsub("%u+", { I = i, ARGUMENTS = a .. ", " .. b }))
end

function emitters.map_partition(i)
  return (spread:gsub("%u+", { I = i, ARGUMENTS = "rows, task" }))
end

function emitters.flatten(i, a, b)
  return ([[
    if type(A) ~= "table" or B ~= nil then no_table(A, B) end --fI
    local size = length(A) --fI
    for j = 1, size do
      local item = A[j]
      if item == nil then no_array(size) end --fI
      nextI(item)
    end]]):gsub("%u+", { I = i, A = a, B = b })
end

-- The number of samples of a row depends on the seed, the task and the number of earlier rows in this task.
function emitters.sample(i, a, b, rest)
  return ([[
    local nI = api.draw(fI, task, sI)
    sI = sI + 1
    for _ = 1, nI do
      REST
    end]]):gsub("%u+", { I = i, REST = rest(a, b) })
end

-- The key and the value of a pair; a table of two elements counts as a pair.
local pair_of = [[
    local kI, wI = A, B
    if wI == nil then kI, wI = as_pair(kI, wI) end --fI
]]

function emitters.keys(i, a, b, rest)
  return (pair_of .. "REST"):gsub("%u+", { I = i, A = a, B = b, REST = rest("k" .. i, "nil") })
end

function emitters.values(i, a, b, rest)
  return (pair_of .. "REST"):gsub("%u+", { I = i, A = a, B = b, REST = rest("w" .. i, "nil") })
end

function emitters.map_values(i, a, b, rest)
  return (pair_of .. [[
    local vI = one(fI(wI)) --fI
    if vI == nil then nothing() end --fI
    REST]]):gsub("%u+", { I = i, A = a, B = b, REST = rest("k" .. i, "v" .. i) })
end

function emitters.flatmap_values(i, a, b)
  local text = pair_of .. "    keyI = kI\n" .. spread
  return (text:gsub("%u+", { I = i, A = a, B = b, ARGUMENTS = "w" .. i }))
end

function emitters.key_by(i, a, b, rest)
  return ([[
    local kI, wI = one(fI(A, B)), as_value(A, B) --fI
    if kI == nil then nothing() end --fI
    REST]]):gsub("%u+", { I = i, A = a, B = b, REST = rest("k" .. i, "w" .. i) })
end

-- Selects the rows of output number fI, in the form of apply.lua: a pair is a negative number and a table.
function emitters.output(i, a, b, rest)
  return ([[
    if A == fI or A == -fI then
      local aI, bI = B, nil
      if A < 0 then aI, bI = B[1], B[2] end
      REST
    end]]):gsub("%u+", { I = i, A = a, B = b, REST = rest("a" .. i, "b" .. i) })
end

-- Operations that pass their rows to a local function with the operations after them.
local spreads = { flatmap = true, flatmap_values = true, flatten = true, map_partition = true }

return { by_op = emitters, spreads = spreads }
