-- The job of standstill_test.cpp.
local actor = require "actor"
local each = require "each_worker"
local meeting = require "meeting"

-- Runs until a file "finish" exists. Every worker prints its process id and the lost workers.
local process = io.open("/proc/self/stat"):read("*n")
local started = false
actor.on_membership(function(change)
  for _, id in ipairs(change.lost) do actor.log.info("worker %d lost, now %d", id, actor.size) end
end)
actor.param.run {
  schedule = each(function(id) return { { "work", id } } end),
  push = function(ctx)
    if not started then actor.log.info("worker %d works in process %d.", ctx.id, process) end
    started = true
    return { { ctx.id, true } }
  end,
  stop = function() return meeting.is_there("finish") end,
}
print(("ended with %d workers"):format(actor.size))
