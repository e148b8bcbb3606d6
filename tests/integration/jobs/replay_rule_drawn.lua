-- A rule that uses memory, random numbers and arrays, and requests a recheck.
return function(view)
  local memory, shared = view.memory, view.shared
  memory.evaluations = (memory.evaluations or 0) + 1
  shared.total = (shared.total or 0) + 1
  local slow = 0
  for i = 1, view.n do
    if view.busy[i] and view.alive[i] and view.averages[i] > view.average then slow = slow + 1 end
  end
  if view.step < view:quantile(0.5) + slow % 2 or view.rng:uniform() < 0.2 or memory.evaluations > 2 then return true end
  return false, 0.002 * (1 + shared.total % 3)
end
