--- A job's own flags and their valid values. names_spec.lua covers the nearest names.
local options = require("actor.options")

local function even(word)
  if tonumber(word) % 2 ~= 0 then error("rule.lua:7: " .. word .. " is odd", 0) end
end

local function declared()
  return {
    "PATH", push = { "delta", "gradient" }, seconds = { 40, above = 0 }, delay = { 1, least = 0 },
    seeds = { 3, least = 1, whole = true }, numbers = { "2,4", each = even }, plain = "", fast = false,
  }
end

local function refuses(args, message)
  raises(function() options(declared(), args) end, "options_spec.lua:%d+: " .. message)
end

test("flags with limits have defaults", function()
  equal(options(declared(), {}),
    { push = "delta", seconds = 40, delay = 1, seeds = 3, numbers = { "2", "4" }, plain = "", fast = false })
end)

test("the job receives the valid values of a flag", function()
  local words = { "a", "--push", "gradient", "--seconds=0.1", "--delay", "0", "--seeds", "1", "--numbers", "8", "--fast" }
  equal(options(declared(), words),
    { "a", push = "gradient", seconds = 0.1, delay = 0, seeds = 1, numbers = { "8" }, plain = "", fast = true })
end)

test("an invalid value is an error that names the flag, the value and the valid values", function()
  refuses({ "--push", "gradent" }, "%-%-push is one of delta, gradient; got 'gradent'; did you mean gradient%?$")
  refuses({ "--push", "weights" }, "%-%-push is one of delta, gradient; got 'weights'$")
  refuses({ "--seconds", "0" }, "%-%-seconds has to be above 0; got 0$")
  refuses({ "--delay", "-0.5" }, "%-%-delay has to be at least 0; got %-0.5$")
  refuses({ "--seeds", "0" }, "%-%-seeds has to be at least 1; got 0$")
  refuses({ "--seeds", "1.5" }, "%-%-seeds wants a whole number, got '1.5'; ")
  refuses({ "--seeds", "nan" }, "%-%-seeds wants a whole number, got 'nan'; ")
end)

test("a list has each word once, and the error names the first wrong word", function()
  refuses({ "--numbers", "2,5,7" }, "%-%-numbers: 5 is odd$")
  refuses({ "--numbers", "2,6,2" }, "%-%-numbers names 2 twice$")
  refuses({ "--numbers", "," }, "%-%-numbers wants words with commas between them; got ','$")
  refuses({ "--numbers", "" }, "%-%-numbers wants words with commas between them; got ''$")
end)

test("the usage text lists the valid values of each flag", function()
  refuses({ "--unknown" }, "unknown flag '%-%-unknown'; arguments of this job: %[PATH%].*%[%-%-push delta|gradient%]")
end)

test("a misspelt limit is an error", function()
  raises(function() options({ n = { 1, leest = 0 } }, {}) end, "unknown option 'leest' to actor.options .*; did you mean 'least'%?")
end)
