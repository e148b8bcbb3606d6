--- Values as text at a prompt.
local chunk = require("actor.console.chunk")
local format = require("actor.console.format")
local tensor = require("actor.tensor")

test("numbers, strings, nil and booleans are shown as they are, strings in tables in quotes", function()
  equal(format.value(3), "3")
  equal(format.value(0.1), "0.1")
  equal(format.value(-1 / 0), "-inf")
  equal(format.value(0 / 0), "nan")
  equal(format.value(2 ^ 60), "1.152921504606847e+18")
  equal(format.value("a\nb"), "a\nb")
  equal(format.values("table", nil, true), "nil\ntrue")
  equal(format.values("table"), "")
  equal(format.value { "a\nb", 'say "x"' }, [[{ "a\nb", "say \"x\"" }]])
  equal(format.value("käse"), "käse")
end)

test("different numbers have different texts, and reading a text returns the number", function()
  equal({ format.value(0.3), format.value(0.1 + 0.2) }, { "0.3", "0.30000000000000004" })
  equal({ format.value(2 ^ 53), format.value(2 ^ 53 + 2) }, { "9007199254740992", "9007199254740994" })
  equal({ format.value(1e15), format.value(-1e300), format.value(5e-324) }, { "1e+15", "-1e+300", "5e-324" })
  equal(format.value { 0.1 + 0.2 }, "{ 0.30000000000000004 }")
  equal(format.value { tensor.new { 0.1, 1 / 3, 16777217 } }, "{ tensor 3 float32: 0.1 0.33333334 16777216 }")
  equal(format.values("json", 0.1 + 0.2, 2 ^ 53 + 2), "[0.30000000000000004,9007199254740994]")
  local random = require("actor.rng")(scratch_seed)
  for _ = 1, 2000 do
    local x = random:normal() * 10 ^ random:int(-300, 300)
    equal({ tonumber(format.value(x)), tonumber(format.values("json", x):sub(2, -2)) }, { x, x })
  end
end)

test("tables show their array first, then names in order; other keys are in brackets", function()
  equal(format.value {}, "{}")
  equal(format.value { 1, 2, b = 2, a = { x = 1 }, [10] = "ten", ["not a name"] = 1, ["end"] = 2, [false] = 3 },
    '{ 1, 2, [10] = "ten", a = { x = 1 }, b = 2, ["end"] = 2, ["not a name"] = 1, [false] = 3 }')
end)

test("long tables are broken into lines, arrays of numbers fill them", function()
  local t = { name = ("x"):rep(60), other = ("y"):rep(60), { 1 } }
  equal(format.value(t), ('{\n  { 1 },\n  name = "%s",\n  other = "%s"\n}'):format(t.name, t.other))
  local numbers = {}
  for i = 1, 60 do numbers[i] = i * 1000 end
  local lines = 0
  for line in (format.value(numbers) .. "\n"):gmatch("(.-)\n") do
    assert(#line <= 101, line)
    lines = lines + 1
  end
  equal(lines, 7)
end)

test("entries, depth and bytes are limited, and the text states the omissions", function()
  local many = {}
  for i = 1, 250 do many[i] = i end
  assert(format.value(many):find("100,%s+... 150 more\n}$"), format.value(many))
  local names = {}
  for i = 1, 120 do names["k" .. i] = i end
  assert(format.value(names):find("... 20 more", 1, true))
  local deep = {}
  for _ = 1, 10 do deep = { deep } end
  equal(format.value(deep), "{ { { { { {...} } } } } }")
  local huge = format.value(("ä"):rep(20000))
  equal(huge, ("ä"):rep(8192) .. "\n... 23616 bytes more")
  local wide = {}
  for i = 1, 90 do
    wide[i] = {}
    for j = 1, 90 do wide[i][j] = ("text %d %d"):format(i, j) end
  end
  assert(#format.value(wide) < 40000)
end)

test("cycles are cut, and a table with two references is shown twice", function()
  local a = { name = "a" }
  a.self = a
  equal(format.value(a), '{ name = "a", self = <the table around it> }')
  local b = { 1 }
  equal(format.value { b, b }, "{ { 1 }, { 1 } }")
end)

test("metatables are not called for fields, and a failing metatable does no harm", function()
  local strict = setmetatable({ x = 1 }, { __index = function() error("no") end, __len = function() return 9 end })
  equal(format.value(strict), "{ x = 1 }")
  local spoken = setmetatable({}, { __tostring = function() return "dataset 3" end })
  equal(format.value { spoken }, "{ dataset 3 }")
  local broken = setmetatable({}, { __tostring = function() error("broken") end })
  assert(format.value(broken):find("^<a table that cannot be shown: .*broken>$"))
  assert(format.value({ 1, broken }):find("^{ 1, <a table that cannot be shown: .*broken> }$"))
  assert(format.value({ 1, broken }, "json"):find('^%[1,"<a table that cannot be shown: .*broken>"%]$'))
  assert(format.value({ 1, broken }, "lua"):find("^{ 1, {} }$"))
  assert(format.value(_G):find("^{\n"))
  assert(format.value(setmetatable({}, { __tostring = function() return 3 end })))
  assert(format.value(setmetatable({}, { __metatable = "no" })) == "{}")
end)

test("functions are shown with their source place, coroutines and C values with their type", function()
  assert(format.value(chunk.load):find("^function stdlib/actor/console/chunk.lua:%d+$"), format.value(chunk.load))
  equal(format.value(print):find("function", 1, true), 1)
  assert(format.value(coroutine.create(print)):find("^thread"))
  assert(format.value(require("ffi").new("int[3]")):find("^cdata"))
end)

test("tensors show shape and type; large tensors show an excerpt", function()
  equal(format.value(tensor.new { 1, 2 }), tostring(tensor.new { 1, 2 }))
  local large = format.value(tensor.zeros { 784, 100 })
  assert(large:find("shape=(784, 100), float32", 1, true) and #large < 1000, large)
  equal(format.value { w = tensor.zeros { 784, 100 }, b = tensor.new({ 1, 2.5 }, { dtype = "float64" }) },
    "{ b = tensor 2 float64: 1 2.5, w = tensor 784x100 float32 }")
  equal(format.value { tensor.full({}, 3) }, "{ tensor scalar float32: 3 }")
  equal(format.value { tensor.new { true, false } }, "{ tensor 2 bool: true false }")
  equal(format.value { tensor.new { 9007199254740993LL, 1 } }, "{ tensor 2 int64: 9007199254740993 1 }")
  for _, values in ipairs { { true, false }, { 9007199254740993LL, 1 } } do
    local t = tensor.new(values)
    equal(load("return " .. format.value(t, "lua"))():equal(t), true)
  end
  equal(format.value(tensor.new { true }, "json"), '{"dtype":"bool","shape":[1],"values":[true]}')
  equal(format.value(tensor.new { 9007199254740993LL }, "json"),
    '{"dtype":"int64","shape":[1],"values":["9007199254740993"]}')
end)

test("the Lua format can be loaded", function()
  local value = { 1, 0.1, "a\nb\0c", true, { x = { y = -1 / 0 } }, ["end"] = 2 ^ 70, [2.5] = "k" }
  equal(load("return " .. format.value(value, "lua"))(), value)
  local t = load("return " .. format.value(tensor.new { { 1, 2 }, { 3, 0.5 } }, "lua"))()
  equal(t:totable(), { { 1, 2 }, { 3, 0.5 } })
  assert(load("return " .. format.values("lua", print, { f = print }, coroutine.create(print), "]]")))
  equal(load("return " .. format.value(0 / 0, "lua"))() ~= 0 / 0, true)
end)

test("the JSON format is valid JSON, an array of the values", function()
  equal(format.values("json", 1, "a\n\"b\" \255", nil, 0 / 0), [=[[1,"a\n\"b\" ?",null,null]]=])
  equal(format.values("json"), "[]")
  equal(format.value({ 1, { a = 1 }, {} }, "json"), '[1,{"a":1},{}]')
  equal(format.value({ 1, a = 2 }, "json"), '{"1":1,"a":2}')
  equal(format.value(tensor.new { { 1, 2 } }, "json"), '{"dtype":"float32","shape":[1,2],"values":[1,2]}')
  local cycle = {}
  cycle[1] = cycle
  equal(format.value(cycle, "json"), '["<the table around it>"]')
  equal(format.value(print, "json"):sub(1, 10), '"function:')
end)
