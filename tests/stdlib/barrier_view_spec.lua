--- The interface of a rule of actor.barrier: the view, its helpers and its memory.
local barrier = require("actor.barrier")
local workers = require("barrier_cluster")

local cluster, passing = workers.cluster, workers.passing

-- The result of `inspect(view)` when worker 0 of workers at `steps` waits.
local function seen(steps, inspect, wrap)
  local found
  local rule = function(view)
    found = inspect(view)
    return true
  end
  passing(wrap and wrap(rule) or rule, steps, { 0 })
  return found
end

test("a view shows the waiting worker and the state of all workers", function()
  local progress = barrier.progress()
  progress:add(4, 2)
  progress:add(9, 7)
  progress:start(9, 10)
  progress:complete(9, 12)
  progress:start(9, 12)
  progress:pulled(9, 30)
  progress:suspect(4, true)
  progress:request(4, 11)
  local checked = false
  barrier.evaluator(function(view)
    equal(view.step, 2)
    equal(view.id, 4)
    equal(view.n, 2)
    equal(view.population, 2)
    equal(view.now, 13)
    equal(view.waited, 2)
    equal(#view.steps, 2)
    equal(view.steps[1], 2)
    equal(view.steps[2], 8)
    equal(view.busy[1], false)
    equal(view.busy[2], true)
    equal(view.alive[1], false)
    equal(view.alive[2], true)
    equal(view.pulled[2], 30)
    equal(view.durations[1], 0)
    equal(view.durations[2], 2)
    equal(view.averages[1], 0)
    equal(view.averages[2], 2)
    equal(view.started[2], 12)
    equal(view.duration, 0)
    equal(view.average, 0)
    equal(view.ids[1], 4)
    equal(view.ids[2], 9)
    checked = true
    return true
  end):poll(progress, 13)
  equal(checked, true)
end)

test("helpers agree between a view of all workers and a sample", function()
  local steps = { 5, 2, 9, 5, 7, 2 }
  local function helpers(view)
    local all = {}
    for _, q in ipairs { 0, 0.2, 0.5, 0.51, 1 } do all[#all + 1] = view:quantile(q) end
    for step = 1, 10 do all[#all + 1] = view:passed(step) end
    return table.concat({ view:min(), view:max(), view:behind(0), view:behind(3), view:passed(4.5),
      table.concat(all, ",") }, " ")
  end
  equal(seen(steps, helpers), "2 9 2 0 4 2,2,5,5,9,6,6,4,4,4,2,2,1,1,0")
  -- A polling sample of all workers but one reads its members one by one: compare with a plain count.
  seen(steps, function(view)
    for step = 0, 10 do
      local count = 0
      for i = 1, view.n do
        if view.steps[i] >= step then count = count + 1 end
      end
      equal(view:passed(step), count)
    end
    local sorted = {}
    for i = 1, view.n do sorted[i] = view.steps[i] end
    table.sort(sorted)
    equal(#sorted, 5)
    equal(view:min(), sorted[1])
    equal(view:max(), sorted[5])
    equal(view:quantile(0.6), sorted[3])
    return true
  end, function(rule) return barrier.sample(5, rule) end)
end)

test("the minimum clock of an empty view is infinite", function()
  seen({ 1, 2 }, function(view)
    equal(view:min(), math.huge)
    equal(view:max(), -math.huge)
    equal(view:quantile(0.5), math.huge)
    equal(view:passed(1), 0)
    equal(view:behind(0), 0)
    equal(view.n, 0)
    equal(view.population, 2)
    return true
  end, function(rule) return barrier.sample(0, rule) end)
end)

test("a wrong index or field of a view is an error that lists the valid ones", function()
  seen({ 1, 2, 3 }, function(view)
    raises(function() return view.steps[4] end, "view%.steps%[4%] is out of range: 3 workers are seen")
    raises(function() return view.busy[0] end, "view%.busy%[0%] is out of range")
    raises(function() return view.alive[1.5] end, "view%.alive%[1%.5%] is out of range")
    raises(function() return view.pulled[0 / 0] end, "view%.pulled%[%-?nan%] is out of range")
    raises(function() return view.started[4] end, "view%.started%[4%] is out of range")
    raises(function() return view.averages[0] end, "view%.averages%[0%] is out of range")
    raises(function() return view.ids[7] end, "view%.ids%[7%] is out of range")
    raises(function() return view.durations.mean end, "view%.durations has no field 'mean'")
    raises(function() view.steps[1] = 0 end, "cannot be changed")
    raises(function() return view.stepz end, "a view has no field 'stepz' %(it has .*steps.*%)")
    raises(function() view.mine = 1 end, "a view has no field 'mine'; a rule keeps its state in view.memory or view.shared")
    return true
  end)
end)

test("a stored view cannot be used after the rule returns", function()
  local kept, sampled
  local sampling = barrier.sample(1, function(view)
    sampled = view
    return true
  end)
  passing(function(view)
    kept = view
    return sampling(view)
  end, { 1, 2 }, { 0 })
  for _, view in ipairs { kept, sampled } do
    raises(function() return view.steps[1] end, "a view can be used only while its rule runs")
    raises(function() return view:behind(1) end, "only while its rule runs")
    raises(function() return view:passed(1) end, "only while its rule runs")
    raises(function() return view:quantile(0.5) end, "only while its rule runs")
    raises(function() return sampling(view) end, "only while its rule runs")
  end
end)

test("memory belongs to the waiting worker and lasts until its admission", function()
  local progress = cluster({ 1, 1 }, { 0, 1 })
  local counts = {}
  local evaluator = barrier.evaluator(function(view)
    view.memory.count = (view.memory.count or 0) + 1
    counts[view.id] = view.memory.count
    return view.id == 0 and view.memory.count == 3
  end)
  for now = 1, 3 do
    progress:suspect(1, now % 2 == 1) -- any event that makes the gate evaluate again
    evaluator:poll(progress, now)
  end
  equal(counts[0], 3)
  equal(counts[1], 3)
  progress:request(0, 4)
  evaluator:poll(progress, 4)
  equal(counts[0], 1)
  equal(counts[1], 3)
end)

test("all workers share the shared table, in samples too, until another rule is set", function()
  local progress = cluster({ 0, 0, 0 }, { 0, 1, 2 })
  local function count(view)
    view.shared.count = (view.shared.count or 0) + 1
    return true
  end
  local seen_counts = {}
  local counting = barrier.sample(2, function(view)
    count(view)
    seen_counts[#seen_counts + 1] = view.shared.count
    return true
  end)
  local evaluator = barrier.evaluator(counting)
  evaluator:poll(progress, 0)
  equal(seen_counts, { 1, 2, 3 })
  evaluator:set(counting)
  progress:request(0, 1)
  evaluator:poll(progress, 1)
  equal(seen_counts, { 1, 2, 3, 1 })
end)

test("each worker has its own random numbers, which depend only on the seed", function()
  local function draws(requesters, seed)
    local drawn = {}
    barrier.evaluator(function(view)
      drawn[view.id] = view.rng:below(2 ^ 40)
      return true
    end, seed):poll(cluster({ 0, 0, 0 }, requesters), 0)
    return drawn
  end
  local one, other, third = draws({ 0, 1, 2 }, 5), draws({ 2, 0, 1 }, 5), draws({ 0, 1, 2 }, 6)
  for id = 0, 2 do
    equal(one[id], other[id])
    equal(one[id] ~= third[id], true)
  end
  equal(one[0] ~= one[1], true)
end)

test("the docstring of each field of a view ends with a rule that uses the field", function()
  local text = require("actor.c.core").library_text("actor.barrier.view")
  local fields, examples = 0, 0
  for name, line in text:gmatch("%-%-%-@field ([%w_]+)(%C*)") do
    fields = fields + 1
    local example = line:match(": `([^`]+)`$")
    if example then
      examples = examples + 1
      assert(example:find("view." .. name, 1, true), name)
      local rule = assert(loadstring("return function(view) return " .. example .. " end"))()
      local called = false
      passing(function(view)
        called = true
        local passes = rule(view)
        equal(type(passes), "boolean")
        return passes
      end, { 3, 5, 9 }, { 0, 2 })
      assert(called, name)
    end
  end
  equal(examples, fields)
  assert(fields > 15)
end)
