--- The peer-to-peer engine: each worker takes steps of its own, keys lie with the workers themselves, and a barrier rule
--- goes by what messages have told of the others. There is no server. Source: the callbacks are those of Owl's Actor
--- system; Wang, Catterall, Mortier, Probabilistic synchronous parallel, arXiv 2017.
local check = require("actor.check")
local node = require("actor.c.node")
local events = require("actor.events")
local codec = require("actor.codec")
local barrier = require("actor.barrier")
local callbacks = require("actor.callbacks")
local util = require("actor.util")
local log = require("actor.log")
local c = require("actor.c.peer")

local named, check_returned = callbacks.named, callbacks.check_returned

local M = {}

---@class actor.peer.Context
---@field id integer this worker's permanent id
---@field step integer its completed steps; pushes of the last ones may be under way, and what it fetches has them
---@field seconds number since the first step began
---@field updates integer pushes of all workers, as far as this one has heard
---@field workers integer how many take part, as far as this one has heard

---@class actor.peer.Messages what this worker has sent during the run, its part in the ring included
---@field decisions integer times that the rule was asked
---@field draws integer samples that were drawn
---@field lookups integer to find owners of keys and members of samples, and answers to such
---@field watches integer of sticky samples
---@field clocks integer that carry the smallest clock
---@field upkeep integer of the ring
---@field keys integer with keys and values

---@class actor.peer.Summary `steps` and `updates` are the same on every worker
---@field steps integer completed by the slowest worker
---@field updates integer pushes of the workers that live, each merged
---@field seconds number from the first step to the end
---@field reason string why this worker stopped: "stop" or "seconds"
---@field non_finite integer pushes of this worker that held an infinite value or NaN
---@field messages actor.peer.Messages

---@class actor.peer.Run
---@field schedule fun(ctx: actor.peer.Context): actor.param.Key[] which keys this worker works on next
---@field push fun(ctx: actor.peer.Context, entries: actor.param.Entry[]): actor.param.Entry[] computes updates from these values, nil where a key has none; {} for no update
---@field pull? actor.Optimiser|fun(ctx: actor.peer.Context, updates: table[]): actor.param.Entry[] how updates change values: a native optimiser, or a function that runs on the key's owner and returns new values for {{k, v, step, id}, ...}, of these keys alone; without it an update is the new value
---@field barrier? string|function when this worker may go on (actor.barrier, default bsp); `--barrier` wins over it. Without a sample a rule sees no more than min() and n; a sample is drawn again each half second, unless the rule or the command line says sticky or poll:SECONDS
---@field stop? fun(ctx: actor.peer.Context): boolean whether this worker takes no further step; needed unless `--seconds` is given. The others do not wait for it, but it serves its keys until all have stopped
---@field init? fun(): table<actor.param.Key, any> runs on the worker with the smallest id before the first step: gives values for keys that have none yet; on the next one as well when that dies meanwhile
---@field merge? actor.param.Merge param.merge.all(), the only one here
---@field check_finite? boolean refuse pushes with infinite values or NaN instead of counting them
---@field shared? boolean true: tensors are not copied within a process. Promise that no function writes to a tensor that it has given or got
---@field seconds? boolean false: `stop` alone ends it, `--seconds` does not
---@field checkpoint? false the job keeps its own checkpoints (actor.checkpoint), or runs again from its beginning; without it `--checkpoint` and `--resume` are refused

local kinds = {
  schedule = "function", push = "function", pull = "function|table?", barrier = "string|function|table?",
  stop = "function?", init = "function?", merge = "table?", check_finite = "boolean?", shared = "boolean?",
  seconds = "boolean?", checkpoint = "table|boolean?", filter = "table?",
}

local Context = check.strict("ctx.")

-- What the parameter server can do and peers cannot.
local function check_honoured(run, flags)
  local function refuse(what, why) check.fail("peer.run cannot honour %s: %s", what, why) end
  if run.filter then refuse("filter", "the owner of a key sends each update on to the key's copies as it came") end
  if run.merge and run.merge.kind ~= "all" then
    refuse(("merge policy '%s'"):format(tostring(run.merge.kind)),
      "the owner of a key does not know the newest step of all")
  end
  local checkpoint = run.checkpoint and "checkpoint"
    or run.checkpoint == nil and (flags.resume and "--resume" or flags.checkpoint and "--checkpoint")
  if checkpoint then
    refuse(checkpoint, "no worker has all keys; save what peer.get gives by actor.checkpoint, and say checkpoint = false")
  end
  if flags.record then
    refuse("--record " .. flags.record, "no worker hears of everybody's steps; FILE.json and FILE.jsonl work")
  end
end

local function check_run(run, flags)
  check.options(run, kinds, "peer.run")
  if type(run.pull) == "table" and not require("actor.optim").is_optimiser(run.pull) then
    check.fail("peer.run: pull is a table that is no optimiser; see actor.optim, or give a function")
  end
  if not run.stop and (run.seconds == false or not flags.seconds) then
    check.fail("peer.run: without stop= (or --seconds on the command line) it would never end")
  end
  check_honoured(run, flags)
end

-- Seconds between two draws where nobody says otherwise, as the peers of the simulator have them.
local poll = 0.5

-- The rule, and how peers draw its outermost sample.
local function rule_of(spec, options)
  local flags = node.flags()
  local rule = barrier.from(spec, {
    resample = flags.resample or "poll:" .. poll, load = options and options.load,
  })
  local resample = rule.resample
  if rule.beta and resample == "event" then
    if rule.policy_given then
      check.fail("peer.run cannot honour barrier %s@event: no peer hears of all events; resample with poll:SECONDS or sticky",
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

-- The run that is going on, for rules that are swapped: {evaluator =, name =}.
local current

local function look(ctx)
  ctx.step, ctx.seconds, ctx.updates, ctx.workers = c.look()
  return ctx
end

-- Waits until what was begun is done; merges meanwhile what others push to keys of this worker.
local function await(run, ctx, pull_name)
  while true do
    local batch = c.wait()
    if not batch then return end
    c.answer_pull(run.pull(look(ctx), batch), pull_name)
  end
end

-- The last run whose first values are all there.
local begun = "\0peer.run"

local function is_begun(index) return (c.get(begun) or -1) >= index end

local function initialise(run, index, place)
  c.watch(place)
  local values = run.init()
  c.watch()
  check_returned(values, "table", "init", run.init, "a table {key = value}")
  local keys, missing = {}, {}
  for key in util.pairs(values) do keys[#keys + 1] = key end
  local there = assert(c.get(keys))
  for i, key in ipairs(keys) do
    if there[i] == nil then missing[#missing + 1] = { key, values[key] } end
  end
  c.set(missing, place)
  c.set({ { begun, index } }, "peer.run")
end

local function step(run, ctx, names, injects)
  local keys = run.schedule(look(ctx))
  check_returned(keys, "table", "schedule", run.schedule, "an array of keys")
  c.fetch(keys, names.schedule)
  await(run, ctx, names.pull)
  local entries, updates = c.fetched(), nil
  look(ctx)
  if injects then
    updates = callbacks.slowed(c.injection, run.push, ctx, entries)
  else
    updates = run.push(ctx, entries)
  end
  if names.clips and type(updates) == "table" then updates = run.pull:clip_push(updates) end
  c.push(updates, names.push)
  await(run, ctx, names.pull)
  events.tell()
end

-- Why this worker takes no further step, or nil.
local function why_stop(run, ctx, limit)
  look(ctx)
  if run.stop then
    local stop = run.stop(ctx)
    check_returned(stop, "boolean", "stop", run.stop, "a boolean")
    if stop then return "stop" end
  end
  return limit and ctx.seconds >= limit and "seconds" or nil
end

-- What was sent, for each step of this worker.
local function tell_messages(steps, sent)
  local function each(n) return ("%.1f"):format(n / math.max(steps, 1)) end
  log.info("peer.run: %d steps, with %s decisions and %s samples each; messages of this worker in each: %s for keys, %s for clocks, %s lookups, %s of watching, %s for the ring",
    steps, each(sent.decisions), each(sent.draws), each(sent.keys), each(sent.clocks), each(sent.lookups),
    each(sent.watches), each(sent.upkeep))
end

local function work(run, index, rule, sampling, limit)
  local ctx = setmetatable({ id = node.id, step = 0, seconds = 0, updates = 0, workers = 1 }, Context)
  local names = {
    schedule = named("schedule", run.schedule), push = named("push", run.push),
    pull = type(run.pull) == "function" and named("pull", run.pull) or "",
    init = type(run.init) == "function" and named("init", run.init) or "",
    clips = type(run.pull) == "table" and run.pull:clips(),
  }
  c.begin(index, {
    pull = type(run.pull) == "table" and require("actor.optim").to_c(run.pull) or run.pull,
    shared = run.shared, check_finite = run.check_finite, pull_place = names.pull, barrier = current.name,
  }, sampling, current.evaluator)
  await(run, ctx, names.pull)
  if run.init and c.first() then initialise(run, index, names.init) end
  c.ready()
  await(run, ctx, names.pull)
  -- The worker that sets the first values may fail before all are set: then the next worker sets them. A worker that
  -- joins at a later step does not look for the mark, which may be lost with all its copies.
  while run.init and c.look() == 0 and not is_begun(index) do
    if c.first() then initialise(run, index, names.init) else node.sleep(0.01) end
  end
  local injects, reason = c.injects(), why_stop(run, ctx, limit)
  while not reason do
    c.ask_pass()
    await(run, ctx, names.pull)
    step(run, ctx, names, injects)
    reason = why_stop(run, ctx, limit)
  end
  c.stop()
  await(run, ctx, names.pull)
  c.settle()
  await(run, ctx, names.pull)
  local summary = c.done()
  summary.reason = reason
  if node.rank == 0 then tell_messages(ctx.step, summary.messages) end
  -- The aggregates of two workers may differ during a fault, so all workers take the totals that are recorded first.
  local first = assert(codec.decode(node.agree_on_action(index, codec.encode(summary))))
  summary.steps, summary.updates = first.steps, first.updates
  return summary
end

---@param run actor.peer.Run
---@return actor.peer.Summary
function M.run(run)
  local flags = node.flags()
  check_run(run, flags)
  local spec = flags.barrier or run.barrier or "bsp"
  local rule, sampling = rule_of(spec)
  node.honour("barrier", "resample", "inject")
  if run.seconds ~= false then node.honour("seconds") end
  local index, replayed, value = events.enter_run("peer.run")
  if replayed then return assert(codec.decode(value)) end -- as always for a server, which comes late
  if node.role == "server" then
    check.fail("peer.run is for workers and this is a parameter server; guard with actor.role")
  end
  local evaluator = barrier.evaluator(rule, node.seed)
  evaluator:answer_alone()
  current = { evaluator = evaluator, name = title(spec, rule) }
  local limit = run.seconds ~= false and flags.seconds or nil
  local summary = events.call_as_run("peer.run", work, run, index, rule, sampling, limit)
  current = nil
  return summary
end

---Whether a run is going on.
---@return boolean
function M.running()
  return events.in_run("peer.run")
end

---@param spec string|function|table
---@param options? {load: function}
---@param name? string
---@return string before
function M.put_in_charge(spec, options, name)
  local rule, sampling = rule_of(spec, options)
  local before = current.name
  current.evaluator:set(rule)
  current.name = name or title(spec, rule)
  c.resample(sampling, current.name)
  return before
end

return M
