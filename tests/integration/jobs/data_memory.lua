-- The job of data_memory_test.cpp.

local data = require("actor").data
local x, y = data.libsvm("t.svm", { sparse = true })
print(tostring(x), y[2])
data.libsvm("t.svm")
