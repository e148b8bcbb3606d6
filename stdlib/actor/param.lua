--- The parameter server. In `run` the server schedules keys to workers, the workers turn them into updates, and the
--- server merges these. A barrier rule decides which workers may go on, `stop` when the run is over. Values are tensors
--- or other Lua values that can travel (actor.codec). Sources: Li et al., Scaling distributed machine learning with the
--- parameter server, OSDI 2014; the callbacks are those of Owl's Actor system.
---
---     param.run {
---       init = function() return { w = tensor.zeros { 10 } } end,
---       schedule = function(workers) ... return { [id] = { { "w" }, { "batch", 7 } } } end,
---       push = function(id, entries) ... return { { "w", gradient } } end,
---       pull = optim.sgd { lr = 0.1 },
---       barrier = barrier.ssp(4),
---       stop = function(ctx) return ctx.step >= 1000 end,
---     }
local check = require("actor.check")
local node = require("actor.c.node")
local events = require("actor.events")
local codec = require("actor.codec")
local barrier = require("actor.barrier")
local merge = require("actor.barrier.merge")
local callbacks = require("actor.callbacks")
local c = require("actor.c.param")

local named, check_returned = callbacks.named, callbacks.check_returned

---@class actor.param
local M = {}

---@alias actor.param.Key string|number
---@alias actor.param.Entry [actor.param.Key, any]

---@class actor.param.StopContext
---@field step integer steps that the slowest live worker has completed
---@field updates integer pushes merged so far
---@field seconds number since the first worker arrived
---@field workers integer live workers

---@class actor.param.LocalContext
---@field id integer this worker
---@field step integer its completed steps

---@class actor.param.Summary
---@field steps integer completed by the slowest live worker
---@field updates integer pushes merged
---@field seconds number from the first worker's arrival to the stop
---@field reason string why it ended: "stop", "seconds", ...
---@field dropped integer pushes that the merge policy refused
---@field lost integer workers lost on the way
---@field non_finite integer pushes that held an infinite value or NaN
---@field in_flight integer pushes that were under way when the time of `--seconds` was over: they are not merged
---@field filter? {push: actor.filter.Stats, pull: actor.filter.Stats} of a run with `filter`: bytes of the values that workers sent (push) and got (pull), before filtering and as they travelled, since the run was begun or resumed

---@class actor.param.Run
---@field schedule? fun(workers: integer[]): table<integer, actor.param.Entry[]> runs on shard 0: says what each of these workers, which have passed the barrier, works on. An entry {k} stands for the stored value of k. A worker without entries rests: no other waits for it, and it is offered again
---@field schedule_local? fun(ctx: actor.param.LocalContext): actor.param.Key[] instead of `schedule`, runs on the worker: says which keys it wants
---@field push fun(id: integer, entries: actor.param.Entry[]): actor.param.Entry[] runs on the worker: computes updates from the entries that it got
---@field pull? actor.Optimiser|fun(updates: table[]): actor.param.Entry[] how updates change values: a native optimiser, or a function that runs on the key's server and returns new values for {{k, v, step, id}, ...}; without it an update is the new value
---@field barrier? string|function which workers may go on (actor.barrier, default bsp); `--barrier` wins over it
---@field stop? fun(ctx: actor.param.StopContext): boolean runs on shard 0: says when the run is over; needed unless `--seconds` is given
---@field tasks? actor.param.Tasks keeps account of the tasks that `schedule` deals out: of `data.batches{...}`, or of your own. Each task then has a number, `{ task = 7, { "batch", 7 }, { "w" } }`. The run reports the outcome of each task, a checkpoint contains the account, and a resumed run deals out the tasks that the checkpoint does not contain, each once, under any barrier rule and with any number of workers
---@field init? fun(from: {updates: integer}): table<actor.param.Key, any> runs on shard 0 before any worker begins: gives values for keys that have none yet; in a resumed run `from.updates` updates have been merged already
---@field merge? actor.param.Merge what becomes of late pushes, default param.merge.all()
---@field checkpoint? {steps?: integer, seconds?: number, dir?: string}|false when to write a checkpoint, besides a last one at SIGTERM; `--checkpoint` says where. false: never, and `--resume` runs it again from its beginning
---@field lost? fun(id: integer, entries: actor.param.Entry[]) runs on shard 0 when a worker is lost, with the entries that it was working on (empty: it had none, or its push was complete and counts)
---@field check_finite? boolean refuse pushes with infinite values or NaN instead of counting them
---@field shared? boolean true: tensors are not copied within a process. Promise that no function writes to a tensor that it has given or got
---@field seconds? boolean false: `stop` alone ends it, `--seconds` does not
---@field filter? {push?: actor.Filter|string, pull?: actor.Filter|string} compression of what workers send and of the values that they get to work on (actor.filter): "topk:0.01+fp16", "int8", "fp16". Only tensors of 1 KiB and more are filtered, and neither param.get nor checkpoints are. Results do not depend on where nodes are. What error feedback has kept is lost with a worker, and on --resume

---An account of numbered tasks (`tasks` of param.run). `data.batches` has these methods; a schedule of your own may use an
---object of yours. All methods run on shard 0, before `stop` and `schedule`.
---@class actor.param.Tasks
---@field done fun(self, worker: integer, number: integer, merged: boolean) the push of this task was merged, or (`merged` is false) dropped by the merge policy; a dropped task is not repeated. A push that a merge policy holds back, as `buffer` does, is reported when it is merged
---@field lost fun(self, worker: integer, number: integer) the worker was lost and the push of this task is not merged: to be dealt out again
---@field state fun(self): any what a checkpoint has to keep: a value that can travel (actor.codec). The checkpoint contains the tasks that were reported as done, and no others
---@field restore fun(self, state: any) of a resumed run, before `init`: goes on from what `state` returned

local kinds = {
  tasks = "table?", schedule = "function?", schedule_local = "function?", push = "function", pull = "function|table?",
  barrier = "string|function|table?", stop = "function?", init = "function?", merge = "table?", checkpoint = "table|boolean?",
  lost = "function?", check_finite = "boolean?", shared = "boolean?", seconds = "boolean?", filter = "table?",
}

---Merge policies: how pushes that are late, or more than wanted, are treated (barrier/merge.lua).
M.merge = merge.constructors

local function check_checkpoint(plan)
  if not plan then return end
  if plan == true then check.fail("param.run: checkpoint is a table that says when, or false") end
  check.options(plan, { steps = "number?", seconds = "number?", dir = "string?" }, "param.run, checkpoint")
  if plan.steps then check.integer(plan.steps, "checkpoint.steps", "param.run", 1, 2 ^ 53) end
  if plan.seconds then check.number(plan.seconds, "checkpoint.seconds", "param.run", 0) end
  if not plan.steps and not plan.seconds then check.fail("param.run, checkpoint: give steps= or seconds=") end
end

-- The run's filters for the C side, nil without any.
local function filters_of(run)
  if not run.filter then return nil end
  check.options(run.filter, { push = "string|table?", pull = "string|table?" }, "param.run, filter")
  return require("actor.filter").of_param(run.filter, run.pull == nil)
end

local function check_run(run, flags)
  check.options(run, kinds, "param.run")
  if not run.schedule == not run.schedule_local then
    check.fail("param.run: give schedule= (on the server) or schedule_local= (on the workers)%s",
      run.schedule and ", not both" or "")
  end
  for _, name in ipairs(run.tasks and { "done", "lost", "state", "restore" } or {}) do
    if type(run.tasks[name]) ~= "function" then
      check.fail("param.run: tasks has no method '%s'; give actor.data.batches{...}, or a table with done, lost, state "
        .. "and restore (see actor.param.Tasks)", name)
    end
  end
  if run.tasks and not run.schedule then check.fail("param.run: tasks= is for tasks that schedule= deals out") end
  if type(run.pull) == "table" and not require("actor.optim").is_optimiser(run.pull) then
    check.fail("param.run: pull is a table that is no optimiser; see actor.optim, or give a function")
  end
  if not run.stop and not flags.seconds then
    check.fail("param.run: without stop= (or --seconds on the command line) it would never end")
  end
  if run.merge and not merge.kinds[run.merge.kind] then check.fail("param.run: merge is none of param.merge's") end
  check_checkpoint(run.checkpoint)
end

local function check_mean(run, rule)
  if not (run.merge and run.merge.kind == "mean") or rule.staleness == 0 then return end
  check.fail("param.merge.mean() merges step by step, so it needs a rule that is BSP (bsp, backup:0, quorum:1), not %s",
    rule.name)
end

-- The rule in charge is the command line's, or else the job's.
local function rule_of(run, flags)
  local spec = flags.barrier or run.barrier or "bsp"
  local rule = barrier.from(spec, { resample = flags.resample })
  check_mean(run, rule)
  return rule, spec
end

---@param text string
---@return actor.param.Summary
local function decoded_summary(text)
  return assert(codec.decode(text))
end

-- ---- the worker's side ----

local Context = check.strict("ctx.")

local function keys_to_fetch(run, id, step)
  local keys = run.schedule_local(setmetatable({ id = id, step = step }, Context))
  check_returned(keys, "table", "schedule_local", run.schedule_local, "an array of keys")
  return c.fetch(keys, named("schedule_local", run.schedule_local))
end

local function work(run, index, filters)
  local now = require("actor").now
  local id, injects = node.id, c.injects()
  local push_name = named("push", run.push)
  local clips = type(run.pull) == "table" and run.pull:clips()
  c.worker_start(index, {
    lua_pull = type(run.pull) == "function", check_finite = run.check_finite, shared = run.shared, filter = filters,
  })
  while true do
    local step, entries, timed = c.worker_next()
    if not step then return entries end -- the summary
    events.deliver()
    if not entries then entries = keys_to_fetch(run, id, step) end
    local began = timed and now() or nil
    local updates
    if injects then
      updates = callbacks.slowed(c.injection, run.push, id, entries)
    else
      updates = run.push(id, entries)
    end
    if clips and type(updates) == "table" then updates = run.pull:clip_push(updates) end
    c.worker_push(updates, push_name, began and now() - began)
  end
end

-- ---- the server's side ----

-- By the name of a request: the function that asks the callbacks. It gets the run, the request and how to answer.
local answers = {}

function answers.stop(run, context)
  local stop = false
  if run.stop then
    stop = run.stop(setmetatable(context, Context))
    check_returned(stop, "boolean", "stop", run.stop, "a boolean")
  end
  c.answer_stop(stop)
end

function answers.schedule(run, workers)
  if run.schedule_local then return c.answer_schedule(nil, "") end
  local tasks = run.schedule(workers)
  check_returned(tasks, "table", "schedule", run.schedule, "a table {[id] = {{key, value}, ...}}")
  c.answer_schedule(tasks, named("schedule", run.schedule), run.tasks ~= nil)
end

function answers.pull(run, updates)
  c.answer_pull(run.pull(updates), named("pull", run.pull))
end

function answers.lost(run, id, entries, number)
  if run.tasks and number then run.tasks:lost(id, number) end
  if run.lost then run.lost(id, entries) end
end

function answers.state(run)
  c.answer_state(run.tasks:state())
end

function answers.finished(_, summary, index)
  node.status("") -- removes the bar that `schedule` may have drawn, which it has no occasion to remove
  node.finish_action(index, codec.encode(summary))
end

-- Where the callbacks are defined, for messages about one that does not return.
local function places_of(run)
  local places = {}
  for _, name in ipairs { "init", "schedule", "push", "pull", "stop", "lost" } do
    if type(run[name]) == "function" then places[name] = named(name, run[name]) end
  end
  return places
end

local current, running, in_charge -- the evaluator of the rule in charge, the run and the name of the rule, on shard 0 while it runs

local function put_in_charge(rule, name)
  check_mean(running, rule)
  current:set(rule)
  in_charge = name or "a rule of its own"
  c.rename_barrier(in_charge)
end

local function tell_outcomes(run)
  local outcomes = c.outcomes()
  for i = 1, #outcomes, 3 do run.tasks:done(outcomes[i], outcomes[i + 1], outcomes[i + 2]) end
end

local function restore_tasks(run, from)
  if from.tasks ~= nil then return run.tasks:restore(from.tasks) end
  if from.updates == 0 then return end
  check.fail("param.run: the checkpoint of this run has %d updates and no account of its tasks: it was written without tasks=",
    from.updates)
end

local function set_initial(run, from)
  local values = run.init(from)
  check_returned(values, "table", "init", run.init, "a table {key = value}")
  for key, value in require("actor.util").pairs(values) do
    if M.get(key) == nil then M.set(key, value) end
  end
end

local function serve(run, index, flags, filters)
  local first = node.shard == 0
  local rule, spec
  if first then
    rule, spec = rule_of(run, flags)
    current, running = barrier.evaluator(rule, node.seed), run
    in_charge = type(spec) == "string" and spec or rule.name or "a rule of its own"
  end
  local from = c.server_start(index, {
    pull = type(run.pull) == "table" and require("actor.optim").to_c(run.pull) or run.pull, merge = run.merge or M.merge.all(), local_schedule = run.schedule_local ~= nil,
    seconds = run.seconds ~= false and flags.seconds or nil, checkpoint = run.checkpoint or nil,
    keeps_tasks = run.tasks ~= nil, apart = run.checkpoint == false, shared = run.shared, filter = filters,
    barrier = type(spec) == "string" and spec or rule and rule.name, -- as a trace names it
    places = places_of(run),
  }, current)
  if first and run.tasks then restore_tasks(run, from) end
  if first and run.init then set_initial(run, from) end
  while true do
    local what, a, b, number = c.server_wait()
    events.deliver()
    if first and run.tasks then tell_outcomes(run) end
    answers[what](run, a, b, number)
  end
end

---Runs the engine until `stop` says so. Every node makes the call: on workers it returns the summary,
---the same on each; on a server it serves and does not return. A server whose script ends before it comes to the call
---ends the run with an error. So does an error in a callback, even if the script catches it.
---@param run actor.param.Run
---@return actor.param.Summary
function M.run(run)
  local flags = node.flags()
  check_run(run, flags)
  local filters = filters_of(run)
  node.honour("barrier", "resample", "inject", "record")
  if run.seconds ~= false then node.honour("seconds") end
  if run.checkpoint ~= false then node.honour("checkpoint", "resume") end
  local index, replayed, value = events.enter_run("param.run")
  if replayed then return decoded_summary(value) end
  if node.role == "server" then return node.call_for_all(serve, run, index, flags, filters) end
  c.open(index)
  return events.call_as_run("param.run", work, run, index, filters)
end

---Trains one model on the parameter server: each worker fetches all parameters of `net`, takes a batch, and pushes the
---gradients. On return `net` has the final parameters, on every worker.
---
---     param.train { net = net, batch = next_batch, pull = optim.sgd { lr = 0.1 }, stop = ... }
---@param options actor.param.Train
---@return actor.param.Summary
function M.train(options)
  return require("actor.param_train")(M, options)
end

-- ---- the original names ----

local register, register_barrier, gathered = callbacks.registry("param")

---Sets the `schedule` of the run that `param.start` begins (the original name; see `param.run`).
M.register_schedule = register("schedule") ---@type fun(fn: function)
---Sets the `push` of the run that `param.start` begins.
M.register_push = register("push") ---@type fun(fn: function)
---Sets the `pull` of the run that `param.start` begins.
M.register_pull = register("pull") ---@type fun(fn: function)
---Sets the `stop` of the run that `param.start` begins.
M.register_stop = register("stop") ---@type fun(fn: function)

---Sets the `barrier` of the run that `param.start` begins. Raises when there is no such rule.
---@param rule string|function|table
function M.register_barrier(rule)
  register_barrier(rule)
end

---Runs the parameter server with the functions that the register_ functions were given; see `param.run`.
---@param rule? string|function|table a barrier rule, instead of register_barrier's
---@return actor.param.Summary
function M.start(rule, ...)
  return M.run(gathered(rule, ...))
end

-- ---- values, from anywhere ----

---Fetches the value of `key` and the step of its last writer; nil when there is no such key. For an array of keys it
---gives an array of values and one of steps, in one request, with nil for keys that are not there. Works before, during
---and after `run`.
---@param key actor.param.Key|actor.param.Key[]
---@return any value
---@return integer|table<integer, integer>|nil step
function M.get(key)
  return c.get(key)
end

---Sets the value of `key` on its server, and waits until it is there.
---@param key actor.param.Key
---@param value any nil removes the key
function M.set(key, value)
  c.set(key, value)
end

---Fetches all keys, in order.
---@return actor.param.Key[]
function M.keys()
  return c.keys()
end

---Returns the number of live workers.
---@return integer
function M.worker_num()
  return node.size
end

---Changes the barrier rule of the current run, from the next decision on. For callbacks on shard 0 (schedule, stop,
---on_membership).
---@param rule string|function|table
function M.set_barrier(rule)
  if not current then check.fail("param.set_barrier works on server 0 while param.run runs: call it in schedule or stop") end
  local new = barrier.from(rule)
  put_in_charge(new, type(rule) == "string" and rule or new.name)
end

---For the host: the run writes a checkpoint at its next decision, on shard 0.
---@return string into where
function M.checkpoint_now()
  local into = current and node.flags().checkpoint
  if not into or not c.checkpoint_now() then
    error("there is nothing to write: it takes a param.run that goes on, in a run that was started with --checkpoint DIR", 0)
  end
  return into
end

---For the host: swaps the rule while the run goes on, on shard 0. What cannot be a rule raises, and changes nothing.
---@param spec string a rule by its text; with `text` that may be "rule.lua:name", or ""
---@param text string the source of the rule file, or ""
---@param name string what that is called
---@return string before
function M.swap_barrier(spec, text, name)
  if not current then
    error("no param.run is going on, and only its barrier can be swapped (the steps of collectives and the stages of "
      .. "map-reduce keep the rule that they began with)", 0)
  end
  local before = in_charge
  local new = barrier.from(spec ~= "" and spec or "rule.lua", {
    resample = node.flags().resample,
    load = function(path)
      if text == "" then return barrier.loader(path) end
      return text, name ~= "" and name or "@" .. path
    end,
  })
  put_in_charge(new, spec ~= "" and spec or name)
  return before
end

return M
