--- pairs and next: correct in compiled code too, unlike LuaJIT's own loop.

local five = { 1, 2, 3, 4, 5 }
local table_of_five = { a = five, b = five, c = five, d = five, e = five }

local function some_loop()
  for _ = 1, 100 do end
end

test("nested loops over pairs visit every element", function()
  local short = 0
  for _ = 1, 20000 do
    some_loop()
    local count = 0
    for _, values in pairs(table_of_five) do
      for _ in pairs(values) do end
      count = count + 1
    end
    if count ~= 5 then short = short + 1 end
  end
  equal(short, 0)
end)

test("nested loops over next visit every element", function()
  local short = 0
  for _ = 1, 20000 do
    some_loop()
    local count = 0
    for _, values in next, table_of_five do
      for _ in next, values do end
      count = count + 1
    end
    if count ~= 5 then short = short + 1 end
  end
  equal(short, 0)
end)

test("pairs visits all, next continues from a key, and entries may be removed during the loop", function()
  local seen = {}
  for key, value in pairs { 10, 20, x = 30, [false] = 40 } do seen[key] = value end
  equal(seen, { 10, 20, x = 30, [false] = 40 })
  equal(next({}), nil)
  equal({ next({ 5 }) }, { 1, 5 })
  equal(next({ 5 }, 1), nil)
  local left = { a = 1, b = 2, c = 3 }
  for key in pairs(left) do left[key] = nil end
  equal(left, {})
end)

test("an argument of another type is an error at the caller's line", function()
  raises(function()
    for _ in pairs(nil) do end
  end, "iteration_spec.lua:%d+: bad argument #1 to 'pairs' %(table expected, got nil%)$")
  raises(function()
    local key = next(1)
    return key
  end, "iteration_spec.lua:%d+: bad argument #1 to 'next' %(table expected, got number%)$")
end)
