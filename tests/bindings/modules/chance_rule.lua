-- Passes at random with probability 0.1.
return function(view)
  if view:min() >= view.step or view.rng:uniform() < 0.1 then return true end
  return false
end
