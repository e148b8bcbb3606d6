-- The job of tls_test.cpp.
local actor = require "actor"

print("sum: " .. actor.collective.allreduce(actor.tensor.ones(3)):sum())
