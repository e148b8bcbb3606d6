-- A rehearsal compiles the loops of its hosts late. A run on a cluster compiles them at once.
-- case: late at: rehearsal:2
-- case: soon at: threads:1
local traces = 0
jit.attach(function(what) if what == "stop" then traces = traces + 1 end end, "trace")

local function loop(times)
  local sum = 0
  for i = 1, times do sum = sum + i % 3 end
  return sum
end

loop(900)
assert((traces == 0) == ((...) == "late"), traces)
loop(100000)
assert(traces > 0)
