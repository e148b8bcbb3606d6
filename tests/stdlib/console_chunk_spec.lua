--- Typed chunks, and the completion of their words.
local chunk = require("actor.console.chunk")
local complete = require("actor.console.complete")
local names = require("actor.console.names")
local tokens = require("actor.console.tokens")
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

-- The value of a chunk, and of the chunk on one line.
local function both_values(source)
  local line = tokens.one_line(source)
  equal(line:find("\n", 1, true), nil)
  return { value_of(source), value_of(line) }
end

test("a chunk of several lines is one line in the history, with its comments and the same meaning", function()
  equal(tokens.one_line("for i = 1, 3 do\n  f(i)\nend"), "for i = 1, 3 do f(i) end")
  equal(tokens.one_line("f() -- first\ng()"), "f() --[[ first]] g()")
  equal(tokens.one_line("f() --[[a\n  b]] g()"), "f() --[[a b]] g()")
  equal(tokens.one_line("f() -- ends with ]\ng()"), "f() --[=[ ends with ]]=] g()")
  equal(tokens.one_line("a -- b"), "a -- b")
  equal(tokens.one_line("'--'\n.. \"[[\""), "'--' .. \"[[\"")
  equal(both_values("return [[\na \"b\" \\\n-- c]]"), { 'a "b" \\\n-- c', 'a "b" \\\n-- c' })
  equal(both_values("return [==[a]]\nb]==]"), { "a]]\nb", "a]]\nb" })
  equal(both_values("return 'a\\\nb'"), { "a\nb", "a\nb" })
  equal(both_values("local function double(x) -- twice\n  return 2 * x\nend\nreturn double(0x1e+1) .. 1e-1"), { "620.1", "620.1" })
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

test("methods are completed behind a call, by the return type in its docstring, and nothing is called", function()
  equal(words("x = f(actor.rng(1):sam"), ":sample(")
  equal(words("tensor.zeros{2, 3}:nor"), ":norm(")
  equal(words("actor.tensor.zeros(2):reshape(1, 2):nor"), ":norm(")
  equal(words("('a b'):gs"), ":gsub(")
  equal(words("'x':up"), ":upper(")
  local called = false
  rawset(_G, "console_call", function() called = true end)
  equal(words("console_call():x"), "")
  equal(words("console_call().x.y"), "")
  equal(called, false)
  rawset(_G, "console_call", nil)
  for _, source in ipairs { "f(:", "):", "]:", "{}:", "actor.rng(1, 'x:", "1..2:", "return:", ":", "(a)(b):" } do equal(words(source), "") end
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

test("a chunk reads and changes the local variables of the main chunk that it interrupts", function()
  local script = coroutine.create(load([[
    local count, hidden = 1, nil
    local function inner() local own = 2 coroutine.yield() return own end
    for step = 1, 1 do
      local count = 10
      inner()
      result = count
    end
    result = { result, count }
    local later = 5
  ]], "@script.lua"))
  rawset(_G, "result", nil)
  assert(coroutine.resume(script))
  local environment = names.environment(script)
  local function run(source) return setfenv(chunk.load(source), environment)() end
  equal({ run("count"), run("step"), run("hidden"), type(run("inner")) }, { 10, 1, nil, "function" })
  raises(function() return environment.own end, "undefined global 'own'")
  raises(function() return environment.later end, "undefined global 'later'")
  equal(words("inn"), "inner(")
  equal(words("coun"), "count")
  run("count = count + 5; hidden = 'x'")
  assert(coroutine.resume(script))
  equal(rawget(_G, "result"), { 15, 1 })
  rawset(_G, "result", nil)
  names.environment()
end)
