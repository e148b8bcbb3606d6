--- Merge rules decide how the updates of workers are merged into the model, above all late and surplus updates. A rule
--- is `function(view, push) -> weight`: it receives the state of the model (actor.merge.View) and a complete push
--- (actor.merge.Push), and returns
---
--- * a number: the push becomes an update of the model, multiplied by the number, together with all held pushes. In a
---   run without `pull`, where an update is the new value, the number a mixes: the new value is (1 - a) w + a u;
--- * "hold", and perhaps a weight: the push waits in `view.held`. A held push has its own weight, or else the number of
---   a later call. At the end of the run held pushes with a weight are merged, and the others are dropped;
--- * "drop": the push is not merged;
--- * a table {[push] = weight or "drop"}: decides about these pushes, of `view.held` and the new push. The pushes with
---   a weight become one update, and the other pushes are held;
--- * `view:trimmed_mean(pushes, trim)`: these pushes become one update, without the extreme elements;
--- * `view:update(pushes, values)`: these pushes become one update with the given values. A rule computes them from
---   `push.update`, for example with the functions of `actor.merge.values`.
---
--- A rule never delays a worker. The same rule runs on the parameter server, in the simulator and under `--merge`.
--- Peers (actor.peer) have no server: each worker applies the rule to its own pushes, and the rule sees only their
--- values (actor.merge.worker).
---
---     -- merge.lua: ignores pushes older than 8 versions, and merges the mean of every four pushes
---     return function(view, push)
---       if push.staleness > 8 then return "drop" end
---       return #view.held < 3 and "hold" or 1 / 4
---     end
local check = require("actor.check")
local evaluators = require("actor.merge.evaluator")
local library = require("actor.merge.library")
local rules = require("actor.merge.rule")
local specs = require("actor.policy.spec")
local values = require("actor.merge.values")

---The constructors, one for each file in rules/, which documents it; `list()` returns a summary.
---@class actor.merge
---@field all fun(): actor.merge.Rule
---@field mean fun(): actor.merge.Rule
---@field step_mean fun(): actor.merge.Rule
---@field drop fun(options: {later_than: integer}): actor.merge.Rule
---@field buffer fun(options: {k: integer}): actor.merge.Rule
---@field scale fun(options?: {exponent: number}): actor.merge.Rule
---@field ringmaster fun(r: integer): actor.merge.Rule
---@field polynomial fun(exponent?: number): actor.merge.Rule
---@field fedbuff fun(k: integer, exponent?: number): actor.merge.Rule
---@field rennala fun(b: integer): actor.merge.Rule
---@field decay fun(rate: number, cutoff?: integer): actor.merge.Rule
---@field delay_adaptive fun(): actor.merge.Rule
---@field fedasync fun(alpha?: number, exponent?: number): actor.merge.Rule
---@field gap_aware fun(): actor.merge.Rule
---@field delayed_nesterov fun(n: integer, momentum?: number, c?: number): actor.merge.Rule
---@field heloco fun(momentum?: number, rate?: number): actor.merge.Rule
---@field port fun(k: integer, bound?: number): actor.merge.Rule
---@field basgd fun(b: integer, q?: integer): actor.merge.Rule
---@field trimmed_mean fun(f: integer, n?: integer): actor.merge.Rule
---@field median fun(n?: integer): actor.merge.Rule
---@field krum fun(f: integer, m?: integer, n?: integer): actor.merge.Rule
---@field clip fun(radius: number): actor.merge.Rule
---@field centred_clip fun(radius: number, n?: integer, rounds?: integer): actor.merge.Rule
local M = {}

for name, description in pairs(library.rules) do M[name] = library:constructor(description) end

---Lists all rules: a row {name, usage, summary, definition, paper, example} for each.
---```lua
---for _, row in ipairs(actor.merge.list()) do
---  if row.name == "drop" then print(row.usage) end  --> drop:LATER_THAN
---end
---```
---@return actor.policy.Listed[]
function M.list() return library:list() end

---Makes a rule from a function, a rule or a text. A text is the rule's name, then its parameters after colons (all,
---drop:2, buffer:8; see `list`). Or a text is merge.lua or merge.lua:name, for a file that returns a rule or a table of
---named rules.
---```lua
---print(actor.merge.from("buffer:8").name)  --> buffer(8)
---```
---@param spec string|actor.merge.Rule|function
---@param options? {load: function}
---@return actor.merge.Rule
function M.from(spec, options)
  options = check.optional_options(options, { load = "function?" }, "merge.from")
  if type(spec) ~= "string" then return rules.of(spec, "merge.from") end
  return specs.parse(spec, { library = library, load = options.load })
end

---Makes an evaluator, which decides about one push after another and keeps the held pushes; its `set` changes the rule.
---```lua
---local evaluator = actor.merge.evaluator "buffer:2"
---local function merged(worker)
---  return #evaluator:take { worker = worker, step = 0, version = 0, behind = 0, peers = 1, left = 0 }
---end
---print(merged(0))  --> 0
---print(merged(1))  --> 2
---```
---@param rule string|actor.merge.Rule|function
---@param source? actor.merge.Source where the values of pushes are; default: their field `update`
---@param attack? actor.Attack that has begun
---@return actor.merge.Evaluator
function M.evaluator(rule, source, attack) return evaluators.new(M.from(rule), source or M.source(), attack) end

---Makes a source of pushes whose values are their field `update`.
---@param pending? fun(): actor.merge.Pending[]
---@param value? fun(key: any): any
---@param slowest? fun(): integer
---@return actor.merge.Source
function M.source(pending, value, slowest)
  return {
    dot = function(a, b) return values.dot(a.update, b.update) end,
    set = function(push, update) push.update = update end,
    pending = pending or function() return {} end,
    value = value or function() return nil end,
    slowest = slowest or function() return 0 end,
  }
end

return M
