-- Rules of jobs, loaded from this file.
local barrier = require "actor.barrier"
return {
  never = function() return false end,
  close = function(view) return view.step <= view:min() + 2 end,
  far = barrier.ssp(30),
  behind = function(view) return view:behind(3) == 0 end,
  median = function(view) return view.step <= view:quantile(0.5) + 2 end,
  merged = function(view) return view.step == 0 or view.buffered == 0 end,
  strict = barrier.rule { staleness = 0, run = function(view) return view:passed(view.step) == view.n end },
}
