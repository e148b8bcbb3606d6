--- What must stay compiled: the loop that asks a rule about everybody who waits.
local barrier = require("actor.barrier")
local rng = require("actor.rng")

-- Names where the JIT gave up while `work` ran, and whether it compiled a loop of the evaluator.
local function traced(work)
  local aborts, loops = {}, 0
  local root
  local util = require("jit.util")
  local function on_trace(what, _, fn, pc, reason)
    if what == "start" then
      root = util.funcinfo(fn, pc).loc
    elseif what == "stop" then
      if root and root:find("evaluator.lua(loop)", 1, true) then loops = loops + 1 end
    elseif what == "abort" then
      aborts[#aborts + 1] = ("%s: %s"):format(util.funcinfo(fn, pc).loc, tostring(reason))
    end
  end
  jit.flush()
  jit.attach(on_trace, "trace")
  work()
  jit.attach(on_trace)
  return loops, aborts
end

local function play(rule, events)
  local progress, evaluator, random = barrier.progress(), barrier.evaluator(rule, 1), rng(3)
  local running = {}
  for id = 0, 199 do
    progress:add(id)
    running[#running + 1] = id
  end
  for now = 1, events do
    local at = random:below(#running) + 1
    local id = running[at]
    running[at] = running[#running]
    running[#running] = nil
    progress:complete(id, now)
    progress:ask(id, now)
    for _, passed in ipairs(evaluator:poll(progress, now)) do running[#running + 1] = passed end
  end
end
