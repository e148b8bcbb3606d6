--- Typed chunks, and the completion of their words.
local chunk = require("actor.console.chunk")
local complete = require("actor.console.complete")
local names = require("actor.console.names")
local tensor = require("actor.tensor")

local function value_of(source)
  local loaded, message = chunk.load(source)
  assert(loaded, message)
  return loaded()
end

local function state_of(source)
  local loaded, _, open = chunk.load(source)
  return loaded and "whole" or open and "open" or "wrong"
end

test("an expression has a value, and statements have their returned values", function()
  equal(value_of("1 + 1"), 2)
  equal({ value_of("1, 2") }, { 1, 2 })
  equal(value_of("= 5"), 5)
  equal(value_of("return 7"), 7)
  equal(value_of("for i = 1, 3 do end"), nil)
  equal(select("#", value_of("local x = 1")), 0)
  equal(value_of(""), nil)
  equal(value_of("-- a comment"), nil)
  equal(value_of("(function()\n  return 3\nend)()"), 3)
  equal(value_of("local x = 1; x"), 1)
  equal(value_of("local x = 1; x + 4"), 5)
  equal({ value_of("local x = 1\nlocal y = x + 1; x, y") }, { 1, 2 })
  equal(state_of("local x = 1; for i = 1, 2 do\nx"), "open")
  equal(state_of("local s = 'a;' y"), "open")
end)

test("a chunk that more lines can complete is open, a syntax error is not", function()
  for _, source in ipairs { "for i = 1, 3 do", "f(", "x = {", "1 +", "if x then", "function f()", "x = [[a", "--[[ a",
    "local function f()\n  return 1", "return function()", "f(1,", "x =" } do
    equal(state_of(source), "open")
  end
  for _, source in ipairs { "x = = 1", "end", 'x = "abc', "for", "1 1", "f(]" } do
    equal(state_of(source), source == "for" and "open" or "wrong")
  end
  for _, source in ipairs { "x = 1", "f()", "", "   ", "return", "a.b = function() end" } do equal(state_of(source), "whole") end
end)

test("bytecode is rejected as a chunk", function()
  equal(state_of("\27LJ\2"), "wrong")
end)

test("an error names the input and its line", function()
  local loaded = chunk.load("x = nil\nerror('broken')", "=input 3")
  local _, message = pcall(loaded)
  equal(message, "input 3:2: broken")
  local _, why = chunk.load("x = = 1", "=input 3")
  equal(why:match("^input 3:1: "), "input 3:1: ")
end)

test("a chunk with a single local statement is detected, other uses of local are not", function()
  equal(chunk.lone_local("local x = 1"), "x")
  equal(chunk.lone_local(" local abc, d = f()"), "abc")
  equal(chunk.lone_local("local function f() end"), "f")
  equal(chunk.lone_local("local x"), "x")
  equal(chunk.lone_local("x = 1"), nil)
  equal(chunk.lone_local("do local x = 1 end"), nil)
  equal(chunk.lone_local("locale = 1"), nil)
end)

test("lines are joined if their line ends do not matter", function()
  equal(chunk.one_line("for i = 1, 3 do\n  f(i)\nend"), "for i = 1, 3 do f(i) end")
  equal(chunk.one_line("f() -- first\ng()"), nil)
  equal(chunk.one_line("x = [[a\nb]]"), nil)
  equal(chunk.one_line("a -- b"), "a -- b")
end)

local function words(before)
  local _, found = complete.at(before)
  return table.concat(found, " ")
end

test("globals, modules and keywords are completed", function()
  rawset(_G, "console_word_one", 1)
  rawset(_G, "console_word_two", function() end)
  equal(words("x = console_word_"), "console_word_one console_word_two(")
  equal(words("pri"), "print(")
  equal(words("fun"), "function")
  equal(words("tens"), "tensor")
  equal(words("(acto"), "actor")
  equal(words("no_such_name"), "")
  rawset(_G, "console_word_one", nil)
  rawset(_G, "console_word_two", nil)
end)

test("fields are completed after dots and methods after a colon, of objects too", function()
  rawset(_G, "console_net", { params = {}, layer = { width = 3, wire = function() end }, one = tensor.zeros { 2, 3 } })
  equal(words("console_net.la"), "console_net.layer")
  equal(words("f(console_net.layer.wi"), "console_net.layer.width console_net.layer.wire(")
  equal(words("console_net.layer:wi"), "console_net.layer:wire(")
  equal(words("console_net.one.sh"), "console_net.one.shape")
  equal(words("console_net.one:nor"), "console_net.one:norm(")
  equal(words("tensor.zeros"), "tensor.zeros( tensor.zeros_like(")
  equal(words("actor.tenso"), "actor.tensor")
  equal(words("actor.tensor.zeros_"), "actor.tensor.zeros_like(")
  equal(words("actor.no_such.x"), "")
  equal(words("console_net.layer:wire():x"), "")
  local object = setmetatable({}, { __index = setmetatable({ first = function() end }, { __index = { second = 1 } }) })
  rawset(_G, "console_net", object)
  equal(words("console_net."), "console_net.first( console_net.second")
  rawset(_G, "console_net", setmetatable({}, { __index = function() error("asked") end }))
  equal(words("console_net.x"), "")
  rawset(_G, "console_net", nil)
end)

test("completion adds the common prefix of the words, and lists the words if there is none", function()
  local function choice(word, list) return { complete.choice(word, list, 40) } end
  equal(choice("ten", { "tensor" }), { "sor", "" })
  equal(choice("te", { "tensor", "tensors" }), { "nsor", "" })
  equal(choice("t.", { "t.zeros(", "t.ones(" }), { "", "zeros(  ones(" })
  equal(choice("x", {}), { "", "" })
  equal({ complete.choice("get a/", { "get a/1.w", "get a/2.w" }, 40, "/") }, { "", "1.w  2.w" })
  equal({ complete.choice(":s", { ":set", ":steps" }, 40, "/") }, { "", "set    steps" })
  local many = {}
  for i = 1, 30 do many[i] = ("a.field%02d"):format(i) end
  local _, list = complete.choice("a.field", many, 40)
  equal(list:match("^[^\n]*"), "field01  field09  field17  field25")
end)

test("a chunk sees the library's modules, and its assignments set globals of the script", function()
  local environment = names.environment()
  equal(environment.tensor, tensor)
  equal(environment.actor, require("actor"))
  equal(environment.print, print)
  raises(function() return environment.no_such_name_anywhere end, "_spec.lua:%d+: undefined global 'no_such_name_anywhere'")
  setfenv(chunk.load("console_made = 3"), environment)()
  equal(rawget(_G, "console_made"), 3)
  equal(setfenv(chunk.load("console_made + 1"), environment)(), 4)
  rawset(_G, "console_made", nil)
end)
