--- Rules that answer by step alone are asked once for all waiters of a step, others about each waiter: the same results.
local sim = require("actor.sim")
local rng = require("actor.rng")

-- How often the rule is called, which the rule itself must not count.
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

local function grouped(rule)
  local checks
  local calls = calls_of(rule, function() checks = run(rule).checks end)
  equal(calls > 0, true)
  return calls < checks
end

test("a rule that reads what all see alike is asked once a step", function()
  local two, floor = 2, math.floor
  local function bound(view) return view:quantile(0.5) + two end
  equal(grouped(function(view) return view.step <= view:quantile(0.5) + 1 end), true)
  equal(grouped(function(view) return view:behind(1) <= 3 end), true)
  equal(grouped(function(view) return view.step <= bound(view) end), true)
  equal(grouped(function(view) return view.step <= math.max(view:min() + 1, floor(view:max() / 2)) end), true)
  equal(grouped(function(view)
    local count = 0
    for i = 1, view.n do
      if view.steps[i] >= view.step and view.alive[i] then count = count + 1 end
    end
    return count >= 5
  end), true)
end)

test("one that reads what is the worker's own, keeps something or draws is asked about each", function()
  local function also(body) equal(grouped(body), false) end
  local calls, kept, limit = 0, {}, 1
  also(function(view) return view.step <= view:min() + view.id % 2 end)
  also(function(view) return view.step <= view:min() + 1 or view.waited > 1 end)
  also(function(view) return view.step <= view:min() + 1 or view.duration > 2 end)
  also(function(view) return view.step <= view:min() + 1 or view.average > 2 end)
  also(function(view) return view.step <= view:min() + 1 or view.rng:uniform() < 0.1 end)
  also(function(view) return view.step <= view:min() + 1 or math.random() < 0.1 end)
  also(function(view) return view.step <= view:min() + 1 or os.clock() < 0 end)
  also(function(view) return view.step <= view:min() + (view.memory.more or 1) end)
  also(function(view) return view.step <= view:min() + (view.shared.more or 1) end)
  also(function(view) return view.step <= view:min() + #kept + 1 end)
  also(function(view) return view["st" .. "ep"] <= view:min() + 1 end)
  also(function(view) local field = "step" return view[field] <= view:min() + 1 end)
  also(function(view, ...) return view.step <= view:min() + 1 + select("#", ...) end)
  also(function(view) calls = calls + 1 return view.step <= view:min() + calls % 2 + 1 end)
  also(function(view) limit = 3 - limit return view.step <= view:min() + limit end)
  also(function(view) if view.step <= view:min() + 1 then return true end return false, 0.5 end)
  also(function(view) return (function() return view.step <= view:min() + 1 end)() end)
end)

test("a captured variable that something assigns to is no constant", function()
  local limit = 1
  local function set(value) limit = value end
  local rule = function(view) return view.step <= view:min() + limit end
  equal(grouped(rule), false)
  set(2)
  equal(grouped(rule), false)
end)

test("a changed math is not trusted", function()
  local was = math.floor
  math.floor = function(x) return was(x) end
  local ok, message = pcall(function()
    equal(grouped(function(view) return view.step <= math.floor(view:min()) + 1 end), false)
  end)
  math.floor = was
  if not ok then error(message, 0) end
end)

-- A rule by lot, and the same rule that is asked about each waiter, because it reads an id.
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
  return rule, function(view)
    if view.id < 0 then return false end
    return rule(view)
  end
end

test("asked about a step or about each waiter, a rule gives the same run", function()
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
