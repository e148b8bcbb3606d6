-- Integers at the parameter server, for element_types_test.cpp.
local actor = require "actor"
local param, tensor = actor.param, actor.tensor

local counts = { dtype = "int64" }
param.run {
  init = function() return { x = tensor.zeros(1), t = { counts = tensor.ones(2, counts) } } end,
  schedule_local = function() return { "t" } end,
  push = function(_, pairs)
    print(pairs[1][2].counts.dtype)
    return { { "x", tensor.ones(1, counts) } }
  end,
  pull = actor.optim.add(),
  stop = function(ctx) return ctx.step >= 2 end,
}
