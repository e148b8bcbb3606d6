-- Rules of barriers_test.cpp, loaded from this file.
local barrier = require "actor.barrier"
return {
  close = function(view) return view.step <= view:min() + 2 end,
  far = barrier.ssp(30),
  strict = barrier.rule { staleness = 0, run = function(view) return view:passed(view.step) == view.n end },
}
