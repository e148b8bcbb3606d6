--- Barrier rules: when may a worker that has completed its step go on? A rule is `function(view) -> pass`; it is shown
--- the clocks of the workers that the asking one sees and returns true, false, or false and the seconds after which it
--- wants to be asked again. The same rule runs in a job, in the simulator and under `--barrier`.
---
---     local barrier = require "actor.barrier"
---     local rule = barrier.sample(10, function(view) return view:behind(2) <= 1 end)
local check = require("actor.check")
local evaluators = require("actor.barrier.evaluator")
local files = require("actor.barrier.spec")
local rules = require("actor.barrier.rule")
local views = require("actor.barrier.view")
local progresses = require("actor.barrier.progress")

local M = {}

-- A share of a count that is a whole number in decimal may be a bit more in binary: 0.07 * 100 > 7.
local rounding = 1e-9
local max_beta = 2 ^ 32 - 1
local max_staleness = 2 ^ 31 - 1

---Bulk synchronous parallel: nobody goes on before everybody has completed the step. Source: Valiant, A bridging model
---for parallel computation, CACM 1990.
---@return actor.barrier.Rule
function M.bsp()
  return rules.new {
    name = "bsp", staleness = 0, watches = "floor",
    run = function(view)
      return view:min() >= view.step
    end,
  }
end

---Stale synchronous parallel: nobody is more than `s` steps ahead of the slowest. Source: Ho et al., More effective
---distributed ML via a stale synchronous parallel parameter server, NIPS 2013.
---@param s number whole number of steps, at least 0; ssp(0) is bsp
---@return actor.barrier.Rule
function M.ssp(s)
  check.integer(s, "s", "barrier.ssp", 0, max_staleness)
  return rules.new {
    name = ("ssp(%d)"):format(s), staleness = s, watches = "floor",
    run = function(view)
      return view:min() >= view.step - s
    end,
  }
end

---Asynchronous parallel: nobody waits. Source: Recht et al., Hogwild, NIPS 2011.
---@return actor.barrier.Rule
function M.asp()
  return rules.new {
    name = "asp", watches = "timer",
    run = function()
      return true
    end,
  }
end

local function check_resample(resample, fn)
  if resample == nil then return "event" end
  if resample == "event" or resample == "sticky" then return resample end
  if type(resample) ~= "table" then
    check.wrong("resample", fn, "one of 'event', 'sticky', {poll = seconds}", resample)
  end
  check.options(resample, { poll = "number" }, fn)
  if not (resample.poll > 0 and resample.poll < math.huge) then
    check.wrong("poll", fn, "a number of seconds above 0", resample.poll)
  end
  return { poll = resample.poll }
end

-- The sooner of two re-check times. What is no time goes on as it is, to be refused by who asked.
local function sooner(seconds, other)
  if seconds == nil then return other end
  if type(seconds) == "number" and seconds > other then return other end
  return seconds
end

---The sampling primitive of probabilistic synchronous parallel: the rule is shown `beta` workers drawn without
---replacement from all (the asking one may be among them; all, when there are fewer) instead of everybody. In a sample
---of a sample the inner one is drawn from the outer one. Source: Wang, Catterall, Mortier, Probabilistic synchronous
---parallel, 2017.
---
---`resample` says when a waiting worker draws again, which decides the result: "event" (the default), each time any
---worker completes a step, joins or leaves; "sticky", not before it passes, but members that leave are replaced;
---{poll = seconds}, every so many seconds, and it looks at each sample once.
---@param beta number whole number of workers, at least 0; with 0 nobody is seen
---@param rule actor.barrier.Rule|fun(view: actor.barrier.View): boolean, number?
---@param options? {resample: "event"|"sticky"|{poll: number}}
---@return actor.barrier.Rule
function M.sample(beta, rule, options)
  check.integer(beta, "beta", "barrier.sample", 0, max_beta)
  rule = rules.of(rule, "barrier.sample")
  check.options(options or {}, { resample = "string|table?" }, "barrier.sample")
  local resample = check_resample(options and options.resample, "barrier.sample")
  local polls = type(resample) == "table"
  local inner = rule.run
  local self = rules.new {
    name = ("sample(%d, %s)"):format(beta, rule.name), where = rule.where,
    watches = polls and "timer" or "event", resample = resample, beta = beta,
  }
  function self.run(view)
    local sample, fresh, recheck = views.sample(view, self)
    if not fresh then return false, recheck end
    local pass, seconds = inner(sample)
    if pass == false then return false, sooner(seconds, recheck) end
    return pass, seconds
  end
  return self
end

---Probabilistic BSP: nobody of a sample has completed fewer steps. Source: as `sample`.
---@param beta number
---@param options? {resample: "event"|"sticky"|{poll: number}}
---@return actor.barrier.Rule
function M.pbsp(beta, options)
  check.integer(beta, "beta", "barrier.pbsp", 0, max_beta)
  local rule = M.sample(beta, M.bsp(), options)
  rule.name = ("pbsp(%d)"):format(beta)
  return rule
end

---Probabilistic SSP: nobody of a sample is more than `s` steps behind. Source: as `sample`.
---@param beta number
---@param s number
---@param options? {resample: "event"|"sticky"|{poll: number}}
---@return actor.barrier.Rule
function M.pssp(beta, s, options)
  check.integer(beta, "beta", "barrier.pssp", 0, max_beta)
  check.integer(s, "s", "barrier.pssp", 0, max_staleness)
  local rule = M.sample(beta, M.ssp(s), options)
  rule.name = ("pssp(%d, %d)"):format(beta, s)
  return rule
end

---Goes on when at least the fraction `fraction` of the workers has completed `step - s` steps: the threshold form of
---PSP when it is sampled. quorum(1, s) is ssp(s).
---@param fraction number 0 .. 1
---@param s? number whole number of steps, default 0
---@return actor.barrier.Rule
function M.quorum(fraction, s)
  s = s or 0
  check.number(fraction, "fraction", "barrier.quorum", 0, 1)
  check.integer(s, "s", "barrier.quorum", 0, max_staleness)
  return rules.new {
    name = ("quorum(%g, %d)"):format(fraction, s), watches = "event",
    run = function(view)
      return view.n - view:behind(s) >= fraction * view.n - rounding
    end,
  }
end

---Backup workers: like bsp, but nobody waits for the `k` slowest. Source: Chen et al., Revisiting distributed
---synchronous SGD, 2016 (which also drops what the slowest send; here that is the merge policy's business).
---@param k number whole number of workers, at least 0; backup(0) is bsp
---@return actor.barrier.Rule
function M.backup(k)
  check.integer(k, "k", "barrier.backup", 0)
  return rules.new {
    name = ("backup(%d)"):format(k), watches = "event",
    run = function(view)
      return view:behind(0) <= k
    end,
  }
end

---Waits as `rule` says, but no longer than `seconds`.
---@param seconds number at least 0
---@param rule actor.barrier.Rule|fun(view: actor.barrier.View): boolean, number?
---@return actor.barrier.Rule
function M.delay_bounded(seconds, rule)
  check.number(seconds, "seconds", "barrier.delay_bounded", 0)
  rule = rules.of(rule, "barrier.delay_bounded")
  local inner = rule.run
  return rules.new {
    name = ("delay_bounded(%g, %s)"):format(seconds, rule.name), where = rule.where, watches = rule.watches,
    run = function(view)
      local left = seconds - view.waited
      if left <= rounding then return true end
      local pass, recheck = inner(view)
      if pass == false then return false, sooner(recheck, left) end
      return pass, recheck
    end,
  }
end

---@type fun(path: string): string?, string? Reads a rule's file: its text and the name errors show, or nil and a message.
---Whoever runs jobs puts its own in here, so that the file may come over the network; the default opens a local file.
M.loader = files.read

---A rule from what a user wrote: a function or rule as it is, or a text: bsp, asp, ssp:4, pbsp:10, pssp:10:4,
---quorum:0.8 or quorum:0.8:1, backup:2, the sampling ones with @event, @sticky or @poll:0.5 behind, and rule.lua or
---rule.lua:name for a file that returns a rule or a table of named rules.
---@param spec string|actor.barrier.Rule|fun(view: actor.barrier.View): boolean, number?
---@param options? {resample: string, load: function} `resample` ("sticky", "poll:0.5") for a text that names none
---@return actor.barrier.Rule
function M.from(spec, options)
  options = options or {}
  check.options(options, { resample = "string?", load = "function?" }, "barrier.from")
  if type(spec) ~= "string" then return rules.of(spec, "barrier.from") end
  return files.parse(M, spec, options.resample, options.load or M.loader)
end

---Asks a rule about all that wait in one go; `set` puts another rule in charge.
---@param rule string|actor.barrier.Rule|fun(view: actor.barrier.View): boolean, number?
---@param seed? number|integer default 0; one seed and one sequence of events give the same answers
---@return actor.barrier.Evaluator
function M.evaluator(rule, seed)
  if type(seed) ~= "cdata" then check.integer(seed or 0, "seed", "barrier.evaluator", 0, 2 ^ 53) end
  return evaluators.new(M.from(rule), seed or 0)
end

M.progress = progresses.new

return M
