--- Merge rules: texts and files, the decisions of the evaluator, and wrong results.
local merge = require("actor.merge")
local values = require("actor.merge.values")

-- Pushes of workers in order, {worker, step, version of the model at the step's begin, update =}. Returns the updates,
-- as texts like "0.5*w1 0.5*w2" or "trim 1 of w1 w2 w3", and the dropped workers.
local function decisions(rule, pushes)
  local evaluator, newest = merge.evaluator(rule, function(a, b) return values.dot(a.update, b.update) end), 0
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
    all = merge.all(), mean = merge.mean(), drop = merge.drop { later_than = 2 }, buffer = merge.buffer { k = 8 },
    scale = merge.scale { exponent = 0.5 }, stale = merge.stale(8), polynomial = merge.polynomial(0.5),
    fedbuff = merge.fedbuff(8), fresh = merge.fresh(4), trimmed_mean = merge.trimmed_mean(1, 5), median = merge.median(5),
    krum = merge.krum(1, 1, 5), clip = merge.clip(10, 5),
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

test("rules by age count versions of the model", function()
  -- The versions at the arrivals are 0, 1, 2, 3; so the staleness is 0, 0, 1, 3.
  local pushes = { { 0, 0, 0 }, { 0, 1, 1 }, { 1, 0, 1 }, { 2, 0, 0 } }
  equal(updates_of("polynomial:1", pushes), { "1*w0", "1*w0", "0.5*w1", "0.25*w2" })
  equal(updates_of("stale:1", pushes), { "1*w0", "1*w0" }) -- the third arrival is at version 2, so worker 1 is one old
  equal(lost_of("stale:2", pushes), { 2 })
  -- A buffer of two: the versions at the arrivals are 0, 0, 1, 1.
  equal(updates_of("fedbuff:2:1", { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 1 }, { 2, 0, 0 } }),
    { "0.5*w0 0.5*w1", "0.5*w0 0.25*w2" })
  equal(updates_of("fresh:2", { { 0, 0, 0 }, { 1, 0, 0 }, { 2, 0, 0 }, { 0, 1, 1 }, { 1, 1, 1 } }),
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
    equal(updates_of("clip:5" .. how, pushes { { 3, 4 }, { 30, 40 }, { 0, 0 }, { 6, 8 }, { 1, 0 } }),
      { "0.2*w1 0.02*w2 0.2*w3 0.1*w4 0.2*w5" })
  end
  raises(function() merge.trimmed_mean(2, 4) end, "merge.trimmed_mean: n has to be more than 2 f, which is 4")
  raises(function() merge.from "krum:2:4:5" end, "m has to be at most n %- f, which is 3")
  raises(function() decisions(function(view, push) return view:trimmed_mean(view:with(push), 1) end, five) end,
    "view:trimmed_mean: of 1 pushes it cannot leave out 1 smallest and 1 greatest")
end)

test("norms, distances and cosines of pushes are those of their values", function()
  local tensor = require("actor.tensor")
  local seen = {}
  local function rule(view, push)
    if #view.held == 0 then return "hold" end
    local other = view.held[1]
    seen = { push:norm(), other:norm(), push:distance(other), push:cosine(other), push:dot(other) }
    return 1
  end
  decisions(rule, {
    { 0, 0, 0, update = { w = tensor.new { 3, 0 }, b = 4 } }, { 1, 0, 0, update = { w = tensor.new { 0, 6 }, b = 8 } },
  })
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
