-- The job of sim_test.cpp.
local actor = require "actor"

actor.param.run {
  schedule_local = function() return { "x" } end,
  init = function() return { x = 0 } end,
  push = function() return { { "x", 1 } } end,
  stop = function(ctx) return false end,
}
