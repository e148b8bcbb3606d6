--- Rules of actor.barrier, named by a text or read from a file.
local barrier = require("actor.barrier")
local specs = require("actor.policy.spec")
local passing = require("barrier_cluster").passing

-- --- texts ---

test("texts name rules with their parameters and policy", function()
  local function named(text, name, resample)
    local rule = barrier.from(text)
    equal(rule.name, name)
    equal(type(rule.resample) == "table" and "poll:" .. rule.resample.poll or rule.resample, resample)
  end
  named("bsp", "bsp")
  named("asp", "asp")
  named("ssp:4", "ssp(4)")
  named("pbsp:10", "pbsp(10)", "event")
  named("pssp:10:4", "pssp(10, 4)", "event")
  named("pbsp:10@sticky", "pbsp(10)", "sticky")
  named("pssp:10:4@poll:0.5", "pssp(10, 4)", "poll:0.5")
  named("quorum:0.8", "quorum(0.8, 0)")
  named("quorum:0.8:1", "quorum(0.8, 1)")
  named("backup:2", "backup(2)")
  equal(barrier.from("pbsp:3", { resample = "sticky" }).resample, "sticky")
  equal(barrier.from("pbsp:3@event", { resample = "sticky" }).resample, "event")
  equal(barrier.from("ssp:3", { resample = "sticky" }).resample, nil)
  local rule = barrier.ssp(2)
  equal(rawequal(barrier.from(rule), rule), true)
end)

test("a sampling rule records whether its policy was given", function()
  equal(barrier.pbsp(3).policy_given, false)
  equal(barrier.pssp(3, 1, { resample = "event" }).policy_given, true)
  equal(barrier.from("pbsp:3").policy_given, false)
  equal(barrier.from("pbsp:3@event").policy_given, true)
  equal(barrier.from("delay_bounded:2:pbsp:3@sticky").policy_given, true)
  equal(barrier.delay_bounded(2, barrier.pbsp(3)).policy_given, false)
end)

test("a text that names no rule is an error that lists the rules", function()
  local function refused(text, pattern) raises(function() barrier.from(text) end, pattern) end
  refused("pspb:3", "there is no rule 'pspb'; did you mean pbsp%?")
  refused("BSP", "did you mean bsp%?")
  refused("nonsense", "there is no rule 'nonsense' %(known: asp, assp:LOWER:UPPER, awpsp:BETA%[:S%], backup:K, bsp, .*" ..
    "pbsp:BETA, pssp:BETA:S, quorum:FRACTION%[:S%], sample:BETA:RULE, ssp:S, .*, or a file")
  refused("", "there is no rule ''")
  refused("ssp", "0 parameters are given; it is written ssp:S")
  refused("bsp:1", "1 parameter is given; it is written bsp")
  refused("pssp:1:2:3", "3 parameters are given; it is written pssp:BETA:S")
  refused("ssp:-1", "s has to be a whole number of at least 0, not '%-1'")
  refused("ssp:nan", "not 'nan'")
  refused("ssp:1.5", "not '1.5'")
  refused("ssp:", "not ''")
  refused("pbsp:inf", "not 'inf'")
  refused("quorum:2", "fraction has to be a number from 0 to 1")
  refused("ssp:4@sticky", "ssp does not sample, so it takes no @sticky")
  refused("pbsp:4@often", "resampling 'often' is none of event, sticky, poll:SECONDS")
  refused("pbsp:4@poll:-1", "resampling 'poll:%-1'")
  raises(function() barrier.from("pbsp:4", { resample = "often" }) end, "%-%-resample often.*resampling 'often'")
  raises(function() barrier.from(3) end, "bad argument 'rule' to barrier.from: expected a rule or a function")
end)

-- --- files ---

-- A loader over a table of files.
local function loader(files)
  return function(path)
    if not files[path] then return nil, path .. ": No such file" end
    return files[path], "@" .. path
  end
end

local files = {
  ["one.lua"] = "return function(view) return view:behind(1) == 0 end",
  ["table.lua"] = "local b = require 'actor.barrier'\n" ..
    "return {halfway = function(view) return view:quantile(0.5) >= view.step end, tight = b.ssp(1), version = 3}",
  ["lone.lua"] = "return {only = function() return true end}",
  ["nothing.lua"] = "local x = 1",
  ["number.lua"] = "return 3",
  ["empty.lua"] = "return {}",
  ["syntax.lua"] = "return function(view",
  ["raises.lua"] = "error('not today')",
  ["sub/dir.x/rule.lua"] = "return function() return true end",
}

local function from_file(text) return barrier.from(text, { load = loader(files) }) end

test("a file returns a rule or a table of named rules", function()
  local one = from_file("one.lua")
  equal(one.name, "one.lua")
  equal(one.where, "one.lua:1")
  equal(passing(one, { 3, 2, 4 }, { 0, 2 }), "0")
  local halfway = from_file("table.lua:halfway")
  equal(halfway.name, "table.lua:halfway")
  equal(passing(halfway, { 3, 3, 1, 1, 3 }, { 0 }), "0")
  equal(from_file("table.lua:tight").name, "ssp(1)")
  equal(from_file("lone.lua").name, "lone.lua:only")
  equal(from_file("sub/dir.x/rule.lua").name, "sub/dir.x/rule.lua")
  equal(passing(barrier.sample(2, one), { 0, 0, 0 }, { 0 }), "0")
end)

test("a file that returns no rule is an error with the reason", function()
  local function refused(text, pattern) raises(function() from_file(text) end, pattern) end
  refused("absent.lua", "barrier 'absent.lua': cannot be read: absent.lua: No such file")
  refused("syntax.lua", "barrier 'syntax.lua': syntax.lua:1:")
  refused("raises.lua", "barrier 'raises.lua': raises.lua:1: not today")
  refused("nothing.lua", "has to return a rule or a table of named rules, not nothing")
  refused("number.lua", "not number")
  refused("empty.lua", "has no rule in it")
  refused("table.lua", "has several rules, name one of them as table.lua:NAME %(halfway, tight%)")
  refused("table.lua:halfwy", "table.lua has no rule 'halfwy'; did you mean halfway%? %(it has halfway, tight%)")
  refused("table.lua:version", "table.lua has no rule 'version'")
  refused("one.lua:other", "returns one rule without a name")
end)

test("without a given loader the module's own loader reads files", function()
  local before = specs.loader
  specs.loader = loader(files)
  local rule = barrier.from("one.lua")
  specs.loader = before
  equal(rule.name, "one.lua")
  raises(function() barrier.from("no/such/rule.lua") end, "cannot be read: no/such/rule.lua")
end)
