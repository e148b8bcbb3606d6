--- actor.show: the text of values, bounded in size.
local actor = require("actor")
local tensor = require("actor.tensor")
local show = actor.show

test("a table is shown with its contents, tables and tensors in it too", function()
  equal(show { 28, 28 }, "{ 28, 28 }")
  equal(show {}, "{}")
  equal(show { name = "a", shape = { 28, 28 }, [true] = 1, ["a b"] = 2 }, '{ ["a b"] = 2, name = "a", shape = { 28, 28 }, [true] = 1 }')
  equal(show { x = tensor.arange(3), y = tensor.zeros { 10, 10 } }, "{ x = tensor 3 float32: 0 1 2, y = tensor 10x10 float32 }")
  equal({ show("a\nb"), show(nil), show(1.5), show(3LL) }, { "a\nb", "nil", "1.5", "3LL" })
  equal(show { f = show }, show { f = show })
  matches(show { f = function() end }, "{ f = function show_spec.lua:13 }", true)
end)

test("a table in itself ends the text, and the text has limits", function()
  local t = { 1 }
  t.me = t
  equal(show(t), "{ 1, me = <the table around it> }")
  equal(show({ { { { 1 } } } }, { depth = 2 }), "{ { {...} } }")
  equal(show({ 1, 2, 3, 4 }, { entries = 2 }), "{ 1, 2, ... 2 more }")
  local long = {}
  for i = 1, 1000 do long[i] = { i } end
  holds(#show(long, { bytes = 300, entries = 1000 }), "<", 400)
  equal(show({ "aaaaaaaaaa", "bbbbbbbbbb" }, { width = 20 }), '{\n  "aaaaaaaaaa",\n  "bbbbbbbbbb"\n}')
end)

test("a table with its own text has this text, and a failing text does not fail the call", function()
  equal(show(setmetatable({}, { __tostring = function() return "mine" end })), "mine")
  equal(show { setmetatable({}, { __tostring = function() return "mine" end }) }, "{ mine }")
  matches(show { setmetatable({}, { __tostring = function() error("no text") end }) }, "cannot be shown: .*no text")
end)

test("wrong limits are errors at the script's line", function()
  raises(function() show({}, { depth = 0 }) end, "^show_spec.lua:%d+: bad argument 'depth' to actor.show: expected an integer")
  raises(function() show({}, { size = 1 }) end, "unknown option 'size' to actor.show")
end)
