--- The loop that evaluates a rule for all waiting workers must stay compiled.
local barrier = require("actor.barrier")
local rng = require("actor.rng")

-- Harmless aborts: the recorder left a loop or reached another loop, a finalizer stopped it, or it reached the end of a
-- batch, where the loop returns to C. The numbers belong to this version of LuaJIT; with another version the spec only
-- counts loops.
local numbered = jit.version == "LuaJIT 2.1.0-beta3"
local harmless = {
  [0] = true, -- error thrown or hook called during recording
  [8] = true, -- leaving loop in root trace
  [9] = true, -- inner loop in root trace
  [10] = true, -- loop unroll limit reached
  [16] = true, -- return to lower frame
}

-- The number of an evaluator's loops compiled during `work`, and the places that the JIT could not compile.
local function traced(work)
  local util = require("jit.util")
  local loops, refused, root = 0, {}, nil
  local function on_trace(what, _, fn, pc, reason)
    if what == "start" then
      root = util.funcinfo(fn, pc).loc
    elseif what == "stop" and root:find("evaluator.lua(loop)", 1, true) then
      loops = loops + 1
    elseif what == "abort" and numbered and not harmless[reason] then
      refused[#refused + 1] = ("%s (reason %s)"):format(util.funcinfo(fn, pc).loc, tostring(reason))
    end
  end
  jit.flush()
  jit.attach(on_trace, "trace")
  work()
  jit.attach(on_trace)
  return loops, refused
end

local function play(rule, events)
  local progress, evaluator, random = barrier.progress(), barrier.evaluator(rule, 1), rng(3)
  local running = {}
  for id = 0, 199 do
    progress:add(id)
    progress:start(id, 0)
    running[#running + 1] = id
  end
  for now = 1, events do
    local at = random:below(#running) + 1
    local id = running[at]
    running[at] = running[#running]
    running[#running] = nil
    progress:complete(id, now)
    progress:request(id, now)
    for _, passed in ipairs(evaluator:poll(progress, now)) do
      running[#running + 1] = passed
      progress:start(passed, now)
    end
  end
end

-- A user's rule that reads the arrays.
local function by_hand(view)
  local behind = 0
  for i = 1, #view.steps do
    if view.alive[i] and view.steps[i] < view.step then behind = behind + 1 end
  end
  return behind == 0
end

for name, rule in pairs {
  bsp = barrier.bsp(),
  ssp = barrier.ssp(2),
  pbsp = barrier.pbsp(10),
  sticky = barrier.pbsp(10, { resample = "sticky" }),
  quorum = barrier.quorum(0.9, 1),
  backup = barrier.backup(3),
  ksync = barrier.ksync(150),
  partial = barrier.partial(0.5),
  dssp = barrier.dssp { lower = 1, upper = 6 },
  assp = barrier.assp { lower = 0, upper = 6 },
  gssp = barrier.gssp { s = 1, between = 8 },
  awpsp = barrier.awpsp(10),
  elastic = barrier.elastic(),
  sync_switch = barrier.sync_switch(10),
  ["delay_bounded pssp"] = barrier.delay_bounded(1e9, barrier.pssp(5, 1)),
  ["a user's rule over a sample"] = barrier.sample(5, by_hand),
} do
  test("the loop that evaluates " .. name .. " is compiled without aborted traces", function()
    if not jit.status() then
      play(rule, 200)
      skip "the JIT is off"
    end
    local loops, refused = traced(function() play(rule, 4000) end)
    holds(loops, ">", 0, "loops compiled")
    equal(refused, {})
  end)
end

test("this check detects a rule that is not compiled", function()
  if not jit.status() or not numbered then skip "the JIT is off, or its traces have no numbers" end
  local _, refused = traced(function()
    play(function(view)
      local lowest = function() return view:min() end -- the JIT does not compile closure creation
      return lowest() >= view.step
    end, 1000)
  end)
  holds(#refused, ">", 0)
end)
