-- A job of names_test.cpp: callbacks read the context fields that the script's arguments name.
local actor = require "actor"
local in_schedule, in_stop = ...
actor.param.run {
  schedule_local = function(ctx) return { ctx[in_schedule] } end,
  push = function() return { { "k", 1 } } end,
  stop = function(ctx) return ctx[in_stop] >= 3 end,
}
