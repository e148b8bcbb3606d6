-- Samples three other workers, and records its inputs.
local barrier = require "actor.barrier"
return { some = barrier.sample(3, require("noted")(function(view)
  local slow = 0
  for i = 1, view.n do
    if view.steps[i] < view.step and view.alive[i] and view.durations[i] <= 2 * view.average then slow = slow + 1 end
  end
  return slow == 0
end), { resample = { poll = 0.3 } }) }
