--- Applies a barrier rule of actor.barrier between the steps of collective jobs and of averaging. Each worker evaluates
--- the rule by itself. It reads the other workers' clocks from the board, a shared table in the process of rank 0 with
--- a row for each worker. One write and read of the board costs a round trip; a waiting worker reads the board
--- repeatedly. A collective within a step still waits for all workers. So a looser rule than bsp has an effect only if
--- the steps use locks, updates of shared tables, events or averaging instead.
local check = require("actor.check")
local clock = require("actor.ffi")("core")
local events = require("actor.events")
local node = require("actor.c.node")
local tables = require("actor.collective.table")
local tensor = require("actor.tensor")
local util = require("actor.util")

local M = {}

-- Columns of the board: completed steps, 1 within a step, seconds of the last step, 1 for a worker that has left.
local DONE, BUSY, SECONDS, AWAY = 1, 2, 3, 4
local FIRST_POLL, LONGEST_POLL = 2e-5, 5e-4 -- seconds until a waiting worker reads the board again, with backoff
local WARN_SECONDS = 10 -- seconds of waiting before a warning in the log

local function now() return clock.now(clock.clock) end

---@class actor.StepGate
---@field private board actor.Table
---@field private rows table<integer, integer> by id: the worker's row of the board
---@field private seen table<integer, {done: integer, busy: boolean, away: boolean}> by id: the row at the last read
local Gate = {}
Gate.__index = Gate

---Makes the board and the rule. A collective call: all workers make it. `--barrier` overrides `spec`.
---@param spec string|function|table|nil
---@param fn string the name of the public function, for errors
---@return actor.StepGate
function M.gate(spec, fn)
  local barrier = require("actor.barrier") -- here, because few jobs with collectives have a rule
  local flags = node.flags()
  node.honour("barrier", "resample")
  spec = flags.barrier or spec or "bsp"
  local rule = barrier.from(spec, { resample = flags.resample })
  local self = setmetatable({
    fn = fn, name = type(spec) == "string" and spec or rule.name or "of its own", rows = {}, seen = {},
    progress = barrier.progress(), evaluator = barrier.evaluator(rule, node.seed),
    board = tables.new { name = fn, shared = true },
  }, Gate)
  self.evaluator:forbid_shared_state()
  events.deliver()
  local ids = node.workers()
  for i, id in ipairs(ids) do
    self.rows[id], self.seen[id] = i, { done = 0, busy = false, away = false }
    self.progress:add(id)
  end
  if node.rank == 0 then self.board:set(0, tensor.zeros({ #ids, 4 }, { dtype = "float64" })) end
  local ready, message = self.board:regroup()
  if not ready then check.fail("%s: %s", fn, message) end
  return self
end

-- Reads all rows of the board. If `change` is given, it first writes this worker's row: change(rows, row). Raises if
-- the process with the board is lost.
function Gate:exchange(change)
  local all, message = self.board:update(0, function(values)
    local rows = values[0]
    if not change then
      values[0] = nil -- reads only
      return rows
    end
    change(rows, self.rows[node.id])
    return rows:clone()
  end)
  if not all then check.fail("%s: %s, which had the workers' clocks", self.fn, message) end
  self:update_workers(all)
end

-- Updates the worker's clock from its row of the board, read at the time `at`.
function Gate:update_worker(id, row, rows, at)
  local seen, progress = self.seen[id], self.progress
  local done, busy, away = rows:get(row, DONE), rows:get(row, BUSY) > 0, rows:get(row, AWAY) > 0
  if seen.away and not away then progress:unpark(id) end
  for _ = seen.done + 1, done do
    if not seen.busy then progress:start(id, at - rows:get(row, SECONDS)) end
    progress:complete(id, at)
    seen.busy = false
  end
  if busy and not seen.busy then progress:start(id, at) end
  if away and not seen.away then progress:park(id) end
  seen.done, seen.busy, seen.away = done, busy, away
end

function Gate:update_workers(rows)
  local at, live = now(), {}
  for _, id in ipairs(node.workers()) do live[id] = true end
  for id, row in util.pairs(self.rows) do
    if live[id] then
      self:update_worker(id, row, rows, at)
    else -- no worker waits for a failed worker
      self.progress:remove(id)
      self.rows[id], self.seen[id] = nil, nil
    end
  end
end

-- Whether the rule admits this worker now.
local function passes(self)
  local ok, ids = pcall(self.evaluator.poll, self.evaluator, self.progress, now())
  if not ok then check.fail("%s: %s", self.fn, ids) end
  for _, id in ipairs(ids) do
    if id == node.id then return true end
  end
  return false
end

-- The ranks with the fewest completed steps, and this number of steps, for the log.
local function slowest(self)
  local least, ranks = math.huge, {}
  for i, id in ipairs(node.workers()) do
    local seen = self.seen[id]
    if seen and not seen.away and seen.done < least then least, ranks = seen.done, {} end
    if seen and not seen.away and seen.done == least then ranks[#ranks + 1] = i - 1 end
  end
  return table.concat(ranks, ", "), least
end

---Completes this worker's current step, if any, and waits until the rule admits the worker to its next step.
function Gate:pass()
  local began = self.began
  self:exchange(function(rows, row)
    if began then
      rows:set(row, DONE, rows:get(row, DONE) + 1)
      rows:set(row, SECONDS, now() - began)
    end
    rows:set(row, BUSY, 0)
    rows:set(row, AWAY, 0)
  end)
  self.progress:request(node.id, now())
  local requested_at, pause, warned = now(), FIRST_POLL, false
  while not passes(self) do
    if not warned and now() - requested_at > WARN_SECONDS then
      warned = true
      require("actor.log").warn("%s: barrier %s holds this worker for more than 10 s; slowest: rank %s with %d steps", self.fn, self.name, slowest(self))
    end
    node.sleep(math.min(pause, math.max(0, self.progress:next_time() - now())))
    pause = math.min(2 * pause, LONGEST_POLL)
    events.deliver()
    self:exchange()
  end
  self:exchange(function(rows, row) rows:set(row, BUSY, 1) end)
  self.began = now()
end

---Completes this worker's current step, if any. The other workers do not wait for this worker until it calls `pass`
---again.
function Gate:leave()
  local began = self.began
  self.began = nil
  self:exchange(function(rows, row)
    if began then rows:set(row, DONE, rows:get(row, DONE) + 1) end
    rows:set(row, BUSY, 0)
    rows:set(row, AWAY, 1)
  end)
end

---@class actor.StepsOptions
---@field count integer number of steps of this worker
---@field from? integer number of earlier steps, in a resumed run; default 0
---@field barrier? string|function the rule that admits workers to the next step (default bsp), as in param.run;
---`--barrier` overrides it. A rule with state shared by all workers (view.shared: elastic, dssp, ...) is refused

---Iterates over this worker's steps under a barrier rule.
---
---A collective call: all workers make it. Before each step a worker waits until the rule admits it. The rule ignores
---workers that have completed all their steps, and lost workers. Do not leave the loop by `break`: the other workers
---would wait for this worker. The loop ends after `count` steps.
---```lua
---local sum = 0
---for step in actor.collective.steps { count = 3, barrier = "ssp:4" } do sum = sum + step end
---print(sum)  --> 6
---```
---@param options actor.StepsOptions
---@return fun(): integer|nil step from 1, or from + 1
function M.steps(options)
  local fn = "collective.steps"
  check.options(options, { count = "number", from = "number?", barrier = "string|function|table?" }, fn)
  check.integer(options.count, "count", fn, 0)
  check.integer(options.from or 0, "from", fn, 0)
  events.check_worker(fn)
  local gate, step = M.gate(options.barrier, fn), options.from or 0
  return function()
    if step >= options.count then
      if gate then gate:leave() end
      gate = nil
      return nil
    end
    gate:pass()
    step = step + 1
    return step
  end
end

return M
