-- Stores the hash of a computation in the global `hash`.
local tensor = require("actor.tensor")
local a = tensor.normal({200, 200}, {seed = 1})
for _ = 1, 20 do a = (a:matmul(a) / 200):tanh() end
hash = rawset(_G, "hash", a:hash()).hash
