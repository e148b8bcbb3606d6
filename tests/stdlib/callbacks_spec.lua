--- Callback helpers shared by the engines.
local slept = {}
package.loaded["actor.c.node"] = { sleep = function(seconds) slept[#slept + 1] = seconds end }
local callbacks = require("actor.callbacks")

local function returns_nothing() end

test("an error names a callback with its line", function()
  equal(callbacks.named("push", returns_nothing):match("^push %(.*callbacks_spec.lua:6%)$") ~= nil, true)
end)

test("the result of a callback is checked, and the error suggests a missing return", function()
  callbacks.check_returned({}, "table", "schedule", returns_nothing, "an array of keys")
  raises(function() callbacks.check_returned(nil, "table", "schedule", returns_nothing, "an array of keys") end,
    "schedule %(.*callbacks_spec.lua:6%) returned nil, expected an array of keys %(is a 'return' missing%?%)$")
  raises(function() callbacks.check_returned(1, "boolean", "stop", returns_nothing, "a boolean") end,
    "returned number, expected a boolean$")
end)

test("a push is delayed and slowed by sleeping", function()
  local function push(ctx, entries) return { ctx, entries } end
  equal(callbacks.slowed(function() return 0, 1 end, push, "me", "these"), { "me", "these" })
  equal(#slept, 0)
  equal(callbacks.slowed(function() return 0.25, 3 end, push, "me", "these"), { "me", "these" })
  equal(#slept, 2)
  equal(slept[1], 0.25)
  equal(slept[2] >= 0, true)
end)
