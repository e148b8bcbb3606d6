--- The actor module itself: members, lazy submodules, key order, strict globals.
local actor = require("actor")

test("a submodule is loaded on first use", function()
  equal(rawget(actor, "check"), nil)
  equal(actor.check, require("actor.check"))
  equal(rawget(actor, "check"), require("actor.check"))
end)

test("an unknown member is an error at the user's line", function()
  raises(function() return actor.nonsense end, "init_spec.lua:%d+: there is no actor.nonsense")
  raises(function() return actor[1] end, "init_spec.lua:%d+: there is no actor%[1%]")
end)

test("identity is an error outside a cluster", function()
  for _, name in ipairs({ "rank", "size", "id", "role", "epoch", "on_membership", "on_error" }) do
    raises(function() return actor[name] end, "actor." .. name .. ": this Lua state is not a node")
  end
end)

test("args, version and clock are always available", function()
  equal(type(actor.args), "table")
  raises(function() return #actor.version > 0 and error("version " .. actor.version) end, "version %d+%.%d+%.%d+")
  local before = actor.now()
  holds(actor.now(), ">=", before)
end)

test("actor.pairs visits keys in order: numbers, strings, booleans", function()
  local keys = {}
  local t = { b = 1, a = 2, [10] = 3, [2.5] = 4, [-1] = 5, [true] = 6, [false] = 7, x = 8, 9 }
  for key, value in actor.pairs(t) do
    equal(t[key], value)
    keys[#keys + 1] = tostring(key)
  end
  equal(table.concat(keys, " "), "-1 1 2.5 10 a b x false true")
  for _ in actor.pairs({}) do error("an empty table has no keys") end
end)

test("actor.pairs skips entries removed during the loop and does not visit added entries", function()
  local t, seen = { a = 1, b = 2, c = 3 }, {}
  for key in actor.pairs(t) do
    seen[#seen + 1] = key
    t.b, t.z = nil, 1
  end
  equal(seen, { "a", "c" })
end)

test("actor.pairs raises an error for keys without an order, at the user's line", function()
  raises(function() actor.pairs({ [{}] = 1 }) end, "init_spec.lua:%d+: a table key has no order")
  raises(function() actor.pairs(5) end, "init_spec.lua:%d+: bad argument 't' to actor.pairs: expected table, got number")
end)

test("log accepts formats and values", function()
  actor.log.debug("below the level: %d", 1)
  actor.log.debug({}, nil, 3)
  raises(function() actor.log.error("%d", "x") end,
    "^[^:]*init_spec.lua:%d+: actor.log: bad argument #2 %(number expected, got string%) in '%%d'")
end)

test("reading an undefined global is an error with its name", function()
  raises(function() return undefined_name end, "init_spec.lua:%d+: undefined global 'undefined_name'")
  equal(rawget(_G, "undefined_name"), nil)
end)

test("a function cannot create a global, a chunk can, and a declared global may be nil", function()
  raises(function() accidental = 1 end, "init_spec.lua:%d+: assignment to undeclared global 'accidental' inside a function")
  load("declared = nil")()
  equal(declared, nil)
  declared = 3
  equal(declared, 3)
  declared = nil
  equal(declared, nil)
end)

test("bytecode can be neither loaded nor made", function()
  equal(string.dump, nil)
  local chunk, message = load("\27LJ\2\0\0")
  equal(chunk, nil)
  matches(message, "only Lua source text")
end)
