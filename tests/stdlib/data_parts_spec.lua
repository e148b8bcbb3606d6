--- Parts of a set: by rank, and held out.
local data = require("actor.data")
local tensor = require("actor.tensor")

local function listed(positions)
  local out = {}
  for i = 1, #positions do out[i] = positions[i] end
  return out
end

-- Marks each position as seen; raises an error for a repeated position.
local function note(seen, positions)
  for i = 1, #positions do
    assert(not seen[positions[i]], "twice")
    seen[positions[i]] = true
  end
end

test("the parts of all ranks have each sample once and differ by one at most", function()
  for _, size in ipairs { 1, 2, 3, 5, 8, 64 } do
    for _, n in ipairs { 0, 1, size - 1, size, size + 1, 1000 } do
      for _, seed in ipairs { false, 0, 7 } do
        local seen, least, most = {}, math.huge, 0
        for rank = 0, size - 1 do
          local part = data.split(n, { rank = rank, size = size, seed = seed or nil })
          note(seen, part)
          least, most = math.min(least, #part), math.max(most, #part)
        end
        for i = 1, n do assert(seen[i]) end
        assert(next(seen, n > 0 and n or nil) == nil or n > 0)
        assert(most - least <= 1)
      end
    end
  end
end)

test("without a seed neighbours stay together, and equal seeds give equal parts", function()
  equal(listed(data.split(7, { rank = 1, size = 2 })), { 4, 5, 6, 7 })
  local a, b = data.split(100, { rank = 1, size = 3, seed = 4 }), data.split(100, { rank = 1, size = 3, seed = 5 })
  equal(listed(a), listed(data.split(100, { rank = 1, size = 3, seed = 4 })))
  assert(table.concat(listed(a), " ") ~= table.concat(listed(b), " "))
end)

test("a share is held out, and both parts can be split further", function()
  for _, n in ipairs { 0, 1, 2, 99, 100 } do
    for _, fraction in ipairs { 0, 0.1, 0.5, 1 } do
      local train, held = data.holdout(n, { fraction = fraction, seed = 3 })
      equal({ #train, #held }, { n - math.floor(n * fraction + 0.5), math.floor(n * fraction + 0.5) })
      local seen = {}
      for rank = 0, 2 do note(seen, data.split(train, { rank = rank, size = 3, seed = 1 })) end
      note(seen, held)
      for i = 1, n do assert(seen[i]) end
    end
  end
  local train, held = data.holdout(5, { fraction = 0.4 })
  equal({ listed(train), listed(held) }, { { 1, 2, 3 }, { 4, 5 } })
end)

test("sets, rows, tensors and tables with n are split", function()
  local set = data.digits({ n = 9 })
  for _, source in ipairs { set, set.images, tensor.zeros { 9, 2 }, data.blobs { n = 9 }, 9, data.range(1, 9) } do
    equal(listed(data.split(source, { rank = 2, size = 3 })), { 7, 8, 9 })
  end
end)

test("batches can be made of a part", function()
  local part = data.split(10, { rank = 1, size = 2, seed = 1 })
  local plan = data.batches { of = part, size = 2, epochs = 2, seed = 3 }
  equal({ plan.n, plan:count() }, { 5, 6 })
  for epoch = 0, 1 do
    local seen, mine = {}, {}
    for number = 3 * epoch + 1, 3 * epoch + 3 do note(seen, plan:positions(number)) end
    note(mine, part)
    equal(seen, mine)
  end
  equal(listed(data.batches({ of = part, size = 5, shuffle = false }):positions(1)), listed(part))
  equal(plan:restore(plan:state()):count(), 6)
end)

test("wrong parts are errors at the user's line", function()
  local function wrong(pattern, body) raises(body, "^data_parts_spec.lua:%d+: .*" .. pattern) end
  wrong("bad argument 'rank' to data.split: expected an integer from 0 to 1, got 2", function() data.split(5, { rank = 2, size = 2 }) end)
  wrong("bad argument 'size' to data.split: expected an integer of at least 1, got 0", function() data.split(5, { rank = 0, size = 0 }) end)
  wrong("bad argument 'source' to data.split: expected an integer from 0", function() data.split(-1, { rank = 0, size = 1 }) end)
  wrong("bad argument 'source' to data.split: expected a number of samples, a set", function() data.split("x", { rank = 0, size = 1 }) end)
  wrong("bad argument 'source' to data.split: expected a number of samples", function() data.split(tensor.new(3), { rank = 0, size = 1 }) end)
  wrong("bad argument 'seed' to data.split", function() data.split(5, { rank = 0, size = 1, seed = -1 }) end)
  wrong("unknown option 'sede' to data.split.*did you mean 'seed'", function() data.split(5, { rank = 0, size = 1, sede = 1 }) end)
  wrong("bad argument 'fraction' to data.holdout: expected a number from 0 to 1, got 1.5", function() data.holdout(5, { fraction = 1.5 }) end)
  wrong("bad argument 'fraction' to data.holdout: expected number, got nil", function() data.holdout(5, {}) end)
  wrong("bad argument 'of' to data.batches: expected positions", function() data.batches { of = tensor.zeros(3), size = 1 } end)
  wrong("data.batches: give n= or of=, not both", function() data.batches { of = data.range(1, 2), n = 2, size = 1 } end)
end)
