-- The job of mapreduce_https_test.cpp.

local mr = require "actor.mapreduce"
local at, ca_file = ...
local rows = mr.load({ at .. "/a", at .. "/b.gz" }, { ca_file = ca_file, timeout = 10 })
print("rows " .. rows:count())
