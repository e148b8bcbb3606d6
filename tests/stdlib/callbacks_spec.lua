--- Callback helpers shared by the engines.
local slept, now = {}, 0
package.loaded["actor.c.node"] = {
  sleep = function(seconds)
    slept[#slept + 1] = seconds
    now = now + seconds
  end,
}
local callbacks = require("actor.callbacks")

local function returns_nothing() end

test("an error names a callback with its line", function()
  matches(callbacks.named("push", returns_nothing), "^push %(.*callbacks_spec.lua:11%)$")
end)

test("the result of a callback is checked, and the error suggests a missing return", function()
  callbacks.check_returned({}, "table", "schedule", returns_nothing, "an array of keys")
  raises(function() callbacks.check_returned(nil, "table", "schedule", returns_nothing, "an array of keys") end,
    "schedule %(.*callbacks_spec.lua:11%) returned nil, expected an array of keys %(is a 'return' missing%?%)$")
  raises(function() callbacks.check_returned(1, "boolean", "stop", returns_nothing, "a boolean") end,
    "returned number, expected a boolean$")
end)

test("a push is delayed by sleeping before it, and slowed by sleeping a multiple of its duration after it", function()
  local actor = require("actor")
  local real_now = actor.now
  rawset(actor, "now", function() return now end)
  local function push(ctx, entries)
    now = now + 2
    return { ctx, entries, #slept }
  end
  equal(callbacks.slowed(function() return 0, 1 end, push, "me", "these"), { "me", "these", 0 })
  equal(slept, {})
  equal(callbacks.slowed(function() return 0.25, 3 end, push, "me", "these"), { "me", "these", 1 })
  equal(slept, { 0.25, 2 * 2.25 })
  rawset(actor, "now", real_now)
end)
