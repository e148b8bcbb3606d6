-- Rechecks a few times, then passes.
return function(view)
  local memory = view.memory
  memory.asked = (memory.asked or 0) + 1
  if view:min() >= view.step or memory.asked > 4 then return true end
  return false, 0.25
end
