-- The survivors of examples/peer_sgd.lua train all blocks of the model.
-- deep: flags: --barrier {bsp,asp} --codes 0,3 --faults kill=1,within=400ms at: rehearsal:4
-- deep: flags: --barrier {bsp,asp} --codes 0,3 --faults break=1,within=400ms at: rehearsal:3
-- deep: flags: --barrier bsp --codes 0,3 --faults partition=1:8s,within=400ms at: rehearsal:5
local actor = require "actor"
local distance
function print(text) distance = distance or tonumber(text:match "distance to the true weights: ([%d.]+)") end
actor.args[1] = "--steps=400"
assert(loadfile "jobs/../../../examples/peer_sgd.lua")()
assert(distance < 0.06, tostring(distance))
