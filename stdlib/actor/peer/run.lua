--- The peer-to-peer engine, without servers. Each worker takes its own steps, the workers hold the keys, and a barrier
--- rule decides from the messages of other workers. Sources: the callbacks are those of Owl's Actor system; Wang,
--- Catterall, Mortier, Probabilistic synchronous parallel, arXiv 2017.
local check = require("actor.check")
local node = require("actor.c.node")
local events = require("actor.events")
local codec = require("actor.codec")
local barrier = require("actor.barrier")
local merge = require("actor.merge")
local callbacks = require("actor.callbacks")
local util = require("actor.util")
local log = require("actor.log")
local c = require("actor.c.peer")

local named, check_returned = callbacks.named, callbacks.check_returned

local M = {}

---In every callback of `peer.run` that has a ctx. The last pushes of the completed steps may be in flight, but fetched
---values include them.
---@class actor.peer.Context: actor.Context
---@field seconds number since the first step began
---@field updates integer pushes of all workers, as known to this worker
---@field workers integer number of participating workers, as known to this worker

---@class actor.peer.Messages messages sent by this worker during the run, including its part in the ring
---@field decisions integer number of rule evaluations
---@field draws integer number of drawn samples
---@field lookups integer to find owners of keys and members of samples, with the replies
---@field watches integer of sticky samples
---@field clocks integer with the minimum clock
---@field upkeep integer of the ring
---@field keys integer with keys and values

---@class actor.peer.Summary `steps` and `updates` are the same on every worker
---@field steps integer completed steps of the slowest worker
---@field updates integer pushes of the live workers, all merged
---@field seconds number from the first step to the end
---@field reason string cause of this worker's stop: "stop" or "seconds"
---@field non_finite integer pushes of this worker with an infinite value or NaN
---@field messages actor.peer.Messages

---The same callbacks, with the same arguments, as those of `param.run` with schedule_local (actor.param.Run).
---@class actor.peer.Run
---@field schedule_local? fun(ctx: actor.peer.Context): actor.param.Key[] returns the keys of this worker's next step
---@field schedule? fun(ctx: actor.peer.Context): actor.param.Key[] another name of schedule_local: give one of them
---@field push fun(ctx: actor.peer.Context, entries: actor.param.Entry[]): actor.param.Entry[] computes updates from these values, nil for a key without a value; {} for no update
---@field pull? actor.Optimiser|fun(ctx: actor.peer.Context, updates: table[]): actor.param.Entry[] applies updates to values: a native optimiser, or a function on the key's owner that returns new values for {{k, v, step, id}, ...}, only for these keys; default: an update is the new value
---@field barrier? string|function decides when this worker may begin a step (actor.barrier, default bsp); `--barrier` overrides it. Without a sample a rule sees only min() and n. A sample is redrawn every half second, unless the rule or the command line specifies sticky or poll:SECONDS
---@field stop? fun(ctx: actor.peer.Context): boolean whether this worker stops; required without `--seconds`. Other workers do not wait for a stopped worker; it serves its keys until all have stopped
---@field init? fun(from: {updates: integer}): table<actor.param.Key, any> runs on the worker with the smallest id before the first step: returns values for keys without a value. If that worker fails meanwhile, it runs on the next worker as well. `from.updates` is 0, as in a param.run that does not resume
---@field merge? string|actor.merge.Rule|function each worker applies it to its own pushes; the rule sees only their values (actor.merge)
---@field check_finite? boolean refuse pushes with infinite values or NaN instead of counting them
---@field shared? boolean true: tensors are not copied within a process. In return, no function may write to a tensor that it has returned or received
---@field seconds? boolean false: only `stop` ends the run; `--seconds` has no effect
---@field checkpoint? false the job writes its own checkpoints (actor.checkpoint), or repeats from its beginning; otherwise `--checkpoint` and `--resume` raise an error

local kinds = {
  schedule = "function?", schedule_local = "function?", push = "function", pull = "function|table?", barrier = "string|function|table?",
  stop = "function?", init = "function?", merge = "string|function|table?", check_finite = "boolean?", shared = "boolean?",
  seconds = "boolean?", checkpoint = "table|boolean?", filter = "any?", tasks = "any?", lost = "any?",
}

-- Options of param.run that peers lack, and the reason.
local unsupported = {
  filter = "the owner of a key forwards each update unchanged to the key's copies",
  tasks = "no server deals out tasks; each worker chooses its own keys",
  lost = "no server deals out entries that a failed worker could lose; actor.on_membership reports failed workers",
}

-- Refuses features of the parameter server that peers lack.
local function check_honoured(run, flags)
  local function refuse(what, why) check.fail("peer.run cannot honour %s: %s", what, why) end
  for _, name in ipairs { "filter", "tasks", "lost" } do
    if run[name] then refuse(name, unsupported[name]) end
  end
  local rule = merge.from(flags.merge or run.merge or "all")
  if rule.native ~= "all" and not rule.alone and not rule.where then
    refuse(("merge rule '%s'"):format(rule.name), "it needs the staleness of a push, or several pushes together, and no peer knows them")
  end
  local checkpoint = run.checkpoint and "checkpoint"
    or run.checkpoint == nil and (flags.resume and "--resume" or flags.checkpoint and "--checkpoint")
  if checkpoint then
    refuse(checkpoint, "no worker has all keys; save the values of peer.get with actor.checkpoint, and set checkpoint = false")
  end
  if flags.record then
    refuse("--record " .. flags.record, "no worker knows the steps of all workers; FILE.json, FILE.jsonl and DIR/ work")
  end
end

local function check_run(run, flags)
  check.options(run, kinds, "peer.run")
  if not run.schedule == not run.schedule_local then
    check.fail("peer.run: give schedule_local=, or schedule=, its other name%s", run.schedule and ", not both" or "")
  end
  if type(run.pull) == "table" and not require("actor.optim").is_optimiser(run.pull) then
    check.fail("peer.run: pull is a table but no optimiser; see actor.optim, or give a function")
  end
  if not run.stop and (run.seconds == false or not flags.seconds) then
    check.fail("peer.run: without stop= (or --seconds on the command line) it would never end")
  end
  check_honoured(run, flags)
end

-- Default seconds between two draws, the same as the simulator's peers use.
local poll = 0.5

-- The rule, and the way in which peers draw its outermost sample.
local function rule_of(spec, options)
  local flags = node.flags()
  local rule = barrier.from(spec, {
    resample = flags.resample or "poll:" .. poll, load = options and options.load,
  })
  local resample = rule.resample
  if rule.beta and resample == "event" then
    if rule.policy_given then
      check.fail("peer.run cannot honour barrier %s@event: no peer receives all events; resample with poll:SECONDS or sticky",
        rule.name)
    end
    resample = { poll = poll }
  end
  local sampling = { beta = rule.beta }
  if rule.beta then
    sampling.kind = resample == "sticky" and "sticky" or "poll"
    sampling.seconds = type(resample) == "table" and resample.poll or nil
  end
  return rule, sampling
end

local function title(spec, rule)
  return type(spec) == "string" and spec or rule.name or "a rule of its own"
end

-- The current run, for rule changes: {evaluator =, name =, functions = rules without a text, by name}.
local current

local function keep(spec, name)
  if type(spec) ~= "string" then current.functions[name] = spec end
end

local function new_context()
  local ctx = callbacks.context(0)
  ctx.step, ctx.seconds, ctx.updates, ctx.workers = c.snapshot()
  return ctx
end

-- Waits until the pending operation is complete; meanwhile merges other workers' pushes to keys of this worker.
local function await(run, pull_name)
  while true do
    local batch, newest = c.wait()
    if not batch then return end
    local ctx = new_context()
    ctx.step = newest -- this worker's own step depends on the moment
    c.answer_pull(run.pull(ctx, batch), pull_name)
  end
end

-- The key that holds the last run with complete initial values.
local begun = "\0peer.run"

local function is_begun(index) return (c.get(begun) or -1) >= index end

local function initialise(run, index, place)
  c.watch(place)
  local values = run.init { updates = 0 }
  c.watch()
  check_returned(values, "table", "init", run.init, "a table {key = value}")
  local keys, missing = {}, {}
  for key in util.pairs(values) do keys[#keys + 1] = key end
  local present = assert(c.get(keys))
  for i, key in ipairs(keys) do
    if present[i] == nil then missing[#missing + 1] = { key, values[key] } end
  end
  c.set(missing, place)
  c.set({ { begun, index } }, "peer.run")
end

local function step(run, names, injection)
  events.deliver()
  local ctx = new_context()
  local schedule = run.schedule_local or run.schedule
  c.fetch(check_returned(schedule(ctx), "table", names.scheduler, schedule, "an array of keys"), names.schedule)
  await(run, names.pull)
  local entries = c.fetched()
  ctx.seconds, ctx.updates, ctx.workers = select(2, c.snapshot())
  local updates = callbacks.slowed(injection, names.call_push, ctx, entries)
  if names.merge then updates = names.merge:apply(updates, ctx, run.pull == nil) end
  if names.clips and type(updates) == "table" then updates = run.pull:clip_push(updates) end
  c.push(updates, names.push)
  await(run, names.pull)
end

-- The reason for this worker to stop, or nil.
local function why_stop(run, limit)
  events.deliver()
  local ctx = new_context()
  if run.stop and check_returned(run.stop(ctx), "boolean", "stop", run.stop, "a boolean") then return "stop" end
  return limit and ctx.seconds >= limit and "seconds" or nil
end

-- Logs the sent messages per step of this worker.
local function log_messages(steps, sent)
  local function each(n) return ("%.1f"):format(n / math.max(steps, 1)) end
  log.info("peer.run: %d steps, with %s decisions and %s samples each; messages of this worker in each: %s for keys, %s for clocks, %s lookups, %s of watching, %s for the ring",
    steps, each(sent.decisions), each(sent.draws), each(sent.keys), each(sent.clocks), each(sent.lookups),
    each(sent.watches), each(sent.upkeep))
end

-- The merge rule of a worker, unless it merges all.
local function merge_of(run)
  local rule = merge.from(node.flags().merge or run.merge or "all")
  return rule.native ~= "all" and require("actor.merge.worker").new(rule, merge.source()) or nil
end

local function work(run, index, rule, sampling, limit)
  local scheduler = run.schedule_local and "schedule_local" or "schedule"
  local push, push_name, ended = callbacks.push_of(run.push)
  local names = {
    scheduler = scheduler, schedule = named(scheduler, run[scheduler]), push = push_name, call_push = push,
    pull = type(run.pull) == "function" and named("pull", run.pull) or "",
    init = type(run.init) == "function" and named("init", run.init) or "",
    clips = type(run.pull) == "table" and run.pull:clips(), merge = merge_of(run),
  }
  c.begin(index, {
    pull = type(run.pull) == "table" and require("actor.optim").to_c(run.pull) or run.pull,
    shared = run.shared, check_finite = run.check_finite, pull_place = names.pull, barrier = current.name,
  }, sampling, current.evaluator)
  await(run, names.pull)
  if run.init and c.first() then initialise(run, index, names.init) end
  c.ready()
  await(run, names.pull)
  -- The worker that sets the initial values may fail before all are set: then the next worker sets them. The mark may
  -- be lost with all its copies. So a worker that joins at a later step does not check it, and a worker that sees
  -- others take steps no longer waits for it.
  while run.init and c.snapshot() == 0 and not is_begun(index) do
    if c.first() then
      initialise(run, index, names.init)
    elseif c.begun_elsewhere() then
      break
    else
      node.sleep(0.01)
    end
  end
  local injection, reason = c.injects() and c.injection, why_stop(run, limit)
  while not reason do
    c.request_pass()
    await(run, names.pull)
    step(run, names, injection)
    reason = why_stop(run, limit)
  end
  c.stop()
  await(run, names.pull)
  c.settle()
  await(run, names.pull)
  local summary = c.done()
  summary.reason = reason
  if node.rank == 0 then log_messages(c.snapshot(), summary.messages) end
  -- The aggregates of two workers may differ during a fault, so all workers take the totals that are recorded first.
  local first = assert(codec.decode(node.agree_on_action(index, codec.encode(summary))))
  summary.steps, summary.updates = first.steps, first.updates
  if ended then ended(summary) end
  return summary
end

---@param run actor.peer.Run
---@return actor.peer.Summary
function M.run(run)
  local flags = node.flags()
  check_run(run, flags)
  local spec = flags.barrier or run.barrier or "bsp"
  local rule, sampling = rule_of(spec)
  node.honour("barrier", "resample", "merge", "inject")
  if run.seconds ~= false then node.honour("seconds") end
  local index, replayed, value = events.enter_run("peer.run")
  if replayed then return assert(codec.decode(value)) end -- always so for a server, which starts late
  events.check_worker("peer.run")
  local evaluator = barrier.evaluator(rule, node.seed)
  evaluator:forbid_shared_state()
  current = { evaluator = evaluator, name = title(spec, rule), functions = {} }
  keep(spec, current.name)
  local limit = run.seconds ~= false and flags.seconds or nil
  local summary = events.call_as_run("peer.run", work, run, index, rule, sampling, limit)
  current = nil
  return summary
end

---Whether a run is in progress.
---@return boolean
function M.running() return events.in_run("peer.run") end

---@param spec string|function|table
---@param options? {load: function}
---@param name? string
---@return string before
function M.set_rule(spec, options, name)
  local rule, sampling = rule_of(spec, options)
  local before = current.name
  current.evaluator:set(rule)
  current.name = name or title(spec, rule)
  keep(spec, current.name)
  c.resample(sampling, current.name)
  return before
end

---A rule of the run without a text, such as a function.
---@param name string
---@return function|table|nil
function M.function_of(name) return current.functions[name] end

return M
