--- Batches that a thread gathers ahead.
local data = require("actor.data")
local tensor = require("actor.tensor")

local function same(a, b) assert(a.dtype == b.dtype and tensor.allclose(a, b, { rtol = 0, atol = 0 })) end

local rounds = spec_mode == "collector" and 1 or 3

test("a loader returns the same batches as data.batch, in order", function()
  local set = data.digits({ n = 50, seed = 3 })
  for _, dtype in ipairs { "float32", "float64" } do
    local wide = tensor.arange(50 * 6, { dtype = dtype }):view(50, 3, 2)
    local turned = tensor.normal({ 4, 50 }, { dtype = dtype, seed = 2 }):transpose()
    local steps = tensor.arange(100, { dtype = dtype }):slice(1, 1, 99, 2)
    for _, sources in ipairs { { set.images, set.labels }, { wide, turned, set.labels }, { steps } } do
      for ahead = 1, rounds do
        local plan = data.batches { n = 50, size = 8, epochs = 2, seed = ahead }
        local number = 0
        for x, y, z in data.loader { set = sources, plan = plan, ahead = ahead } do
          number = number + 1
          for i, part in ipairs { x, y, z } do same(part, data.batch(sources[i], plan:positions(number))) end
          holds(select("#", x, y, z), ">=", #sources)
        end
        equal(number, plan:count())
      end
    end
  end
  local plan, count = data.batches { n = 50, size = 50 }, 0
  for x, y in data.loader { set = set, plan = plan } do
    count = count + 1
    local a, b = set:batch(plan:positions(1))
    same(x, a)
    same(y, b)
  end
  equal(count, 1)
end)

test("a function can supply positions of any number, and a plan begins at the given batch", function()
  local t, lists = tensor.arange(5), { { 1 }, {}, { 5, 5, 2 }, data.range(1, 5), { 3 } }
  local i = 0
  local loader = data.loader { set = t, ahead = 4, positions = function()
    i = i + 1
    return lists[i]
  end }
  for k = 1, 5 do same(loader:next(), data.batch(t, lists[k])) end
  equal(loader:next(), nil)
  equal(loader(), nil)
  local plan = data.batches { n = 5, size = 2, shuffle = false }
  local first = data.loader({ set = t, plan = plan, first = 3 })
  same(first:next(), tensor.new { 4 })
  equal(first:next(), nil)
  local none = data.loader { set = tensor.zeros { 0, 3 }, positions = function() return {} end }
  equal(none:next().shape, { 0, 3 })
end)

test("a loader allocates one batch more than `ahead`, however long it runs", function()
  local t = tensor.zeros({ 100, 1000 })
  local loader = data.loader { set = t, ahead = 2, plan = data.batches { n = 100, size = 10, epochs = math.huge } }
  local seen, count = {}, 0
  for _ = 1, 100 do
    local key = tostring(loader:next().data_)
    if not seen[key] then count = count + 1 end
    seen[key] = true
  end
  equal(count, 3)
  loader:close()
  loader:close()
  equal(loader:next(), nil)
end)

test("a dropped loader ends its thread in any state", function()
  local t = tensor.normal({ 2000, 500 }, { seed = 1 })
  for _ = 1, 20 * rounds do
    local loader = data.loader { set = t, ahead = 5, plan = data.batches { n = 2000, size = 500, epochs = 100 } }
    loader:next()
    loader = nil
    collectgarbage()
  end
  for x in data.loader { set = t, plan = data.batches { n = 2000, size = 100 } } do
    if x.shape[1] == 100 then break end
  end
  local fine = pcall(function()
    for _ in data.loader { set = t, plan = data.batches { n = 2000, size = 100 } } do error("in the script") end
  end)
  equal(fine, false)
end)

test("an error in the thread or the positions is raised at the call", function()
  local t = tensor.zeros { 4, 2 }
  local function wrong(pattern, body) raises(body, "^data_loader_spec.lua:%d+: .*" .. pattern) end
  local lists, i = { { 1 }, { 2, 5 } }, 0
  local loader = data.loader { set = { t, t }, positions = function()
    i = i + 1
    return lists[i]
  end }
  loader:next()
  wrong("bad argument 'positions' to data.loader: position 5 at index 2 is outside 1 .. 4", function() loader:next() end)
  equal(loader:next(), nil)
  wrong("my own", function() data.loader({ set = t, positions = function() error("my own") end }):next() end)
  wrong("bad argument 'positions%[1%]' to data.loader: expected a position", function()
    data.loader({ set = t, positions = function() return { 0 } end }):next()
  end)
  local plan = data.batches { n = 4, size = 2 }
  wrong("data.loader: set%[1%] has 4 rows, set%[2%] has 3", function() data.loader { set = { t, tensor.zeros(3) }, plan = plan } end)
  wrong("bad argument 'set' to data.loader: expected a set, rows, a tensor", function() data.loader { set = {}, plan = plan } end)
  wrong("bad argument 'set%[1%]' to data.loader: expected rows or a tensor of rows", function() data.loader { set = tensor.new(3), plan = plan } end)
  wrong("give plan= or positions=$", function() data.loader { set = t } end)
  wrong("give plan= or positions=, not both", function() data.loader { set = t, plan = plan, positions = print } end)
  wrong("bad argument 'ahead' to data.loader: expected an integer from 1", function() data.loader { set = t, plan = plan, ahead = 0 } end)
  wrong("unknown option 'aheda' to data.loader .*did you mean 'ahead'", function() data.loader { set = t, plan = plan, aheda = 1 } end)
  wrong("there is no loader:nxet; did you mean loader:next", function() return data.loader({ set = t, plan = plan }):nxet() end)
end)
