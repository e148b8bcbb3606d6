--- The sampling primitive of probabilistic synchronous parallel: instead of all workers, `rule` sees `beta` workers
--- drawn without replacement from all (all workers, when there are fewer; the waiting worker may be among them). In a
--- sample of a sample the inner sample is drawn from the outer sample. A sampled quorum is the paper's general form:
--- the share of a sample that has completed a step estimates the share of all workers.
---
--- `resample` decides when a waiting worker draws again, and this changes the result: "event" (the default), each time
--- any worker completes a step, joins or leaves; "sticky", not before it passes, except that departed members are
--- replaced; {poll = seconds}, once in this many seconds, and the rule sees each sample once.
---
--- If the rule waits only for workers behind the waiting worker, a worker that passes with all workers in view
--- also passes with a sample, so the slowest passes.
local check = require("actor.check")
local rules = require("actor.barrier.rule")
local views = require("actor.barrier.view")

---@type actor.policy.Description
local M = {
  name = "sample",
  parameters = { { "beta", "workers" }, { "rule", "rule" } },
  samples = true,
  summary = "any rule, over BETA workers drawn at random",
  definition = "rule(beta workers drawn without replacement)",
  paper = "Wang, Catterall, Mortier, Probabilistic synchronous parallel, arXiv 2017",
  example = "sample:10:quorum:0.8",
}

local function check_resample(resample)
  if resample == nil then return "event" end
  if resample == "event" or resample == "sticky" then return resample end
  if type(resample) ~= "table" then
    check.wrong("resample", "barrier.sample", "one of 'event', 'sticky', {poll = seconds}", resample)
  end
  check.options(resample, { poll = "number" }, "barrier.sample")
  if not (resample.poll > 0 and resample.poll < math.huge) then
    check.wrong("poll", "barrier.sample", "a number of seconds above 0", resample.poll)
  end
  return { poll = resample.poll }
end

---@param beta integer
---@param rule actor.barrier.Rule
---@param options? {resample: "event"|"sticky"|{poll: number}}
---@return actor.barrier.Rule
function M.make(beta, rule, options)
  check.options(options or {}, { resample = "string|table?" }, "barrier.sample")
  local resample = check_resample(options and options.resample)
  local inner, native, polls = rule.run, nil, type(resample) == "table"
  if rule.native and rule.native.kind == "clock" then
    native = { kind = "sampled", beta = beta, staleness = rule.native.staleness, resample = resample }
  end
  local self = rules.new {
    where = rule.where, watches = polls and "timer" or "event", resample = resample, beta = beta,
    native = native, policy_given = options ~= nil and options.resample ~= nil,
  }
  local shown, sample -- caches the view of the last sample, to save the lookup in the table
  function self.run(view)
    if view ~= shown then shown, sample = view, views.open_sample(view, self) end
    local fresh, recheck = views.draw(sample, view)
    if not fresh then return false, recheck end
    local pass, seconds = inner(sample)
    if pass == false and polls then return false, rules.sooner(seconds, recheck) end
    return pass, seconds
  end
  return self
end

return M
