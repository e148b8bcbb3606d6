--- Argument checks: accepted values, error texts, and errors at the user's line.
local check = require("actor.check")

test("arg names the argument, the function and both types", function()
  check.arg(5, "number", "steps", "param.run")
  raises(function() check.arg("x", "number", "steps", "param.run") end,
    "check_spec.lua:%d+: bad argument 'steps' to param.run: expected number, got string$")
  raises(function() check.arg(nil, "table", "t", "f") end, "expected table, got nil$")
end)

test("optional accepts nil too", function()
  check.optional(nil, "number", "n", "f")
  check.optional(1, "number", "n", "f")
  raises(function() check.optional({}, "number", "n", "f") end, "expected number or nil, got table")
end)

test("integer accepts only whole numbers of its range", function()
  check.integer(3, "n", "f")
  check.integer(0, "n", "f", 0, 0)
  raises(function() check.integer(1.5, "n", "f") end, "expected an integer, got 1.5")
  raises(function() check.integer(0 / 0, "n", "f") end, "expected an integer, got %-?nan")
  raises(function() check.integer(1 / 0, "n", "f") end, "expected an integer, got inf")
  raises(function() check.integer(-1, "n", "f", 0) end, "expected an integer of at least 0, got %-1")
  raises(function() check.integer(11, "n", "f", 0, 10) end, "expected an integer from 0 to 10, got 11")
  raises(function() check.integer("3", "n", "f") end, "expected an integer, got string")
end)

test("number accepts numbers of its range, and no NaN", function()
  check.number(0.5, "x", "f", 0, 1)
  check.number(1 / 0, "x", "f")
  raises(function() check.number(0 / 0, "x", "f") end, "expected a number, got %-?nan")
  raises(function() check.number(2, "x", "f", nil, 1) end, "expected a number of at most 1, got 2")
end)

test("one_of lists the choices", function()
  check.one_of("b", { "a", "b" }, "mode", "f")
  raises(function() check.one_of("c", { "a", "b" }, "mode", "f") end, "expected one of 'a', 'b', got 'c'")
end)

test("options rejects unknown names and wrong types", function()
  local kinds = { steps = "number", rule = "string|function?", any = "any?" }
  check.options({ steps = 1 }, kinds, "f")
  check.options({ steps = 1, rule = print, any = {} }, kinds, "f")
  raises(function() check.options({ steps = 1, step = 2 }, kinds, "f") end, "unknown option 'step' to f %(known: any, rule, steps%)")
  raises(function() check.options({}, kinds, "f") end, "bad argument 'steps' to f: expected number, got nil")
  raises(function() check.options({ steps = 1, rule = 5 }, kinds, "f") end, "expected string or function, got number")
  raises(function() check.options(nil, kinds, "f") end, "bad argument 'options' to f: expected table, got nil")
end)

test("a check deep in the standard library is reported at the user's line", function()
  local actor = require("actor")
  local line = debug.getinfo(1, "l").currentline + 1
  local _, message = pcall(function() actor.rng(-1) end)
  equal(message:match("^check_spec.lua:(%d+): "), tostring(line))
end)

test("a check in a coroutine is reported at the user's line", function()
  local actor = require("actor")
  local line = debug.getinfo(1, "l").currentline + 1
  local thread = coroutine.create(function() actor.pairs(nil) end)
  local _, message = coroutine.resume(thread)
  equal(message:match("^check_spec.lua:(%d+): "), tostring(line))
end)
