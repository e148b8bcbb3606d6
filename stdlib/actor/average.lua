--- Asynchronous model averaging: every worker trains its own copy of a model. The copies are averaged in the
--- background, in C++, while Lua computes. No worker waits for a round: between two of its steps it adds the difference
--- between the mean and its own model at the start of the round. So it retains the progress made meanwhile, and rounds
--- do not change the sum of all models.
---
---     local handle = average.start(net.params, { sync_interval_ms = 500 })
---     for i = 1, steps do
---       handle:step(function()
---         net:loss(batch(i))
---         opt:step(net.params, net.grads)
---       end)
---     end
---     handle:abort() -- all workers: the same bits everywhere
---
--- Sources: Bagua (Gan et al., VLDB 2022), asynchronous model average, in the form that adds differences; `peers`:
--- actor.graph.
local check = require("actor.check")
local node = require("actor.c.node")
local events = require("actor.events")
local graph = require("actor.graph")
local layout = require("actor.collective.combine").layout
local tensor = require("actor.tensor")
local util = require("actor.util")
local c = require("actor.c.average")

---@class actor.average
local M = {}

---@class actor.AverageOptions
---@field sync_interval_ms? number milliseconds between the starts of two rounds, default 500; after a longer round the
---next starts at once
---@field warmup_steps? integer number of first steps that end with an average over all workers, as in synchronous
---training; default 0
---@field peers? string|actor.Graph|actor.graph.Function the partners in a round: "all" workers (default), or a graph
---(actor.graph): "ring", "pairs" ("random" is another name), "exponential", "one_peer", "base:K", "regular:D",
---"matcha:BUDGET", or a function(round, id, n) that returns the shares that a worker sends. Workers are numbered by
---rank. A round of another number of workers than the last step of rank 0 saw averages all
---@field lock? "step"|"gradient" the time that a step of two functions holds the lock. "step" (default): from the
---gradient to the end of the update. "gradient", as in the paper: the lock is released between the two functions, so a
---round may change the model there, and the gradient may belong to an older model
---@field barrier? string|function the rule that admits workers to their next step (actor.barrier; `--barrier` overrides
---it). Without a rule no worker waits for another. Rules with state shared by all workers (elastic, dssp, ...) are
---refused; with a rule, late joiners are refused, too
---@field deadline_ms? number milliseconds that a round waits for a worker in the middle of a step before it continues
---without that worker; default 5000

---@class actor.AverageStats of this worker
---@field rounds integer rounds that changed its model
---@field missed integer rounds that continued without it
---@field broken integer rounds that no worker applied, after the loss of a worker
---@field bytes integer sent to other processes by this one, in rounds of this worker
---@field steps integer number of times that it held the lock
---@field waiting number seconds that it waited for the lock
---@field copying number seconds between steps for copying and changing its model
---@field staleness integer its steps during the last round, from the copy to the change
---@field mean_staleness number the same over all rounds
---@field age integer steps since the last change
---@field distance number Euclidean norm of its difference from the mean of its partners in the last round. Each step reports
---it as "average.distance" (actor.report); with peers = "all" it is the worker's distance from the consensus

---@class actor.Averaging
---@field private raw integer
---@field private parts {key: any, tensor: actor.Tensor}[]
---@field private tensors table
---@field private where string
---@field private gate actor.StepGate|nil
---@field private apart boolean the lock is released between gradient and update
local Averaging = check.class("average:")

local graph_rounds = 64 -- in a table of a graph without a period

-- The tensors in key order, the same on all workers.
local function parts_of(tensors)
  if tensor.is_tensor(tensors) then return { { key = 1, tensor = tensors } } end
  if type(tensors) ~= "table" then check.wrong("tensors", "average.start", "tensors in a table", tensors) end
  local parts = {}
  for key, value in util.pairs(tensors) do
    if not tensor.is_tensor(value) then check.wrong(("tensors[%s]"):format(tostring(key)), "average.start", "tensor", value) end
    parts[#parts + 1] = { key = key, tensor = value }
  end
  if #parts == 0 then check.fail("bad argument 'tensors' to average.start: expected at least one tensor") end
  return parts
end

-- The name of the action, which must be the same on all workers.
local function description(parts, options)
  local list = {}
  for i, part in ipairs(parts) do list[i] = ("%s %s"):format(tostring(part.key), layout(part.tensor)) end
  local text = table.concat(list, ", ")
  if #text > 400 then
    text = ("%s, ... (%d tensors, hash %s)"):format(text:sub(1, 300), #parts, require("actor").hash(text))
  end
  return ("average.start of %s, every %g ms, %d warm-up steps, peers %s, deadline %g ms, lock %s, barrier %s"):format(text,
    options.sync_interval_ms, options.warmup_steps, options.graph and options.graph.name or "all", options.deadline_ms,
    options.lock,
    type(options.barrier) == "string" and options.barrier or type(options.barrier))
end

local function checked(options)
  local fn = "average.start"
  options = check.optional_options(options, {
    sync_interval_ms = "number?", warmup_steps = "number?", peers = "string|function|table?", deadline_ms = "number?",
    lock = "string?", barrier = "string|function|table?",
  }, fn)
  node.honour("barrier")
  local out = {
    sync_interval_ms = options.sync_interval_ms or 500, warmup_steps = options.warmup_steps or 0,
    lock = options.lock or "step", barrier = options.barrier or node.flags().barrier,
    deadline_ms = options.deadline_ms or 5000,
  }
  check.number(out.sync_interval_ms, "sync_interval_ms", fn, 0, 1e9)
  check.number(out.deadline_ms, "deadline_ms", fn, 0, 1e9)
  check.integer(out.warmup_steps, "warmup_steps", fn, 0, 2 ^ 31)
  local peers = options.peers or "all"
  if peers ~= "all" then out.graph = peers == "random" and graph.pairs(node.seed) or graph.of(peers, fn) end
  check.one_of(out.lock, { "step", "gradient" }, "lock", fn)
  return out
end

-- The rounds of a graph for `n` workers, for the C side. The table repeats, so round r is at r modulo its length.
-- Without a period it has the 64 rounds from `first` on.
local function table_of(made, n, first)
  local out, length = { workers = n }, graph.period(made, n, graph_rounds)
  for i = 0, length - 1 do
    local round, shares = made.period and i or first + (i - first) % length, {}
    for from, row in util.pairs(graph.shares(made, round, n)) do
      for to, share in util.pairs(row) do
        local at = #shares
        shares[at + 1], shares[at + 2], shares[at + 3] = from, to, share
      end
    end
    out[#out + 1] = shares
  end
  return out
end

-- Every worker checks the graph; rank 0 gives its table.
local function first_table(made)
  if not made or node.role ~= "worker" then return nil end
  if not graph.is_connected(made, node.size, graph_rounds) then
    check.fail("average.start: graph '%s' does not connect %d workers, so their models never meet", made.name, node.size)
  end
  return node.rank == 0 and table_of(made, node.size, 0) or nil
end

---Starts to average `tensors` with the tensors of all other workers, and returns once all workers have called it. Every
---worker makes the call, with tensors of the same names, types and shapes and the same options. Several averagings may
---run at a time.
---
---A worker that joins a running job takes part from the next round on. In that round it adopts the others' mean and has
---no weight itself; it has no warm-up.
---```lua
---local model = actor.tensor.zeros(4)
---local averaging = actor.average.start(model, { sync_interval_ms = 20 })
---for step = 1, 50 do
---  averaging:step(function() model:axpy_(-0.1, model - (actor.rank + 1)) end) -- a gradient step of this worker
---end
---averaging:abort() -- the same bits on every worker
---print(model:get(1) > 0)  --> true
---```
---@param tensors actor.Tensor|table<any, actor.Tensor> the model: contiguous, float32 or float64. Change it in place only, and while you hold the handle's lock; a reader without the lock may see it in the middle of a round's change
---@param options? actor.AverageOptions
---@return actor.Averaging
function M.start(tensors, options)
  local parts = parts_of(tensors)
  options = checked(options)
  local shares = first_table(options.graph)
  local index, replayed = events.enter_action(description(parts, options))
  local where = node.position()
  if node.role == "server" then return setmetatable({ where = where }, Averaging) end
  if replayed and options.barrier then check.fail("average.start: with a barrier, workers cannot join late") end
  local list, names = {}, {}
  for i, part in ipairs(parts) do list[i], names[i] = part.tensor, tostring(part.key) end
  local raw = c.start(index, replayed, list, names, {
    interval = options.sync_interval_ms / 1000, deadline = options.deadline_ms / 1000,
    warmup = options.warmup_steps, graph = options.graph ~= nil, table = shares,
  })
  if not replayed then node.finish_action(index, "") end
  local finaliser = newproxy(true) -- releases the averaging with the handle
  getmetatable(finaliser).__gc = function() c.release(raw) end
  return setmetatable({
    raw = raw, parts = parts, tensors = tensors, where = where, apart = options.lock == "gradient",
    gate = options.barrier and require("actor.collective.steps").gate(options.barrier, "average.start"),
    graph = options.graph, size = node.size, rounds = 0, table_from = 0,
    finaliser = finaliser,
  }, Averaging)
end

-- The handle's number. Raises if its model cannot be used.
local function checked_handle(self, fn)
  if not self.raw then check.fail("%s is for workers and this is a parameter server; guard with actor.role", fn) end
  if tensor.is_tensor(self.tensors) then return self.raw end
  for _, part in ipairs(self.parts) do
    if not rawequal(self.tensors[part.key], part.tensor) then
      check.fail("%s: tensor '%s' is not the tensor that average.start received at %s; change it in place, as t:copy_(other) does",
        fn, tostring(part.key), self.where)
    end
  end
  return self.raw
end

-- Before a step: reports the distance of a new round. Rank 0 gives a new table of the graph for another number of
-- workers, and for further rounds of a graph without a period.
local function follow(self)
  events.deliver()
  local rounds, distance = c.last_round(self.raw)
  local made = self.graph
  if made and (node.size ~= self.size or not made.period and rounds >= self.table_from + graph_rounds / 2) then
    self.size, self.table_from = node.size, rounds
    if node.rank == 0 then c.set_table(self.raw, table_of(made, self.size, rounds)) end
  end
  if rounds == self.rounds then return end
  self.rounds = rounds
  require("actor").report("average.distance", distance)
end

local function update_with(self, update, ...)
  if self.apart then c.pause(self.raw) end
  return update(...)
end

local function step_of_two(self, fn, update, ...) return update_with(self, update, fn(...)) end

---Calls `fn` while it holds the lock, and returns the results of `fn`. `fn` computes a gradient and updates the model
---with it: without the lock a round could change the model in between. Rounds wait for the step's end, steps do not
---wait for rounds. In the warm-up a step returns when all workers have averaged. When `fn` raises, the lock is released
---and the error is raised again. `fn` must not yield.
---
---With two functions the first computes the gradient, and `update` gets its results. Both hold the lock. With the
---option lock = "gradient" the lock is released between them, so that a round may change the model there; `update`
---holds it again, so no round sees half an update.
---```lua
---local model = { w = actor.tensor.zeros(2) }
---local averaging = actor.average.start(model)
---local loss = averaging:step(function()
---  model.w:add_(0.1)
---  return model.w:sum()
---end)
---averaging:abort()
---print(loss > 0)  --> true
---```
---@generic T
---@param fn fun(...): T
---@param update? fun(...): T
---@param ... any arguments of `fn`; for a single function the first must not be a function
---@return T
function Averaging:step(fn, update, ...)
  check.arg(fn, "function", "fn", "average.step")
  local raw = checked_handle(self, "average.step")
  if self.gate then self.gate:pass() end
  follow(self)
  if type(update) == "function" then return c.step(raw, step_of_two, self, fn, update, ...) end
  if self.apart then
    check.fail("average.step: with lock = 'gradient' it takes two functions, the gradient's and the update's; for anything else there are lock() and unlock()")
  end
  if update == nil and select("#", ...) == 0 then return c.step(raw, fn) end
  return c.step(raw, fn, update, ...)
end

---Takes the lock, for steps that are not a function: between `lock` and `unlock` no round changes the model.
---```lua
---local w = actor.tensor.zeros(2)
---local averaging = actor.average.start(w)
---averaging:lock()
---w:add_(1) -- no round changes the model here
---averaging:unlock()
---averaging:abort()
---print(w:sum())  --> 2
---```
function Averaging:lock()
  local raw = checked_handle(self, "average.lock")
  if self.gate then self.gate:pass() end
  follow(self)
  c.lock(raw)
end

---Releases the lock; the end of a step. Raises when the model contains numbers that are not finite.
function Averaging:unlock()
  if not self.raw then checked_handle(self, "average.unlock") end
  c.unlock(self.raw)
end

---Stops averaging: waits until all live workers have called it, averages over all of them whatever `peers` is, and
---leaves the same bits on each; no round changes the model after that. Every worker makes the call. A second call
---before any worker has resumed changes nothing. It does not wait for workers lost meanwhile. Raises on all workers
---when the model of one contains an infinite value or NaN.
---```lua
---local w = actor.tensor.full({ 1 }, actor.rank)
---local averaging = actor.average.start(w)
---averaging:abort()
---print(w:item() == (actor.size - 1) / 2)  --> true
---```
function Averaging:abort()
  if self.raw then
    local held = c.locked_at(self.raw)
    if held then check.fail("average.abort: within a step, or the lock, of %s", held) end
    checked_handle(self, "average.abort")
  end
  local index, replayed = events.enter_action("average.abort of the averaging of " .. self.where)
  if not self.raw then return end
  if replayed then return c.rest(self.raw) end
  if self.gate then self.gate:leave() end
  c.abort(self.raw)
  node.finish_action(index, "")
end

---Resumes after an abort; without an abort it does nothing. Each worker calls it by itself, and from the next round on
---it averages with the other resumed workers.
---```lua
---local averaging = actor.average.start(actor.tensor.zeros(2))
---averaging:abort() -- the same model on all workers: evaluate it, for example
---averaging:resume()
---averaging:abort()
---```
function Averaging:resume() c.resume(checked_handle(self, "average.resume")) end

---Returns the statistics of averaging on this worker so far.
---```lua
---local averaging = actor.average.start(actor.tensor.zeros(2))
---averaging:abort()
---print(averaging:stats().rounds >= 1)  --> true
---```
---@return actor.AverageStats
function Averaging:stats() return c.stats(checked_handle(self, "average.stats")) end

return M
