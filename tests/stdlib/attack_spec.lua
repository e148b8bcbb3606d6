--- Attacks on training: their texts, the attackers, and the changed pushes.
local attack = require("actor.attack")
local merge = require("actor.merge")
local nn, tensor = require("actor").nn, require("actor.tensor")
local train = require("actor.sim.train")

-- The updates after an attack on one push of each worker in turn.
local function attacked(text, updates, size)
  local evaluator = merge.evaluator("all", nil, attack.from(text):begin(size or #updates, 7))
  local out = {}
  for i, update in ipairs(updates) do
    local merged = evaluator:take {
      worker = (i - 1) % (size or #updates), step = 0, version = 0, behind = 0, peers = 1, left = 0, update = update,
    }
    out[i] = merged[1] and merged[1].update or "dropped"
  end
  return out
end

test("a text names an attack, its workers and its factor", function()
  local two = attack.from "sign:2:3"
  equal({ two.kind, two.workers, two.factor }, { "sign", 2, 3 })
  equal({ two:by(0), two:by(1), two:by(2) }, { true, true, false })
  equal(attack.from("noise").factor, 0.2)
  equal(attack.from("lie").factor, 1.5)
  raises(function() attack.from "sgn:2" end, "attack 'sgn:2': expected sign, noise, label or lie; did you mean 'sign'%?")
  raises(function() attack.from "sign:0" end, "the number of workers has to be at least 1, got '0'")
  raises(function() attack.from "sign:1:x" end, "the factor has to be at least 0, got 'x'")
  raises(function() attack.from "sign:1:nan" end, "the factor has to be at least 0, got 'nan'")
  raises(function() attack.from "sign:-1" end, "the number of workers has to be at least 1, got '%-1'")
  raises(function() attack.from "sign:1.5" end, "the number of workers has to be whole, got '1.5'")
  raises(function() attack.from "label:2:3" end, "label has no factor")
  raises(function() attack.from "" end, "expected sign, noise, label or lie")
  raises(function() attack.from("sign:3"):begin(3, 0) end, "a run of 3 workers has at most 2 attackers")
end)

test("sign negates, and honest pushes stay", function()
  equal(attacked("sign", { { 1, 2 }, { 3, 4 } }), { { -1, -2 }, { 3, 4 } })
  equal(attacked("sign:1:2", { { a = 1 }, { a = 3 } }), { { a = -2 }, { a = 3 } })
end)

test("noise has a deviation by the norm of the push, and the same values by its seed", function()
  local big = { w = tensor.full({ 10000 }, 0.03) } -- the norm is 3
  local first, second = attacked("noise", { big, big })[1].w, attacked("noise", { big, big })[1].w
  equal(tostring(first), tostring(second))
  near(((first - 0.03):norm() ^ 2 / 10000) ^ 0.5, 0.2 * 3, 0.02)
  near(first:mean(), 0.03, 0.03)
end)

test("lie stays within the deviations of the newest honest pushes", function()
  local out = attacked("lie", { { 9 }, { 1 }, { 3 }, { 9 }, { 5 }, { 3 }, { 9 } }, 3)
  equal(out[1], "dropped") -- no honest push so far
  near(out[4][1], 2 - 1.5 * math.sqrt(2), 1e-9)
  near(out[7][1], 4 - 1.5 * math.sqrt(2), 1e-9)
end)

test("label trains with reversed labels, and only within the attacker's work", function()
  local scores, labels = tensor.new { { 2, 0, 0 } }, tensor.ones(1)
  local honest, wrong = nn.cross_entropy(scores, labels), nn.cross_entropy(scores, tensor.full({ 1 }, 3))
  local label = attack.from("label"):begin(2, 0)
  local function loss() return (nn.cross_entropy(scores, labels)) end
  equal(label:compute(0, loss), wrong)
  equal(label:compute(1, loss), honest)
  equal(loss(), honest)
  raises(function() label:compute(0, function() return 1 end) end, "the worker computed no nn.cross_entropy")
  raises(function() label:compute(0, function() error("own", 0) end) end, "own")
  equal(loss(), honest)
end)

test("robust rules withstand attacks in the simulator, and the mean does not", function()
  local options = { barrier = "bsp", nodes = 9, time = 30, seed = 2 }
  local function loss(merge_rule, text)
    local result = train.run(options, train.models.linear(), { merge = merge_rule, attack = text, rate = 0.3, points = 2 })
    return result.training.loss[3]
  end
  local clean = loss("mean")
  for _, text in ipairs { "sign:2:10", "noise:2:50" } do
    local harmed = loss("mean", text)
    holds(harmed, ">", 3 * clean, text)
    for _, rule in ipairs { "trimmed_mean:2", "median", "krum:2:3", "centred_clip:3" } do
      holds(loss(rule, text), "<", harmed / 2, text .. " " .. rule)
    end
  end
  raises(function() loss("mean", "label") end, "computed no nn.cross_entropy")
  raises(function() loss("mean", "sign:9") end, "a run of 9 workers has at most 8 attackers")
end)
