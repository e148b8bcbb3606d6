--- Tensors: rows by their positions.
local tensor = require("actor.tensor")
local rng = require("actor.rng")

local function numbers(...) return tensor.new({ ... }) end

test("take returns the rows at positions, of vectors, matrices and views", function()
  equal(numbers(10, 20, 30):take(numbers(3, 1, 3)):totable(), { 30, 10, 30 })
  local t = tensor.new({ { 1, 2, 3 }, { 4, 5, 6 } }, { dtype = "float64" })
  equal(t:take(numbers(2, 2)):totable(), { { 4, 5, 6 }, { 4, 5, 6 } })
  equal(t:transpose():take(numbers(3)):totable(), { { 3, 6 } })
  equal(t:take(tensor.zeros(0)).shape, { 0, 3 })
  equal(tensor.zeros({ 4, 0 }):take(numbers(4)).shape, { 1, 0 })
end)

test("index_add_ adds rows at their positions, also into a view", function()
  equal(tensor.zeros(2):index_add_(numbers(1, 2, 1), numbers(5, 6, 7)):totable(), { 12, 6 })
  local t = tensor.ones({ 2, 3 })
  t:transpose():index_add_(numbers(3, 3, 1), tensor.new({ { 1, 2 }, { 3, 4 }, { 5, 6 } }))
  equal(t:totable(), { { 6, 1, 5 }, { 7, 1, 7 } })
  equal(tensor.ones(2):index_add_(tensor.zeros(0), tensor.zeros(0)):totable(), { 1, 1 })
end)

for _, dtype in ipairs { "float32", "float64" } do
  test("the nearest rows and their sums agree with a loop, " .. dtype, function()
    local random, options = rng(scratch_seed or 5), { dtype = dtype }
    for dims = 1, 6 do
      local points = tensor.normal({ 50, dims }, { seed = random:int(1e6), dtype = dtype })
      local rows = tensor.normal({ 7, dims }, { seed = random:int(1e6), dtype = dtype })
      rows:select(1, 7):copy_(rows:select(1, 2)) -- the first of equal rows counts
      local nearest = points:nearest(rows)
      local sums, wanted = tensor.zeros({ 7, dims }, options):index_add_(nearest, points), tensor.zeros({ 7, dims }, options)
      for i = 1, 50 do
        local best, least = nil, math.huge
        for j = 1, 7 do
          local apart = ((points:select(1, i) - rows:select(1, j)) ^ 2):sum()
          if apart < least then best, least = j, apart end
        end
        equal(nearest:get(i), best)
        wanted:select(1, best):add_(points:select(1, i))
      end
      equal(sums:allclose(wanted), true)
      equal(rows:take(nearest).shape, { 50, dims })
    end
  end)
end

test("invalid positions, and points without a nearest row, are errors", function()
  local t = tensor.zeros({ 3, 2 })
  local function wrong(pattern, body) raises(body, "^tensor_indexed_spec.lua:%d+: .*" .. pattern) end
  for text, value in pairs { ["0"] = 0, ["4"] = 4, ["1.5"] = 1.5, ["nan"] = 0 / 0, ["inf"] = 1 / 0 } do
    wrong("'index' to tensor.take: expected whole numbers from 1 to 3, got %-?" .. text .. " at position 2", function()
      t:take(numbers(1, value))
    end)
  end
  wrong("tensor.index_add_: expected whole numbers from 1 to 3, got 9 at position 1", function()
    t:index_add_(numbers(9), tensor.zeros({ 1, 2 }))
  end)
  wrong("tensor.take: expected 1 dimension, got %(3, 2%)", function() t:take(t) end)
  wrong("tensor.index_add_: shapes %(3, 2%) and %(2, 2%) do not fit", function() t:index_add_(numbers(1), tensor.zeros({ 2, 2 })) end)
  wrong("tensor.index_add_: float32 and float64 mixed", function()
    t:index_add_(numbers(1), tensor.zeros({ 1, 2 }, { dtype = "float64" }))
  end)
  wrong("tensor.nearest: shapes %(3, 2%) and %(3%) do not fit", function() t:nearest(numbers(1, 2, 3)) end)
  wrong("tensor.nearest: no row is nearest to point 2", function() tensor.new({ { 1 }, { 0 / 0 } }):nearest(numbers(1):view(1, 1)) end)
  wrong("tensor.nearest: no row is nearest to point 1", function() t:nearest(tensor.zeros({ 0, 2 })) end)
  equal(tensor.zeros({ 0, 2 }):nearest(t).shape, { 0 })
end)
