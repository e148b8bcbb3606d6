--- The parameter server. In `run` the server schedules keys to workers, the workers turn them into updates, and the
--- server merges the updates. A barrier rule decides which workers may begin a step; `stop` decides when the run ends.
--- Values are tensors or other Lua values that can travel (actor.codec). Sources: Li et al., Scaling distributed
--- machine learning with the parameter server, OSDI 2014; the callbacks are those of Owl's Actor system.
---
---     param.run {
---       init = function() return { w = tensor.zeros { 10 } } end,
---       schedule = function(workers) ... return { [id] = { { "w" }, { "batch", 7 } } } end,
---       push = function(ctx, entries) ... return { { "w", gradient } } end,
---       pull = optim.sgd { lr = 0.1 },
---       barrier = barrier.ssp(4),
---       stop = function(ctx) return ctx.step >= 1000 end,
---     }
local check = require("actor.check")
local node = require("actor.c.node")
local events = require("actor.events")
local codec = require("actor.codec")
local rules = require("actor.param_rules")
local callbacks = require("actor.callbacks")
local c = require("actor.c.param")

local named, check_returned = callbacks.named, callbacks.check_returned

---@class actor.param
local M = {}

---@alias actor.param.Key string|number
---@alias actor.param.Entry [actor.param.Key, any]

---@class actor.param.StopContext: actor.Context
---@field updates integer pushes merged so far
---@field seconds number since the first worker arrived
---@field workers integer live workers in the run

---@class actor.param.Summary
---@field steps integer completed steps of the slowest live worker
---@field updates integer pushes merged
---@field seconds number from the first worker's arrival to the stop
---@field reason string cause of the end: "stop", "seconds", ...
---@field dropped integer pushes dropped by the merge rule
---@field lost integer workers that failed during the run
---@field non_finite integer pushes with an infinite value or NaN
---@field in_flight integer pushes in flight at the end of `--seconds`: they are not merged
---@field filter? {push: actor.filter.Stats, pull: actor.filter.Stats} of a run with `filter`: bytes of the values that workers sent (push) and received (pull), before and after filtering, since the run began or resumed

---The same callbacks, with the same arguments, as those of `peer.run` (actor.peer.Run).
---@class actor.param.Run: actor.param.CommonOptions
---@field schedule? fun(workers: integer[]): table<integer, actor.param.Entry[]> runs on shard 0: gives entries to these workers, which have passed the barrier. An entry {k} means the stored value of k. A worker without entries rests: no other worker waits for it, and later calls offer it again
---@field schedule_local? fun(ctx: actor.Context): actor.param.Key[] instead of `schedule`; runs on the worker: returns the keys that it needs
---@field push fun(ctx: actor.Context, entries: actor.param.Entry[]): actor.param.Entry[] runs on the worker: computes updates from the received entries
---@field init? fun(from: {updates: integer}): table<actor.param.Key, any> runs on shard 0 before any worker begins: returns values for keys without a value; in a resumed run `from.updates` is the number of merged updates

---Options of param.run and param.train.
---@class actor.param.CommonOptions
---@field pull? actor.Optimiser|fun(ctx: actor.Context, updates: table[]): actor.param.Entry[] applies updates to values: a native optimiser, or a function on the key's server that returns new values for {{k, v, step, id, weight =}, ...}, where `weight` is that of the merge rule, nil for 1; default: an update u is the new value, and with a weight a of the merge rule the new value is (1 - a) w + a u
---@field barrier? string|function decides which workers may begin a step (actor.barrier, default bsp); `--barrier` overrides it
---@field stop? fun(ctx: actor.param.StopContext): boolean runs on shard 0: decides when the run ends; required without `--seconds`
---@field tasks? actor.param.Tasks records the tasks that `schedule` deals out: `data.batches{...}` or your own object. Each task then has a number, `{ task = 7, { "batch", 7 }, { "w" } }`. The run reports the outcome of each task, and a checkpoint contains the record. A resumed run deals out the tasks missing from the checkpoint, each once, under any barrier rule and with any number of workers
---@field merge? string|function decides how pushes are merged (actor.merge, default all); `--merge` overrides it
---@field checkpoint? {steps?: integer, seconds?: number, dir?: string}|false interval of checkpoints, besides a final checkpoint at SIGTERM; `--checkpoint` names the folder. false: no checkpoints, and `--resume` repeats the run from its beginning
---@field lost? fun(id: integer, entries: actor.param.Entry[]) runs on shard 0 when a worker fails, with its current entries (empty: it had none, or its push was complete and counts). Under a rule other than bsp a part of its incomplete push may be in the values
---@field check_finite? boolean refuse pushes with infinite values or NaN instead of counting them
---@field shared? boolean true: tensors are not copied within a process. In return, no function may write to a tensor that it has returned or received
---@field seconds? boolean false: only `stop` ends the run; `--seconds` has no effect
---@field filter? {push?: actor.Filter|string, pull?: actor.Filter|string} compression of the workers' pushes and of the values that they fetch (actor.filter): "topk:0.01+fp16", "int8", "fp16". Applies to tensors of 1 KiB and more, not to param.get or checkpoints. Results do not depend on the placement of nodes. The retained error feedback is lost with a failed worker, and on --resume

---A record of numbered tasks (`tasks` of param.run). `data.batches` has these methods; a schedule of your own may use
---its own object. All methods run on shard 0, before `stop` and `schedule`.
---@class actor.param.Tasks
---@field done fun(self, worker: integer, number: integer, merged: boolean) the push of this task was merged, or (`merged` is false) dropped by the merge rule. A dropped task is not repeated. A push that the rule holds, as `buffer` does, is reported at its merge
---@field lost fun(self, worker: integer, number: integer) the worker failed and the push of this task is not merged: deal the task out again
---@field state fun(self): any returns the record for a checkpoint: a value that can travel (actor.codec). The checkpoint contains exactly the tasks reported as done
---@field restore fun(self, state: any) in a resumed run, before `init`: continues from a result of `state`

local kinds = {
  tasks = "table?", schedule = "function?", schedule_local = "function?", push = "function", pull = "function|table?",
  barrier = "string|function|table?", stop = "function?", init = "function?", merge = "string|function|table?", checkpoint = "table|boolean?",
  lost = "function?", check_finite = "boolean?", shared = "boolean?", seconds = "boolean?", filter = "table?",
}

local function check_checkpoint(plan)
  if not plan then return end
  if plan == true then check.fail("param.run: checkpoint is a table with an interval, or false") end
  check.options(plan, { steps = "number?", seconds = "number?", dir = "string?" }, "param.run, checkpoint")
  if plan.steps then check.integer(plan.steps, "checkpoint.steps", "param.run", 1, 2 ^ 53) end
  if plan.seconds then check.number(plan.seconds, "checkpoint.seconds", "param.run", 0) end
  if not plan.steps and not plan.seconds then check.fail("param.run, checkpoint: give steps= or seconds=") end
end

-- The run's filters for the C side; nil without filters.
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
    check.fail("param.run: pull is a table but no optimiser; see actor.optim, or give a function")
  end
  if not run.stop and not flags.seconds then
    check.fail("param.run: without stop= (or --seconds on the command line) it would never end")
  end
  check_checkpoint(run.checkpoint)
end

local function attack_of(flags)
  if not flags.attack then return nil end
  local attack = require("actor.attack").from(flags.attack):begin(node.size, node.seed)
  if flags.servers > 1 and attack.kind ~= "label" then
    check.fail("param.run cannot honour --attack %s with several servers: one server has to receive the whole push",
      flags.attack)
  end
  return attack
end

-- ---- the worker's side ----

local function keys_to_fetch(run, ctx)
  local keys = run.schedule_local(ctx)
  check_returned(keys, "table", "schedule_local", run.schedule_local, "an array of keys")
  return c.fetch(keys, named("schedule_local", run.schedule_local))
end

local function work(run, index, filters, attack)
  local now = require("actor").now
  local injection = c.injects() and c.injection
  local push, push_name, ended = callbacks.push_of(run.push)
  local clips = type(run.pull) == "table" and run.pull:clips()
  c.worker_start(index, {
    lua_pull = type(run.pull) == "function", check_finite = run.check_finite, shared = run.shared, filter = filters,
  })
  while true do
    local step, entries, timed = c.worker_next()
    if not step then -- the entries are the summary
      if ended then ended(entries) end
      return entries
    end
    events.deliver()
    local ctx = callbacks.context(step)
    if not entries then entries = keys_to_fetch(run, ctx) end
    local began = timed and now() or nil
    local updates
    if attack then
      updates = attack:compute(node.id, callbacks.slowed, injection, push, ctx, entries)
    else
      updates = callbacks.slowed(injection, push, ctx, entries)
    end
    if clips and type(updates) == "table" then updates = run.pull:clip_push(updates) end
    c.worker_push(updates, push_name, began and now() - began)
  end
end

-- ---- the server's side ----

-- Maps the name of a request to the function that runs the callback, given the run and the request's arguments.
local handlers = {}

function handlers.stop(run, context)
  local stop = run.stop
  stop = stop and check_returned(stop(callbacks.context(context.step, context)), "boolean", "stop", stop, "a boolean")
  c.answer_stop(stop or false)
end

function handlers.schedule(run, workers)
  if run.schedule_local then return c.answer_schedule(nil, "") end
  local tasks = run.schedule(workers)
  check_returned(tasks, "table", "schedule", run.schedule, "a table {[id] = {{key, value}, ...}}")
  c.answer_schedule(tasks, named("schedule", run.schedule), run.tasks ~= nil)
end

function handlers.pull(run, updates, step)
  c.answer_pull(run.pull(callbacks.context(step), updates), named("pull", run.pull))
end

function handlers.lost(run, id, entries, number)
  if run.tasks and number then run.tasks:lost(id, number) end
  if run.lost then run.lost(id, entries) end
end

function handlers.state(run) c.answer_state(run.tasks:state()) end

function handlers.finished(_, summary, index)
  node.status("") -- removes a progress bar drawn by `schedule`, which cannot remove the bar itself
  node.finish_action(index, codec.encode(summary))
end

-- Where the callbacks are defined, for messages about a callback that does not return.
local function places_of(run)
  local places = {}
  for _, name in ipairs { "init", "schedule", "push", "pull", "stop", "lost" } do
    if type(run[name]) == "function" then places[name] = named(name, run[name]) end
  end
  return places
end

local function report_outcomes(run)
  local outcomes = c.outcomes()
  for i = 1, #outcomes, 3 do run.tasks:done(outcomes[i], outcomes[i + 1], outcomes[i + 2] == 1) end
end

local function restore_tasks(run, from)
  if from.tasks ~= nil then return run.tasks:restore(from.tasks) end
  if from.updates == 0 then return end
  check.fail("param.run: the checkpoint of this run has %d updates and no account of its tasks: it was written without tasks=",
    from.updates)
end

local function set_initial(run, from)
  local values = check_returned(run.init(from), "table", "init", run.init, "a table {key = value}")
  for key, value in require("actor.util").pairs(values) do
    if M.get(key) == nil then M.set(key, value) end
  end
end

local function serve(run, index, flags, filters, attack)
  local first = node.shard == 0
  local named_rules = first and rules.begin(run, flags, attack) or {}
  local from = c.server_start(index, {
    pull = type(run.pull) == "table" and require("actor.optim").to_c(run.pull) or run.pull,
    local_schedule = run.schedule_local ~= nil, seconds = run.seconds ~= false and flags.seconds or nil,
    checkpoint = run.checkpoint or nil, keeps_tasks = run.tasks ~= nil, apart = run.checkpoint == false,
    shared = run.shared, filter = filters, places = places_of(run),
    barrier = named_rules.barrier_name, merge = named_rules.merge_name, -- the names in a trace
  }, named_rules.barrier, named_rules.merge)
  if first and run.tasks then restore_tasks(run, from) end
  if first and run.init then set_initial(run, from) end
  while true do
    local what, a, b, number = c.server_wait()
    events.deliver()
    if first and run.tasks then report_outcomes(run) end
    handlers[what](run, a, b, number)
  end
end

---Runs the engine until `stop` returns true. Every node makes the call. On workers it returns the summary, the same on
---each; on a server it serves and does not return. The run fails if a server's script ends before the call, or if a
---callback raises an error, even if the script catches the error. A callback's ctx (actor.Context) has id, step, rank,
---size and owns(key); `stop`'s also has updates, seconds and workers. On a server (pull, stop) id and rank are nil, and
---owns returns false.
---```lua nodes=2
---local param, tensor = actor.param, actor.tensor
---local summary = param.run {
---  init = function() return { w = tensor.zeros(2) } end,
---  schedule = function(workers) -- on the server: each worker gets the value of w
---    local tasks = {}
---    for _, id in ipairs(workers) do tasks[id] = { { "w" } } end
---    return tasks
---  end,
---  push = function(ctx, entries) -- on a worker: the gradient of |w - 1|^2 / 2
---    return { { "w", entries[1][2] - 1 } }
---  end,
---  pull = actor.optim.sgd { lr = 0.5 },
---  barrier = "ssp:4",
---  stop = function(ctx) return ctx.updates >= 40 end,
---}
---print(summary.reason, ("%.2f"):format(param.get("w"):mean()))  --> stop 1.00
---```
---@param run actor.param.Run
---@return actor.param.Summary
function M.run(run)
  local flags = node.flags()
  check_run(run, flags)
  local filters = filters_of(run)
  node.honour("barrier", "resample", "merge", "attack", "inject", "record")
  if run.seconds ~= false then node.honour("seconds") end
  if run.checkpoint ~= false then node.honour("checkpoint", "resume") end
  local index, replayed, value = events.enter_run("param.run")
  if replayed then return assert(codec.decode(value)) end
  local attack = attack_of(flags)
  if node.role == "server" then return node.call_for_all(serve, run, index, flags, filters, attack) end
  c.open(index)
  return events.call_as_run("param.run", work, run, index, filters, attack)
end

---Trains one model on the parameter server: each worker fetches all parameters of `net`, takes a batch, and pushes the
---gradients. On return `net` has the final parameters, on every worker.
---```lua
---local set = actor.data.blobs { n = 300, classes = 3, seed = 1 }
---local net = actor.nn.sequential { actor.nn.linear(2, 3, { seed = 1 }) }
---local rng = actor.rng(actor.seed, actor.id)
---actor.param.train {
---  net = net,
---  batch = function()
---    local rows = actor.data.range(1, 30)
---    for i = 0, 29 do rows.index[i] = rng:int(300) end
---    return actor.data.batch(set.x, rows), actor.data.batch(set.labels, rows)
---  end,
---  pull = actor.optim.sgd { lr = 0.1 },
---  stop = function(ctx) return ctx.updates >= 300 end,
---}
---print(net:accuracy(set.x, set.labels) > 0.9)  --> true
---```
---@param options actor.param.Train
---@return actor.param.Summary
function M.train(options) return require("actor.param_train")(M, options) end

---Trains one model in rounds: a worker makes several steps with its own copy of `net`, and pushes the difference. On
---return `net` has the final parameters, on every worker. See actor.LocalSteps.
---```lua
---local set = actor.data.blobs { n = 300, classes = 3, seed = 1 }
---local net = actor.nn.sequential { actor.nn.linear(2, 3, { seed = 1 }) }
---actor.param.local_steps {
---  net = net, steps = 10, inner = actor.optim.sgd { lr = 0.1 }, batch = function() return set.x, set.labels end,
---  outer = actor.optim.sgd { lr = 0.7, momentum = 0.9, nesterov = true },
---  stop = function(ctx) return ctx.step >= 20 end,
---}
---print(net:accuracy(set.x, set.labels) > 0.9)  --> true
---```
---@param options actor.LocalSteps
---@return actor.param.Summary
function M.local_steps(options) return require("actor.local_steps")(M, options, "param.local_steps") end

-- ---- the original names ----

local register, register_barrier, gathered = callbacks.registry("param")

---Sets the `schedule` of the run that `param.start` begins (the original name; see `param.run`).
---```lua
---actor.param.register_schedule(function(workers)
---  local tasks = {}
---  for _, id in ipairs(workers) do tasks[id] = { { "count" } } end
---  return tasks
---end)
---```
M.register_schedule = register("schedule") ---@type fun(fn: function)
---Sets the `push` of the run that `param.start` begins: `fn(id, entries)`, with the worker's id instead of ctx.
---```lua
---actor.param.register_push(function(id, entries) return { { entries[1][1], 1 } } end)
---```
M.register_push = register("push", function(fn)
  return function(ctx, entries) return fn(ctx.id, entries) end
end) ---@type fun(fn: function)
---Sets the `pull` of the run that `param.start` begins: `fn(updates)`, without ctx.
---```lua
---actor.param.register_pull(function(updates) -- {{key, value, step, id}, ...}
---  local merged = {}
---  for i, update in ipairs(updates) do merged[i] = { update[1], (actor.param.get(update[1]) or 0) + update[2] } end
---  return merged
---end)
---```
M.register_pull = register("pull", function(fn)
  return function(_, updates) return fn(updates) end
end) ---@type fun(fn: function)
---Sets the `stop` of the run that `param.start` begins.
---```lua
---actor.param.register_stop(function(ctx) return ctx.updates >= 10 end)
---```
M.register_stop = register("stop") ---@type fun(fn: function)

---Sets the `barrier` of the run that `param.start` begins. Raises when there is no such rule.
---```lua
---actor.param.register_barrier("ssp:4")
---```
---@param rule string|function|table
function M.register_barrier(rule) register_barrier(rule) end

---Runs the parameter server with the functions from the register_ calls; see `param.run`.
---```lua
---local param = actor.param
---param.register_schedule(function(workers)
---  local tasks = {}
---  for _, id in ipairs(workers) do tasks[id] = { { "job" } } end
---  return tasks
---end)
---param.register_push(function(id) return { { "done", id } } end)
---param.register_stop(function(ctx) return ctx.updates >= 4 end)
---print(param.start("asp").updates >= 4)  --> true
---```
---@param rule? string|function|table a barrier rule, instead of register_barrier's
---@return actor.param.Summary
function M.start(rule, ...) return M.run(gathered(rule, ...)) end

-- ---- values, from anywhere ----

---Fetches the value of `key` and the step of its last writer; nil for an unknown key. For an array of keys, returns an
---array of values and an array of steps in one request, with nil for unknown keys. Works before, during and after
---`run`.
---```lua
---actor.param.set("a", 1)
---actor.param.set("b", 2)
---actor.collective.barrier()
---print(actor.param.get("a"))  --> 1 0
---local values = actor.param.get { "a", "b" }
---print(values[1], values[2])  --> 1 2
---```
---@param key actor.param.Key|actor.param.Key[]
---@return any value
---@return integer|table<integer, integer>|nil step
function M.get(key) return c.get(key) end

---Sets the value of `key` on its server. Returns once the server has stored it.
---```lua
---if actor.rank == 0 then
---  actor.param.set("model", actor.tensor.ones(3))
---  print(actor.param.get("model"):sum())  --> 3
---end
---```
---@param key actor.param.Key
---@param value any nil removes the key
function M.set(key, value) c.set(key, value) end

---Fetches the names of all keys, in order.
---```lua
---if actor.rank == 0 then
---  actor.param.set("first key", 1)
---  for _, key in ipairs(actor.param.keys()) do
---    if key == "first key" then print("there it is") end  --> there it is
---  end
---end
---```
---@return actor.param.Key[]
function M.keys() return c.keys() end

---Returns the number of live workers.
---```lua
---print(actor.param.worker_num() == actor.size)  --> true
---```
---@return integer
function M.worker_num() return node.size end

---Changes the barrier rule of the current run, from the next decision on. For callbacks on shard 0 (schedule, stop,
---on_membership).
---```lua
---actor.param.run {
---  schedule = function(workers)
---    local tasks = {}
---    for _, id in ipairs(workers) do tasks[id] = { { "step" } } end
---    return tasks
---  end,
---  push = function(ctx) return { { ctx.id, ctx.step } } end,
---  barrier = "bsp",
---  stop = function(ctx)
---    if ctx.step == 5 then actor.param.set_barrier("ssp:2") end -- looser after five steps
---    return ctx.step >= 10
---  end,
---}
---```
---@param rule string|function|table
function M.set_barrier(rule)
  rules.set("barrier", rule)
end

---Changes the merge rule of the current run, from the next push on. Held pushes stay held: the new rule decides about
---them. For callbacks on shard 0 (schedule, stop, on_membership).
---```lua
---actor.param.run {
---  schedule = function(workers)
---    local tasks = {}
---    for _, id in ipairs(workers) do tasks[id] = { { "count" } } end
---    return tasks
---  end,
---  push = function() return { { "count", actor.tensor.ones(1) } } end,
---  init = function() return { count = actor.tensor.zeros(1) } end,
---  pull = actor.optim.add {}, barrier = "asp", merge = "drop:4",
---  stop = function(ctx)
---    if ctx.updates == 5 then actor.param.set_merge("all") end
---    return ctx.updates >= 10
---  end,
---}
---```
---@param rule string|function|table
function M.set_merge(rule)
  rules.set("merge", rule)
end

---For the host: the run writes a checkpoint at its next decision, on shard 0.
---@return string the target folder
function M.checkpoint_now()
  local into = rules.running() and node.flags().checkpoint
  if not into or not c.checkpoint_now() then
    error("there is nothing to write: a checkpoint needs a param.run in progress, in a run started with --checkpoint DIR", 0)
  end
  return into
end

return M
