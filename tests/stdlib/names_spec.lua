--- Unknown names: an error at the script's line that names the nearest name. tests/integration/names_test.cpp covers
--- names that need a node.
local actor = require("actor")

local function wrong(body, message) raises(body, "^names_spec.lua:%d+: " .. message .. "$") end

test("the error for an unknown field of a module names the nearest field", function()
  wrong(function() return actor.barier end, "there is no actor.barier; did you mean actor.barrier%?")
  wrong(function() return actor.colective end, "there is no actor.colective; did you mean actor.collective%?")
  wrong(function() return actor.rnak end, "there is no actor.rnak; did you mean actor.rank%?")
  wrong(function() return actor.tensor.zero({ 3 }) end, "there is no tensor.zero; did you mean tensor.zeros%?")
  wrong(function() return actor.optim.sdg end, "there is no optim.sdg; did you mean optim.sgd%?")
  wrong(function() return actor.barrier.bps() end, "there is no barrier.bps; did you mean barrier.bsp%?")
  wrong(function() return actor.sim.sweeep end, "there is no sim.sweeep; did you mean sim.sweep%?")
  wrong(function() return require("actor.data").mnits end, "there is no data.mnits; did you mean data.mnist%?")
  wrong(function() return actor.log.inform end, "there is no log.inform; did you mean log.info%?")
  wrong(function() return actor.nn.quite_another end, "there is no nn.quite_another")
end)

test("the error for an unknown method names the nearest method", function()
  local t = actor.tensor.zeros { 2 }
  wrong(function() t:fil_(1) end, "there is no tensor:fil_; did you mean tensor:fill_%?")
  wrong(function() actor.rng(1):unifrom() end, "there is no rng:unifrom; did you mean rng:uniform%?")
  wrong(function() actor.nn.linear(2, 2):backwards() end, "there is no layer:backwards; did you mean layer:backward%?")
  wrong(function() actor.data.batches({ n = 4, size = 2 }):nxt() end, "there is no batches:nxt; did you mean batches:next%?")
  wrong(function() actor.optim.sgd({ lr = 1 }):stpe() end, "there is no optimiser:stpe; did you mean optimiser:step%?")
end)

test("optional fields are nil, and a script can test for other fields with rawget", function()
  equal(actor.optim.sgd({ lr = 1 }).decay, nil)
  equal(rawget(actor.tensor, "zero"), nil)
  equal(actor.tensor[1], nil)
end)

test("errors for unknown options, choices and globals name the nearest", function()
  wrong(function() actor.optim.sgd { rl = 1 } end, "unknown option 'rl' to optim.sgd %(known: .*%); did you mean 'lr'%?")
  wrong(function() actor.tensor.zeros({ 2 }, { dtype = "float46" }) end, ".*; did you mean 'float64'%?")
  wrong(function() return prnt end, "undefined global 'prnt'; did you mean 'print'%?")
  wrong(function() actor.options({ epochs = 3 }, { "--epoch", "4" }) end, "unknown flag '%-%-epoch'; did you mean %-%-epochs%?; .*")
end)
