-- The job of standstill_test.cpp.
local actor = require "actor"

-- Runs until there is a file "finish". Every worker prints in which process it works, and which workers were lost.
local process = io.open("/proc/self/stat"):read("*n")
local started = false
actor.on_membership(function(change)
  for _, id in ipairs(change.lost) do actor.log.info("worker %d lost, now %d", id, actor.size) end
end)
actor.param.run {
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
    return tasks
  end,
  push = function(id)
    if not started then actor.log.info("worker %d works in process %d.", id, process) end
    started = true
    return { { id, true } }
  end,
  stop = function()
    local file = io.open("finish")
    if file then file:close() end
    return file ~= nil
  end,
}
print(("ended with %d workers"):format(actor.size))
