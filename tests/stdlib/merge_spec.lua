--- Merge rules: texts and files, the decisions of the evaluator, and wrong results.
local merge = require("actor.merge")
local values = require("actor.merge.values")

-- Pushes of workers in order, {worker, step, version of the model at the step's begin, update =}. Returns the updates,
-- as texts like "0.5*w1 0.5*w2" or "trim 1 of w1 w2 w3", and the dropped workers.
local function decisions(rule, pushes)
  local evaluator, newest = merge.evaluator(rule), 0
  local view = evaluator.view
  local updates, lost = {}, {}
  local function note(merged, dropped, trim)
    local parts = {}
    for i, push in ipairs(merged) do
      parts[i] = trim and "w" .. push.worker or ("%g*w%d"):format(push.weight, push.worker)
    end
    if #parts > 0 then
      updates[#updates + 1] = (trim and ("trim %d of "):format(trim) or "") .. table.concat(parts, " ")
      view.version = view.version + 1
    end
    for _, push in ipairs(dropped) do lost[#lost + 1] = push.worker end
  end
  for _, push in ipairs(pushes) do
    newest = math.max(newest, push[2])
    note(evaluator:take {
      worker = push[1], step = push[2], version = push[3], behind = newest - push[2], peers = push.peers or 1,
      left = push.left or 0, update = push.update,
    })
  end
  note(evaluator:finish())
  return updates, lost, evaluator
end

local function updates_of(...) return (decisions(...)) end
local function lost_of(...) return (select(2, decisions(...))) end

test("each rule is made by its constructor and by its example, under one name", function()
  local made = {
    all = merge.all(), mean = merge.mean(), step_mean = merge.step_mean(), drop = merge.drop { later_than = 2 }, buffer = merge.buffer { k = 8 },
    scale = merge.scale { exponent = 0.5 }, ringmaster = merge.ringmaster(8), polynomial = merge.polynomial(0.5),
    fedbuff = merge.fedbuff(8), rennala = merge.rennala(4), trimmed_mean = merge.trimmed_mean(1, 5),
    median = merge.median(5), krum = merge.krum(1, 1, 5), clip = merge.clip(10), decay = merge.decay(0.1, 20),
    delay_adaptive = merge.delay_adaptive(), fedasync = merge.fedasync(0.9), gap_aware = merge.gap_aware(),
    delayed_nesterov = merge.delayed_nesterov(4), heloco = merge.heloco(), port = merge.port(4), basgd = merge.basgd(5), centred_clip = merge.centred_clip(10, 5),
  }
  for _, row in ipairs(merge.list()) do
    for _, field in ipairs { "usage", "summary", "definition", "paper" } do holds(#row[field], ">", 0, row.name) end
    holds(#row.summary, "<=", 90, row.name)
    equal(merge.from(row.example).name, made[row.name] and made[row.name].name, row.name)
  end
  equal(merge.from("scale").name, "scale(1)")
  raises(function() merge.from("drp:2") end, "merge 'drp:2': there is no rule 'drp'; did you mean drop%?")
  raises(function() merge.drop {} end, "bad argument 'later_than' to merge.drop")
  raises(function() merge.from(7) end, "bad argument 'rule' to merge.from: expected a rule or a function, got number")
end)

test("a file has one rule or several named rules", function()
  local texts = {
    ["one.lua"] = "return function() return 0.5 end",
    ["two.lua"] = "return { half = function() return 0.5 end, none = function() return 'drop' end }",
  }
  local function load(path) return texts[path], "@" .. path end
  equal(updates_of(merge.from("one.lua", { load = load }), { { 1, 0, 0 } }), { "0.5*w1" })
  equal(lost_of(merge.from("two.lua:none", { load = load }), { { 1, 0, 0 } }), { 1 })
  raises(function() merge.from("two.lua", { load = load }) end, "several rules, name one of them as two.lua:NAME %(half, none%)")
end)

test("the library's rules decide as their definitions say", function()
  local late = { { 0, 0, 0 }, { 0, 1, 1 }, { 0, 2, 2 }, { 1, 0, 0 } }
  equal(updates_of("all", late), { "1*w0", "1*w0", "1*w0", "1*w1" })
  local updates, lost = decisions("drop:1", late)
  equal({ updates, lost }, { { "1*w0", "1*w0", "1*w0" }, { 1 } })
  equal(lost_of("drop:2", late), {})
  equal(updates_of("scale:2", late), { "1*w0", "1*w0", "1*w0", ("%g*w1"):format(1 / 9) })
  equal(updates_of("buffer:3", late), { "0.333333*w0 0.333333*w0 0.333333*w0", "0.333333*w1" })
  equal(updates_of("mean", { { 0, 0, 0, peers = 2, left = 1 }, { 1, 0, 0, peers = 2 }, { 0, 1, 1 } }),
    { "0.5*w0 0.5*w1", "1*w0" })
end)

test("step_mean merges a step when all workers have completed it", function()
  local evaluator, merged = merge.evaluator("step_mean"), {}
  local done = { [0] = 0, 0, 0 }
  local function push(worker)
    local step, view = done[worker], evaluator.view
    done[worker] = step + 1
    view.workers, view.slowest = 3, math.min(done[0], done[1], done[2])
    local parts = {}
    for _, one in ipairs((evaluator:take { worker = worker, step = step, version = 0, behind = 0, peers = 1, left = 0 })) do
      parts[#parts + 1] = ("%.2f*w%d:%d"):format(one.weight, one.worker, one.step)
    end
    merged[#merged + 1] = table.concat(parts, " ")
  end
  for _, worker in ipairs { 0, 0, 1, 2, 2, 1 } do push(worker) end
  equal(merged, { "", "", "", "0.33*w0:0 0.33*w1:0 0.33*w2:0", "", "0.33*w0:1 0.33*w2:1 0.33*w1:1" })
  for _, worker in ipairs { 0, 2 } do push(worker) end
  equal({ merged[7], merged[8] }, { "", "" })
  done[1] = math.huge -- it has left, so the held step is complete
  for _, worker in ipairs { 0, 2 } do push(worker) end
  equal({ merged[9], merged[10] }, { "0.50*w0:2 0.50*w2:2", "0.50*w0:3 0.50*w2:3" })
end)

test("rules by age count versions of the model", function()
  -- The versions at the arrivals are 0, 1, 2, 3; so the staleness is 0, 0, 1, 3.
  local pushes = { { 0, 0, 0 }, { 0, 1, 1 }, { 1, 0, 1 }, { 2, 0, 0 } }
  equal(updates_of("polynomial:1", pushes), { "1*w0", "1*w0", "0.5*w1", "0.25*w2" })
  equal(updates_of("ringmaster:1", pushes), { "1*w0", "1*w0" }) -- the third arrival is at version 2, so worker 1 is one old
  equal(lost_of("ringmaster:2", pushes), { 2 })
  -- A buffer of two: the versions at the arrivals are 0, 0, 1, 1.
  equal(updates_of("fedbuff:2:1", { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 1 }, { 2, 0, 0 } }),
    { "0.5*w0 0.5*w1", "0.5*w0 0.25*w2" })
  equal(updates_of("rennala:2", { { 0, 0, 0 }, { 1, 0, 0 }, { 2, 0, 0 }, { 0, 1, 1 }, { 1, 1, 1 } }),
    { "0.5*w0 0.5*w1", "0.5*w0 0.5*w1" })
end)

test("robust rules leave out pushes unlike the others", function()
  local function pushes(list)
    local out = {}
    for i, update in ipairs(list) do out[i] = { i, 0, 0, update = update, peers = #list, left = #list - i } end
    return out
  end
  local five = pushes { { 1, 2 }, { 1.1, 2 }, { 0.9, 2.1 }, { -100, 3 }, { 1, 1.9 } }
  for _, how in ipairs { "", ":5" } do
    equal(updates_of("trimmed_mean:1" .. how, five), { "trim 1 of w1 w2 w3 w4 w5" })
    equal(updates_of("median" .. how, five), { "trim 2 of w1 w2 w3 w4 w5" })
    local updates, lost = decisions("krum:1:1" .. how, five)
    equal({ updates, lost }, { { "1*w1" }, { 2, 3, 4, 5 } })
    updates, lost = decisions("krum:1:4" .. how, five)
    equal({ updates, lost }, { { "0.25*w1 0.25*w2 0.25*w3 0.25*w5" }, { 4 } })
  end
  local nan = pushes { { 1, 2 }, { 0 / 0, 2 }, { 1, 2.1 }, { 1, 1.9 } }
  equal(updates_of("krum:1:2", nan), { "0.5*w1 0.5*w3" }, "a push that is not a number")
  local updates, lost = decisions("clip:5", pushes { { 3, 4 }, { 30, 40 }, { 0, 0 }, { 6, 8 }, { 1 / 0, 0 } })
  equal({ updates, lost }, { { "1*w1", "0.1*w2", "1*w3", "0.5*w4" }, { 5 } })
  raises(function() merge.trimmed_mean(2, 4) end, "merge.trimmed_mean: n has to be more than 2 f, which is 4")
  raises(function() merge.from "krum:2:4:5" end, "m has to be at most n %- f, which is 3")
  raises(function() decisions(function(view, push) return view:trimmed_mean(view:with(push), 1) end, five) end,
    "view:trimmed_mean: of 1 pushes it cannot leave out 1 smallest and 1 greatest")
end)

-- The values of the updates that a rule makes of pushes {worker, update, version of the model at the step's begin}.
local function values_of(rule, pushes)
  local at = 0
  local function pending() -- the later pushes whose steps have begun
    local steps = {}
    for i = at + 1, #pushes do
      if (pushes[i][3] or i - 1) < at then steps[#steps + 1] = { worker = pushes[i][1], step = i, version = pushes[i][3] } end
    end
    return steps
  end
  local evaluator, out = merge.evaluator(rule, merge.source(pending)), {}
  evaluator.view.workers = 3
  for i, push in ipairs(pushes) do
    at = i
    local merged, _, trim = evaluator:take {
      worker = push[1], step = i, version = push[3] or i - 1, behind = 0, peers = push.peers or 1, left = push.left or 0,
      update = push[2],
    }
    local update
    if trim then
      local parts = {}
      for k, one in ipairs(merged) do parts[k] = one.update end
      update = values.trimmed_mean(parts, trim)
    else
      for _, one in ipairs(merged) do update = values.added(update, one.weight, one.update) end
    end
    if #merged > 0 then
      evaluator.view.version = evaluator.view.version + 1
      out[#out + 1] = update
    end
  end
  return out
end

local function near_all(got, expected)
  equal(#got, #expected)
  for i, update in ipairs(expected) do
    for k, value in ipairs(update) do near(got[i][k], value, 1e-6, ("update %d, element %d"):format(i, k)) end
  end
end

test("rules by staleness weigh as their papers say", function()
  -- The versions at the arrivals are 0 .. 5, so the last push is 5 versions old; there are 3 workers.
  local pushes = { { 0, { 1 } }, { 0, { 1 } }, { 1, { 1 }, 0 }, { 0, { 1 } }, { 0, { 1 } }, { 2, { 1 }, 0 } }
  near_all(values_of("delay_adaptive", pushes), { { 1 }, { 1 }, { 1 }, { 1 }, { 1 }, { 1 / 5 } })
  near_all(values_of("fedasync:0.8:0.5", pushes), { { 0.8 }, { 0.8 }, { 0.8 * 3 ^ -0.5 }, { 0.8 }, { 0.8 }, { 0.8 * 6 ^ -0.5 } })
  near_all(values_of("decay:0.5:5", pushes), { { 1 }, { 1 }, { math.exp(-1) }, { 1 }, { 1 } })
end)

test("gap_aware divides each element by one and its gap in usual lengths of an update", function()
  -- A first update of (1, 2): its squares are the usual lengths. Worker 1's step began before it, so its gap is (1, 2).
  near_all(values_of("gap_aware", { { 0, { 1, 2 } }, { 1, { 4, 4 }, 0 } }), { { 1, 2 }, { 2, 2 } })
  -- Without staleness nothing changes.
  near_all(values_of("gap_aware", { { 0, { 1, 2 } }, { 0, { 3, -1 } }, { 0, { 5, 5 } } }), { { 1, 2 }, { 3, -1 }, { 5, 5 } })
  -- Two updates of (1, -1) and (1, 1): the gap of a step that began before them is (2, 0).
  near_all(values_of("gap_aware", { { 0, { 1, -1 } }, { 0, { 1, 1 } }, { 1, { 6, 6 }, 0 } }), { { 1, -1 }, { 1, 1 }, { 2, 6 } })
end)

test("heloco turns pushes towards the momentum and makes a Nesterov step", function()
  local tensor = require("actor.tensor")
  local function run(pushes)
    for i, push in ipairs(pushes) do pushes[i] = { 0, { w = tensor.new(push, { dtype = "float64" }) } } end
    local out = values_of("heloco:0.5", pushes)
    for i, update in ipairs(out) do out[i] = update.w:totable() end
    return out
  end
  -- Along the momentum the pushes are unchanged: g = (4, 0), m: 0, 2, 3; the update is g + m' - m / 2.
  near_all(run { { 4, 0 }, { 4, 0 } }, { { 4 + 2, 0 }, { 4 + 3 - 1, 0 } })
  -- m = (2, 0) and u = (-4, 0): cosine -1, conf = 4 / (4 + 3 * 2) = 0.4, beta = 0.5 * 1 * 0.4 = 0.2, so u shrinks to
  -- (-4 + 0.2 * 4, 0) = (-3.2, 0); m' = 1 - 1.6 = -0.6.
  near_all(run { { 4, 0 }, { -4, 0 } }, { { 6, 0 }, { -3.2 - 0.6 - 1, 0 } })
  -- m = (2, 0) and u = (0, 4): cosine 0, lambda = 0.4, so the direction is (0.4, 0.6) and the length stays 4.
  local x, y = 4 * 0.4 / math.sqrt(0.52), 4 * 0.6 / math.sqrt(0.52)
  near_all(run { { 4, 0 }, { 0, 4 } }, { { 6, 0 }, { x + (1 + x / 2) - 1, y + y / 2 } })
end)

test("delayed_nesterov applies shares of pushes, and momentum after every n", function()
  -- Two equal pushes make one step of Nesterov momentum: m = 4, g + 0.5 m = 6; then m = 6, g + 0.5 m = 7.
  local four = { { 0, { 4 } }, { 1, { 4 } }, { 0, { 4 } }, { 1, { 4 } } }
  near_all(values_of("delayed_nesterov:2:0.5", four), { { 2 }, { 2 + 2 }, { 2 }, { 2 + 3 } })
  -- With c = 1 / 2 the old momentum moves the first push of the second pair.
  near_all(values_of("delayed_nesterov:2:0.5:0.5", four), { { 2 }, { 2 + 0.5 * 0.5 * 4 }, { 2 + 1 }, { 2 + 0.25 * 6 } })
  raises(function() merge.delayed_nesterov(4, 0.9, 0.5) end, "c has to be at most 1 / n, which is 0.25")
end)

test("port weighs by staleness and by the cosine to the last two updates", function()
  -- The first update is (2, 0). At the second the newer push has weight 1 + 1, the push of 2 versions has no update to
  -- compare with before the third: 10 / 12 + (1 - 1) / 2 against (3, 0).
  local got = values_of("port:1", { { 0, { 2, 0 } }, { 0, { 3, 0 } }, { 0, { 1, 0 } } })
  near_all(got, { { 2, 0 }, { 3, 0 }, { 1, 0 } })
  local third = values_of("port:2", {
    { 0, { 2, 0 }, 0 }, { 1, { 2, 0 }, 0 }, { 0, { 3, 0 }, 1 }, { 1, { 3, 0 }, 1 }, { 0, { 1, 0 }, 2 }, { 2, { -4, 0 }, 0 },
  })
  local old = 10 / 12 + 0
  near_all(third, { { 2, 0 }, { 3, 0 }, { (2 * 1 + old * -4) / (2 + old), 0 } })
end)

test("basgd merges the median of its buffers when each has a push", function()
  -- Buffers of three: workers 0 and 3, worker 1, worker 2. The mean of the first is 2.
  near_all(values_of("basgd:3", { { 0, { 1 } }, { 3, { 3 } }, { 1, { 9 } }, { 1, { 11 } }, { 2, { -100 } } }), { { 2 } })
  near_all(values_of("basgd:1", { { 0, { 1 } }, { 3, { 3 } } }), { { 1 }, { 3 } })
  near_all(values_of("basgd:4:1", { { 0, { 1 } }, { 1, { 3 } }, { 2, { 80 } }, { 3, { -80 } } }), { { 2 } })
  raises(function() merge.basgd(4, 2) end, "b has to be more than 2 q, which is 4")
end)

test("centred_clip cuts the differences from the last update", function()
  local function pair(a, b) return { 0, a, peers = 2, left = 1 }, { 1, b, peers = 2, left = 0 } end
  local one, two = pair({ 3, 4 }, { 0, 0 })
  local three, four = pair({ 1.5, 2 }, { 1.5, 102 })
  -- From 0 the first push is cut to (0.6, 0.8) * 5, which is itself. From (1.5, 2) the last difference is cut to 5.
  near_all(values_of("centred_clip:5", { one, two, three, four }), { { 1.5, 2 }, { 1.5, 2 + 2.5 } })
  one, two = pair({ 30, 40 }, { 0, 0 })
  near_all(values_of(merge.centred_clip(5, nil, 2), { one, two }), { { 1.5 + (1.5 - 0.75), 2 + (2 - 1) } })
  one, two = pair({ 3, 4 }, { 0 / 0, 0 })
  near_all(values_of("centred_clip:5", { one, two }), { { 1.5, 2 } })
end)

test("a rule may give an update of its own, which has the shape of the pushes", function()
  local tensor = require("actor.tensor")
  local function with(update, pushes)
    return values_of(function(view, push) return view:update({ push }, update) end, pushes or { { 0, { w = tensor.ones(2), b = 1 } } })
  end
  equal(with({ w = tensor.new { 5, 6 }, b = 2 })[1].b, 2)
  raises(function() with { w = tensor.ones(3), b = 1 } end,
    "gave an update of which 'w' is a tensor of shape {3}, expected a tensor of shape {2}")
  raises(function() with { w = tensor.ones(2) } end, "'b' is missing, expected a number")
  raises(function() with { w = tensor.ones(2), b = 1, c = 2 } end, "'c' is a number, expected missing")
  raises(function() with(nil) end, "bad argument 'values' to view:update")
  raises(function() values_of(function(view) return view:update({}, 1) end, { { 0, 1 } }) end, "bad argument 'pushes' to view:update")
end)

test("view.last is the last update, and view:pending lists the steps in progress", function()
  local seen, steps = {}, {}
  local function rule(view, push)
    seen[#seen + 1] = view.last and view.last[1] or "none"
    steps[#steps + 1] = view:pending()[1].staleness
    if push.worker == 1 then return "drop" end
    return #view.held == 0 and "hold" or 0.5
  end
  local evaluator = merge.evaluator(rule, merge.source(function() return { { worker = 7, step = 0, version = 0 } } end))
  for i, push in ipairs { { 0, 4 }, { 0, 8 }, { 1, 100 }, { 0, 1 }, { 0, 1 } } do
    local merged = evaluator:take {
      worker = push[1], step = i, version = 0, behind = 0, peers = 1, left = 0, update = { push[2] },
    }
    if #merged > 0 then evaluator.view.version = evaluator.view.version + 1 end
  end
  equal(seen, { "none", "none", 6, 6, 6 })
  equal(steps, { 0, 0, 1, 1, 1 })
  equal(evaluator.view.last[1], 1)
end)

test("norms, distances and cosines of pushes are those of their values", function()
  local tensor = require("actor.tensor")
  local seen = {}
  local function rule(view, push)
    if #view.held == 0 then return "hold" end
    local other = view.held[1]
    seen = { push:norm(), other:norm(), push:distance(other), push:cosine(other), push:dot(other), push:dot(other.update) }
    return 1
  end
  decisions(rule, {
    { 0, 0, 0, update = { w = tensor.new { 3, 0 }, b = 4 } }, { 1, 0, 0, update = { w = tensor.new { 0, 6 }, b = 8 } },
  })
  equal(seen[6], 32)
  for i, expected in ipairs { 10, 5, math.sqrt(9 + 36 + 16), 32 / 50, 32 } do near(seen[i], expected, 1e-6) end
  equal(values.trimmed_mean({ { 1, tensor.new { 1, 9 } }, { 5, tensor.new { 2, 2 } }, { 3, tensor.new { 7, 4 } } }, 1)[1], 3)
  equal(tostring(values.trimmed_mean({ tensor.new { 1, 9 }, tensor.new { 2, 2 }, tensor.new { 7, 4 } }, 1)),
    tostring(tensor.new { 2, 4 }))
end)

test("staleness counts updates of the model, and a group of pushes is one update", function()
  local seen = {}
  local function rule(view, push)
    seen[#seen + 1] = push.staleness
    return #view.held < 1 and "hold" or 0.5
  end
  decisions(rule, { { 0, 0, 0 }, { 1, 0, 0 }, { 2, 0, 0 }, { 0, 1, 1 } })
  equal(seen, { 0, 0, 1, 0 })
end)

test("a held push has its own weight, or the number that is returned later", function()
  local function rule(_, push)
    if push.worker == 0 then return "hold", 0.25 end
    return push.worker == 1 and "hold" or 2
  end
  equal(updates_of(rule, { { 0, 0, 0 }, { 1, 0, 0 }, { 2, 0, 0 } }), { "0.25*w0 2*w1 2*w2" })
  local updates, lost = decisions(rule, { { 0, 0, 0 }, { 1, 0, 0 } })
  equal({ updates, lost }, { { "0.25*w0" }, { 1 } })
end)

test("a table chooses among the held pushes and the new push", function()
  local function rule(view, push)
    if push.worker < 2 then return "hold" end
    return push.worker == 2 and { [push] = 3, [view.held[1]] = "drop" } or { [view.held[1]] = 1 }
  end
  local updates, lost, evaluator = decisions(rule, { { 0, 0, 0 }, { 1, 0, 0 }, { 2, 0, 0 }, { 3, 0, 0 } })
  equal({ updates, lost }, { { "3*w2", "1*w1" }, { 0, 3 } })
  equal(evaluator.view.held, {})
end)

test("a new rule decides about the pushes that the old rule holds, and begins with an empty memory", function()
  local evaluator = merge.evaluator(function(view)
    view.memory.count = (view.memory.count or 0) + 1
    return "hold"
  end)
  local function take(worker)
    return evaluator:take { worker = worker, step = 0, version = 0, behind = 0, peers = 1, left = 0 }
  end
  take(0)
  take(1)
  equal(evaluator.keeps_pushes, true)
  evaluator:set(merge.from "all")
  equal({ evaluator.merges_all, evaluator.keeps_pushes, evaluator.view.memory }, { true, false, {} })
  local merged = take(2)
  equal({ #merged, merged[1].worker, merged[1].weight }, { 3, 0, 1 })
end)

test("a wrong result is an error that names the rule and the result", function()
  local function refused(result, second, pattern)
    raises(function() decisions(function() return result, second end, { { 0, 0, 0 } }) end, pattern)
  end
  local rule = "^merge rule '[^']*merge_spec.lua:%d+': "
  refused(nil, nil, rule .. "returned nil, expected a finite weight.* %(is a 'return' missing%?%)")
  refused("later", nil, rule .. "returned string 'later'")
  refused(0 / 0, nil, rule .. "returned number %-?nan")
  refused(math.huge, nil, rule .. "returned number inf")
  refused("hold", "much", rule .. "returned string 'much'")
  refused({ [3] = 1 }, nil, rule .. "returned a table with number 3 as a key")
  raises(function() decisions(function(_, push) return { [push] = true } end, { { 4, 0, 0 } }) end,
    rule .. "gave worker 4's push true, expected a finite weight or \"drop\"")
  raises(function() decisions(function() error "broken" end, { { 4, 0, 0 } }) end, rule .. ".*merge_spec.lua:%d+: broken")
end)
