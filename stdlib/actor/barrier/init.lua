--- Barrier rules decide when a worker that has completed a step may continue. A rule is `function(view) -> pass`. It
--- receives an actor.barrier.View, the clocks of the workers that the waiting worker sees, and returns true, false, or
--- false and the seconds until its next evaluation. The same rule runs in a job, in the simulator and under
--- `--barrier`.
---
---     local barrier = require "actor.barrier"
---     local rule = barrier.sample(10, function(view) return view:behind(2) <= 1 end)
local check = require("actor.check")
local evaluators = require("actor.barrier.evaluator")
local specs = require("actor.policy.spec")
local library = require("actor.barrier.library")
local rules = require("actor.barrier.rule")
local progresses = require("actor.barrier.progress")

---The constructors, one for each file in rules/, which documents it; `list()` returns a summary.
---@class actor.barrier
---@field bsp fun(): actor.barrier.Rule
---@field ssp fun(s: integer): actor.barrier.Rule
---@field asp fun(): actor.barrier.Rule
---@field pbsp fun(beta: integer, options?: actor.barrier.Sampling): actor.barrier.Rule
---@field pssp fun(beta: integer, s: integer, options?: actor.barrier.Sampling): actor.barrier.Rule
---@field sample fun(beta: integer, rule: actor.barrier.Rule|function, options?: actor.barrier.Sampling): actor.barrier.Rule
---@field grace fun(seconds: number): actor.barrier.Rule
---@field quorum fun(fraction: number, s?: integer): actor.barrier.Rule
---@field ksync fun(k: integer): actor.barrier.Rule
---@field backup fun(k: integer): actor.barrier.Rule
---@field partial fun(fraction: number, knee?: number): actor.barrier.Rule
---@field delay_bounded fun(seconds: number, rule: actor.barrier.Rule|function): actor.barrier.Rule
---@field dssp fun(bounds: {lower: integer, upper: integer}): actor.barrier.Rule
---@field assp fun(bounds: {lower: integer, upper: integer}): actor.barrier.Rule
---@field elastic fun(options?: {lookahead?: integer}): actor.barrier.Rule
---@field gssp fun(options: {s: integer, ratio?: number, between?: integer}): actor.barrier.Rule
---@field awpsp fun(beta: integer, s?: integer): actor.barrier.Rule
---@field sync_switch fun(steps: integer): actor.barrier.Rule
local M = {}

---@class actor.barrier.Sampling
---@field resample? "event"|"sticky"|{poll: number} when a waiting worker draws a new sample (rules/sample.lua)

for name, description in pairs(library.rules) do M[name] = library:constructor(description) end

---Lists all rules, the classic rules first: a row {name, usage, summary, definition, paper, example} for each.
---```lua
---for _, row in ipairs(actor.barrier.list()) do
---  if row.name == "ssp" then print(row.usage, row.definition) end  --> ssp:S min >= step - s
---end
---```
---@return actor.policy.Listed[]
function M.list() return library:list() end

---Makes a rule from a function, a rule or a text. A text is the rule's name, then its parameters after colons (bsp,
---ssp:4, pssp:10:4, delay_bounded:2:ssp:4; see `list`), and for sampling rules `@event`, `@sticky` or `@poll:0.5`. Or a
---text is rule.lua or rule.lua:name, for a file that returns a rule or a table of named rules.
---```lua
---print(actor.barrier.from("ssp:4").name)  --> ssp(4)
---print(actor.barrier.from("pbsp:10@sticky").resample)  --> sticky
---```
---@param spec string|actor.barrier.Rule|fun(view: actor.barrier.View): boolean, number?
---@param options? {resample: string, load: function} `resample` ("sticky", "poll:0.5") for a text without a policy
---@return actor.barrier.Rule
function M.from(spec, options)
  options = check.optional_options(options, { resample = "string?", load = "function?" }, "barrier.from")
  if type(spec) ~= "string" then return rules.of(spec, "barrier.from") end
  return specs.parse(spec, { library = library, resample = options.resample, load = options.load })
end

---Makes an evaluator, which evaluates a rule for all waiting workers in one call; its `set` changes the rule.
---@param rule string|actor.barrier.Rule|fun(view: actor.barrier.View): boolean, number?
---@param seed? number|integer default 0; equal seeds and equal sequences of events give equal results
---@return actor.barrier.Evaluator
function M.evaluator(rule, seed)
  if type(seed) ~= "cdata" then check.integer(seed or 0, "seed", "barrier.evaluator", 0, 2 ^ 53) end
  return evaluators.new(M.from(rule), seed or 0)
end

---Makes a rule with guarantees. `staleness`: no worker more than this many steps ahead of the slowest passes. A rule
---with staleness 0 is treated as bsp: updates are merged in (step, id) order and become visible after the barrier.
---```lua
---local strict = actor.barrier.rule { staleness = 0, run = function(view) return view:min() >= view.step end }
---local median = actor.barrier.rule {
---  name = "median",
---  run = function(view) return view.step <= view:quantile(0.5) + 2 end,
---}
---print(strict.staleness, median.name)  --> 0 median
---```
---@param fields {run: fun(view: actor.barrier.View): boolean, number?; staleness: integer?, name: string?}
---@return actor.barrier.Rule
function M.rule(fields)
  check.options(fields, { run = "function", staleness = "number?", name = "string?" }, "barrier.rule")
  if fields.staleness then check.integer(fields.staleness, "staleness", "barrier.rule", 0, 2 ^ 31 - 1) end
  local rule = rules.of(fields.run, "barrier.rule", fields.name)
  rule.staleness = fields.staleness
  return rule
end

M.progress = progresses.new

return M
