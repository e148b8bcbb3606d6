--- The barrier rule and the merge rule of a param.run, on shard 0.
local barrier = require("actor.barrier")
local check = require("actor.check")
local merge = require("actor.merge")
local node = require("actor.c.node")
local specs = require("actor.policy.spec")
local util = require("actor.util")
local c = require("actor.c.param")

local M = {}

---@class actor.param.Rules
---@field barrier actor.barrier.Evaluator
---@field barrier_name string
---@field merge actor.merge.Evaluator
---@field merge_name string
---@field functions {barrier: table<string, table>, merge: table<string, table>} the run's rules without a text, by name

local current ---@type actor.param.Rules? during a run

local function check_bsp(merges, rule)
  if not merges.bsp or rule.staleness == 0 then return end
  check.fail("merge rule '%s' merges step by step, so it needs a barrier rule that is BSP (bsp, backup:0, quorum:1), not %s",
    merges.name, rule.name)
end

local source = {} -- of the merge rule: an actor.merge.Source

function source.dot(a, b) return c.push_dot(a.worker, a.step, b.worker, b.step) end

function source.get(push)
  local update = {}
  for _, entry in ipairs(c.push_values(push.worker, push.step)) do update[entry[1]] = entry[2] end
  return update
end

function source.set(push, update)
  local entries = {}
  for key, value in util.pairs(update or {}) do entries[#entries + 1] = { key, value } end
  c.set_push_values(push.worker, push.step, entries)
  push.update = update or {}
end

function source.value(key) return c.stored_value(key) end

function source.pending()
  local flat, steps = c.pending_steps(), {}
  for i = 1, #flat, 3 do steps[#steps + 1] = { worker = flat[i], step = flat[i + 1], version = flat[i + 2] } end
  return steps
end

-- Returns the rule's name. A rule without a text, such as a function, stays known by its name.
local function name_of(what, spec, rule)
  if type(spec) == "string" then return spec end
  current.functions[what][rule.name] = rule
  return rule.name
end

---Begins a run: uses the rules of the command line, otherwise the rules of the job.
---@param run actor.param.Run
---@param flags table
---@param attack? actor.Attack that has begun
---@return actor.param.Rules
function M.begin(run, flags, attack)
  local spec, merge_spec = flags.barrier or run.barrier or "bsp", flags.merge or run.merge or "all"
  local rule, merges = barrier.from(spec, { resample = flags.resample }), merge.from(merge_spec)
  check_bsp(merges, rule)
  current = {
    barrier = barrier.evaluator(rule, node.seed), merge = merge.evaluator(merges, source, attack),
    functions = { barrier = {}, merge = {} },
  }
  current.barrier_name, current.merge_name = name_of("barrier", spec, rule), name_of("merge", merge_spec, merges)
  current.merge.combines = type(run.pull) == "table"
  return current
end

---@return boolean
function M.running() return current ~= nil end

local parse, change = {}, {}

function parse.barrier(spec, load) return barrier.from(spec, { resample = load and node.flags().resample, load = load }) end

function parse.merge(spec, load) return merge.from(spec, { load = load }) end

function change.barrier(rule, name)
  check_bsp(current.merge.rule, rule)
  current.barrier:set(rule)
  current.barrier_name = name
  c.rename_barrier(name)
end

function change.merge(rule, name)
  check_bsp(rule, current.barrier.rule)
  current.merge:set(rule)
  current.merge_name = name
  c.rename_merge(name)
end

---Changes a rule of the run.
---@param what "barrier"|"merge"
---@param spec string|function|table
function M.set(what, spec)
  if not current then
    check.fail("param.set_%s works on server 0 while param.run runs: call it in schedule or stop", what)
  end
  local rule = parse[what](spec)
  change[what](rule, name_of(what, spec, rule))
end

---For the host: replaces a rule during the run. Raises for an invalid rule, without changing anything.
---@param what "barrier"|"merge"
---@param spec string a rule by its text or, if the run had it, by the name of a function; "" for a file
---@param text string the source of the rule's file, or ""
---@param name string FILE.lua or FILE.lua:NAME
---@return string before
function M.swap(what, spec, text, name)
  if not current then
    error(what == "merge" and "no param.run is in progress, and only its merge rule can be swapped"
      or "no param.run is in progress, and only its barrier can be swapped (the steps of collectives and the stages of "
      .. "map-reduce keep the rule that they began with)", 0)
  end
  local before = current[what .. "_name"]
  local sent, load = specs.sent(spec, text, name)
  local rule = text == "" and current.functions[what][sent] or parse[what](sent, load)
  change[what](rule, sent)
  return before
end

return M
