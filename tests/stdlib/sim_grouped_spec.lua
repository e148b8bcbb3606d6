--- A by_step rule is evaluated once for all waiting workers of a step, another rule once for each waiting worker. Both
--- give the same results.
local sim = require("actor.sim")
local barrier = require("actor.barrier")
local rng = require("actor.rng")

-- Counts the calls of the rule from outside, since a by_step rule must not store state.
local function calls_of(fn, work)
  local calls, watched = 0, fn
  debug.sethook(function()
    if debug.getinfo(2, "f").func == watched then calls = calls + 1 end
  end, "c")
  jit.off()
  local ok, message = pcall(work)
  jit.on()
  debug.sethook()
  if not ok then error(message, 0) end
  return calls
end

local function run(rule, more)
  local options = { barrier = rule, nodes = 20, time = 12, seed = 3 }
  for name, value in pairs(more or {}) do options[name] = value end
  return sim.run(options)
end

local function grouped(fn, rule)
  local checks
  local calls = calls_of(fn, function() checks = run(rule or fn).checks end)
  equal(calls > 0, true)
  return calls < checks
end

test("a by_step rule is evaluated once a step, another rule once for each waiting worker", function()
  local function rule(view) return view.step <= view:quantile(0.5) + 1 end
  equal(grouped(rule), false)
  equal(calls_of(rule, function() run(barrier.rule { run = rule }) end) > 0, true)
  equal(grouped(rule, barrier.rule { by_step = true, run = rule }), true)
end)

test("a by_step rule that reads state of one worker, stores state or draws is an error", function()
  for _, field in ipairs { "id", "waited", "shared", "memory", "rng", "duration", "average" } do
    raises(function() run(barrier.rule { by_step = true, run = function(view) return view[field] ~= nil end }) end,
      "by_step = true is evaluated once for all workers that wait at a step: it cannot use view%." .. field)
  end
end)

-- A random rule, by_step and evaluated for each waiting worker.
local function random_rules(random)
  local a, b, q, k = random:below(4), random:below(3), random:uniform(), random:below(6)
  local rules = {
    function(view) return view.step <= view:quantile(q) + a end,
    function(view) return view:behind(b) <= k end,
    function(view) return view:passed(view.step - a) > view.n * q end,
    function(view) return view.step <= view:min() + a or view:passed(view.step) >= k + 1 and view.step % 3 == b end,
    function(view) return view.step <= view:min() + a + math.floor(view.now) % (b + 1) end,
    function(view)
      local slow = 0
      for i = 1, view.n do
        if view.steps[i] < view.step and view.averages[i] > 2 and view.alive[i] then slow = slow + 1 end
      end
      return slow <= k or view.step <= view:min()
    end,
  }
  local rule = rules[random:below(#rules) + 1]
  return barrier.rule { by_step = true, run = rule }, rule
end

test("evaluation by step and by waiting worker give the same run", function()
  local seed = scratch_seed
  local random = rng(seed)
  local function one_of(list) return list[random:below(#list) + 1] end
  local sizes = { 1, 2, 7, 40, 200 }
  for i = 1, 60 do
    local by_step, by_worker = random_rules(random)
    local options = {
      nodes = one_of(sizes), time = 6 + random:below(10), seed = random:below(1000),
      work = one_of { "1+exp(1)", "exp(1)", "const(1)", "pareto(1.5,0.5)" },
      straggler = one_of { "0.1:4x", "0:1x" }, delay = one_of { "exp(0.1)", "const(0)" },
      churn = one_of { "0:0", "1:1", "0:0.5" }, failures = one_of { "20:5" , "1000000" },
      topology = one_of { "oracle", "oracle", "server:3" }, trace = true,
    }
    local results = {}
    for k, rule in ipairs { by_step, by_worker } do
      options.barrier = rule
      local ok, result = pcall(sim.run, options)
      if not ok then result = tostring(result):gsub("barrier rule.-%)", "the rule") end
      results[k] = result
    end
    equal(results[1], results[2], ("case %d of seed %s"):format(i, tostring(seed)))
  end
end)
