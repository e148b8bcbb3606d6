--- Command lines of subcommands.
local flags = require("actor.flags")

local known = {
  { name = "nodes", short = "n", value = "N", kind = "integer", default = 3, help = "how many" },
  { name = "loss", value = "P", kind = "number", help = "share" },
  { name = "rule-name", value = "TEXT", many = true, help = ("words "):rep(40) },
  { name = "quiet", help = "say nothing" },
  { name = "attach", value = "PLACE", alone = "", help = "where" },
}

local function parse(...) return flags.parse(known, { ... }) end

test("values, switches, arrays, defaults and words without a flag are parsed", function()
  local values, rest, given = parse("a.lua", "--nodes", "7", "--loss=0.5", "--rule_name", "x", "--rule-name=y=z", "--quiet", "b")
  equal(values, { nodes = 7, loss = 0.5, ["rule-name"] = { "x", "y=z" }, quiet = true })
  equal(rest, { "a.lua", "b" })
  equal(given, { "nodes", "loss", "rule-name", "quiet" })
  equal(select(3, parse("b")), {})
  equal((parse()), { nodes = 3 })
  equal((parse("-n", "5")).nodes, 5)
  equal((parse("-n5")).nodes, 5)
  equal((parse("--loss", "-1")).loss, -1)
  equal(select(2, parse("-")), { "-" })
end)

test("an optional value of a flag may be omitted", function()
  equal((parse("--attach", "--quiet")), { nodes = 3, attach = "", quiet = true })
  equal((parse("--attach")), { nodes = 3, attach = "" })
  equal((parse("--attach", "here")).attach, "here")
  equal((parse("--attach=", "here")).attach, "")
end)

test("errors name the wrong flag or value", function()
  local function wrong(expected, ...)
    local values, message = parse(...)
    equal(values, nil)
    equal(message, expected)
  end
  wrong("unknown flag '--nods'; did you mean --nodes?", "--nods", "3")
  wrong("unknown flag '--xyzzy'", "--xyzzy")
  wrong("unknown flag '-q'", "-q")
  wrong("unknown flag '-q5'", "-q5")
  wrong("--nodes wants a whole number, got 'x'", "-nx")
  wrong("--nodes wants a value: --nodes N", "--nodes")
  wrong("--nodes wants a whole number, got '1.5'", "--nodes", "1.5")
  wrong("--loss wants a number, got 'nan'", "--loss", "nan")
  wrong("--loss wants a number, got '1e999'", "--loss", "1e999")
  wrong("--quiet takes no value", "--quiet=yes")
end)

test("the name of a value lists the words that are valid", function()
  local function words(value) return { flags.words(value) } end
  equal(words("all|first"), { { "all", "first" }, true })
  equal(words("N|auto"), { { "auto" }, false })
  equal(words("event|sticky|poll:SECONDS"), { { "event", "sticky", "poll:" }, false })
  equal(words("FILE"), { {}, false })
end)

test("a flag without a help text is parsed and is not in the help", function()
  local hidden = { { name = "worker" }, { name = "quiet", help = "say nothing" } }
  equal(flags.parse(hidden, { "--worker" }), { worker = true })
  equal(flags.help(hidden):find("worker", 1, true), nil)
end)

test("help lists each flag and fits a terminal", function()
  local help = flags.help(known)
  for _, text in ipairs { "-n,--nodes N", "how many (3)", "--rule-name TEXT", "say nothing", "--attach [PLACE]" } do
    matches(help, text, true)
  end
  for line in help:gmatch("[^\n]+") do holds(#line, "<=", 111, line) end
end)

