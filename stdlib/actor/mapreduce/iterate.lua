--- `dataset:iterate`: repeats a step over each partition, under any barrier rule. A worker holds its partitions in Lua,
--- as `prepare` made them. In a round the worker gets the state, and `step` makes a contribution of the state and each
--- of its partitions. `merge` makes the next state of the newest contribution of every partition.
---
--- Under bsp all contributions belong to one round, and with the same partitions the states have the same bits for any
--- number of nodes. Under ssp:s a state may lack the other workers' results of the last s rounds. Under asp it lacks
--- all pending results (chaotic relaxation: Chazan and Miranker 1969; SSP: Ho et al., NIPS 2013).
---
--- It runs on the parameter server (actor.param): shard 0 holds the state and the contributions. The partitions of a
--- lost worker move to the others, which read the rows again or have them computed again. The next state waits for the
--- contributions of these partitions, so under bsp the result is the same as without losses.
local check = require("actor.check")
local checkpoints = require("actor.checkpoint")
local codec = require("actor.codec")
local compile = require("actor.mapreduce.compile")
local datasets = require("actor.mapreduce.dataset")
local events = require("actor.events")
local functions = require("actor.mapreduce.functions")
local node = require("actor.c.node")
local param = require("actor.param")
local rounds = require("actor.console.rounds")
local run = require("actor.mapreduce.run")
local tensor = require("actor.tensor")
local c = require("actor.c.param")

---@class actor.mapreduce.IterateContext
---@field step integer rounds completed by every partition
---@field updates integer contributions so far
---@field seconds number
---@field workers integer how many are alive
---@field state any the newest state

---@class actor.mapreduce.Iterate
---@field state any the first round's state; any value that can travel
---@field prepare? fun(rows: (fun(): any, any), partition: integer): any runs once for each partition, on the worker
---that holds it. It gets an iterator over the rows and returns the `rows` argument of `step`. Without it `step` gets an
---array of the rows, pairs as {k, v}
---@field step fun(rows: any, state: any, partition: integer, folded: any): any returns a partition's contribution
---@field fold? boolean true: a worker makes one contribution of all its partitions in a round. `step` gets the
---contribution of the previous partitions as `folded` (nil for the first), and returns it with its own added. For large
---contributions
---@field merge fun(state: any, contributions: any[]): any returns the next state, made of the newest contributions, in order of partitions; it must not change them
---@field shared? boolean true: tensors are not copied within a process. With it `step` and `merge` must not write to
---tensors that they received (except `folded`), nor in a later round to tensors that they returned
---@field steps? integer number of rounds of every partition
---@field stop? fun(ctx: actor.mapreduce.IterateContext): boolean returns true to end the iteration
---@field barrier? string|function the rule that admits workers to the next round (default bsp), as in param.run;
---`--barrier` overrides it
---@field checkpoint? {steps?: integer, seconds?: number, dir?: string}|false when to save the state: after this number
---of states or seconds (default: every 30 s, if `--checkpoint` is given), and at the end. `--resume` continues from the
---newest checkpoint, with any number of nodes and partitions. false: never

---@class actor.mapreduce.IterateSummary
---@field steps integer rounds completed by every partition
---@field updates integer contributions
---@field seconds number
---@field first? number seconds until every partition had completed a round, `prepare` included; nil without a completed
---round
---@field reason string "steps", "stop", "seconds"

-- ---- shard 0: the state, and the assignment of partitions to workers ----

---@class actor.mapreduce.Contribution
---@field value any
---@field partitions integer[] its partitions: one, or with `fold` all partitions of a worker in one round

---@class actor.mapreduce.Master
---@field state any
---@field version integer of the state: the number of merges so far
---@field newest table<integer, actor.mapreduce.Contribution> by partition
---@field rounds integer[] by partition: number of states with its contributions
---@field counted integer[] by partition: the newest version among these states
---@field seen integer[] by partition: the state version of its newest contribution
---@field given table<integer, integer> by partition: the worker that processes it now
---@field owner table<integer, integer> by partition
---@field awaited table<integer, boolean> partitions with contributions that the next state waits for
---@field workers integer[] workers that share the partitions: the initial members, and later each worker that requests
---work
---@field members table<integer, boolean> workers listed by the membership
---@field pushes table<integer, table> by worker: the table of a push, until its tensor arrives
---@field tensors table<integer, actor.Tensor> by worker: the tensor of a push, until its table arrives
---@field keeper actor.Checkpoint? saves the states
---@field uneven boolean? true: a worker has too few partitions, because the others were busy with theirs
local Master = {}
Master.__index = Master

local Context = check.strict("ctx.", "state")

local function new_master(options, partitions)
  local master = {
    options = options, partitions = partitions, state = options.state, version = 0, updates = 0, fresh = false,
    newest = {}, rounds = {}, counted = {}, seen = {}, given = {}, owner = {}, awaited = {}, lost = {}, members = {},
    workers = node.at_work(), uneven = true, pushes = {}, tensors = {},
  }
  for p = 1, partitions do
    master.rounds[p], master.counted[p], master.seen[p], master.awaited[p] = 0, -1, -1, true
  end
  return setmetatable(master, Master)
end

-- The newest contributions, in order of partitions.
function Master:contributions()
  local out = {}
  for p = 1, self.partitions do
    local newest = self.newest[p]
    if newest.partitions[1] == p then out[#out + 1] = newest.value end
  end
  return out
end

-- Makes the next state, once all of its contributions are present.
function Master:advance()
  if not self.fresh or next(self.awaited) then return end
  local merge = self.options.merge
  self.state = merge(self.state, self:contributions())
  if self.state == nil then
    check.fail("mapreduce.iterate: merge (%s) returned nothing (is a 'return' missing?)", functions.where(merge))
  end
  self.version, self.fresh = self.version + 1, false
  if self.keeper and self.keeper:due() then self:save() end
end

-- The number of rounds completed by every partition.
function Master:least()
  local least = math.huge
  for p = 1, self.partitions do least = math.min(least, self.rounds[p]) end
  return least
end

function Master:save()
  self.keeper:write { { state = self.state, version = self.version, rounds = self:least(), updates = self.updates } }
end

-- Continues from a saved state, in a resumed run.
function Master:resume()
  local saved = self.keeper:read()
  if not saved then return end
  saved = saved[1]
  self.state, self.version, self.updates = saved.state, saved.version, saved.updates
  for p = 1, self.partitions do self.rounds[p] = saved.rounds end
end

-- Drops a contribution after newer contributions for some of its partitions; the rest cannot be separated from these.
function Master:drop(contribution)
  for _, p in ipairs(contribution.partitions) do
    if self.newest[p] == contribution then
      self.newest[p], self.seen[p], self.awaited[p] = nil, -1, true
    end
  end
end

---Stores a worker's contribution, made from these partitions and this version of the state.
---@param id integer
---@param version integer
---@param partitions integer[]
---@param value any
function Master:take(id, version, partitions, value)
  local contribution = { value = value, partitions = partitions }
  local before = {}
  for _, p in ipairs(partitions) do
    before[#before + 1] = self.newest[p]
    self.newest[p], self.seen[p], self.awaited[p] = contribution, version, nil
    if self.counted[p] ~= version then self.rounds[p], self.counted[p] = self.rounds[p] + 1, version end
    if self.given[p] == id then self.given[p] = nil end
  end
  for _, each in ipairs(before) do self:drop(each) end
  self.updates = self.updates + #partitions
  self.fresh = true
end

-- Removes a lost worker. Its contributions to the newest state count; the other workers supply the missing
-- contributions.
function Master:remove_worker(id)
  self.lost[id], self.uneven = true, true
  self.pushes[id], self.tensors[id] = nil, nil
  for p = 1, self.partitions do
    if self.given[p] == id then self.given[p] = nil end
    if self.owner[p] == id then
      self.owner[p] = nil
      if self.seen[p] ~= self.version then self.awaited[p] = true end
    end
  end
end

---Receives an update of one of the keys. A push with a separate tensor arrives as two updates.
---@param id integer the worker
---@param key string
---@param value any
function Master:receive(id, key, value)
  if key == self.keys.tensor then self.tensors[id] = value else self.pushes[id] = value end
  local push = self.pushes[id]
  if not push or (push.beside and not self.tensors[id]) then return end
  if push.beside then push.made[1].value = self.tensors[id] end
  self.pushes[id], self.tensors[id] = nil, nil
  for _, made in ipairs(push.made) do self:take(id, push.version, made.partitions, made.value) end
end

local function fewest(counts, ids)
  local best = ids[1]
  for _, id in ipairs(ids) do
    if counts[id] < counts[best] then best = id end
  end
  return best
end

-- Balances the partitions. Partitions without an owner move to the workers with the fewest. Then workers with the most
-- partitions give some away, except partitions in progress; for these it retries later.
function Master:share()
  local counts, ids = {}, self.workers
  for _, id in ipairs(ids) do counts[id] = 0 end
  for p = 1, self.partitions do
    local id = self.owner[p]
    if id then counts[id] = counts[id] + 1 end
  end
  for p = 1, self.partitions do
    if not self.owner[p] then
      local id = fewest(counts, ids)
      self.owner[p], counts[id] = id, counts[id] + 1
    end
  end
  self.uneven = false
  for p = self.partitions, 1, -1 do
    local from, to = self.owner[p], fewest(counts, ids)
    if counts[from] > counts[to] + 1 then
      if self.given[p] then
        self.uneven = true
      else
        self.owner[p], counts[from], counts[to] = to, counts[from] - 1, counts[to] + 1
      end
    end
  end
end

-- Updates the list of live workers. A late worker counts from its first request on, which may precede its entry in the
-- membership.
function Master:update_workers(requesters)
  local members, listed, ids = {}, {}, {}
  for _, id in ipairs(node.workers()) do members[id] = true end
  for _, id in ipairs(self.workers) do
    if self.members[id] and not members[id] then self:remove_worker(id) end
    self.members[id] = members[id]
  end
  local function add(id)
    if self.lost[id] or listed[id] then return end
    listed[id], ids[#ids + 1] = true, id
  end
  for _, id in ipairs(self.workers) do add(id) end
  for _, id in ipairs(requesters) do add(id) end
  table.sort(ids)
  if #ids > #self.workers then self.uneven = true end
  self.workers = ids
  if self.uneven and #ids > 0 then self:share() end
end

-- Assigns to each of these workers its own partitions that have not seen the newest state.
function Master:schedule(requesters)
  self:advance()
  self:update_workers(requesters)
  local parts, tasks = {}, {}
  for _, id in ipairs(requesters) do parts[id] = {} end
  for p = 1, self.partitions do
    local mine = parts[self.owner[p]]
    if mine and self.seen[p] ~= self.version and not self.given[p] then
      mine[#mine + 1] = p
      self.given[p] = self.owner[p]
    end
  end
  for _, id in ipairs(requesters) do
    local partitions = parts[id]
    if #partitions > 0 then
      tasks[id] = { { "parts", { keys = self.keys, version = self.version, partitions = partitions } }, { "state", self.state } }
    end
  end
  return tasks
end

-- Returns the reason to end the iteration now; nil to continue.
function Master:reason(ctx)
  self:advance()
  local options, least = self.options, self:least()
  self.steps, self.seconds = least, ctx.seconds
  if least > 0 and not self.first then self.first = ctx.seconds end
  if options.steps and least >= options.steps and not self.fresh then return "steps" end
  if options.seconds and ctx.seconds >= options.seconds then return "seconds" end
  if not options.stop then return nil end
  local stop = options.stop(setmetatable({
    step = least, updates = self.updates, seconds = ctx.seconds, workers = ctx.workers, state = self.state,
  }, Context))
  if type(stop) ~= "boolean" then
    check.fail("mapreduce.iterate: stop (%s) returned %s, expected a boolean%s", functions.where(options.stop), type(stop),
      stop == nil and " (is a 'return' missing?)" or "")
  end
  return stop and "stop" or nil
end

-- ---- a worker: its partitions ----

local function array_of(rows)
  local out, n = {}, 0
  for a, b in rows do
    n = n + 1
    out[n] = compile.as_value(a, b)
  end
  return out
end

-- Returns a function that makes the contributions of some partitions; `where` is the script's line.
local function worker(options, held, where)
  local open = compile.iterator({}, nil, nil, {})
  local prepared, partition = {}, nil
  local function explain(message)
    return debug.traceback(("iterate (%s), partition %d: %s"):format(where, partition, tostring(message)), 2)
  end
  local function contribution(p, state, folded)
    if prepared[p] == nil then
      local value
      if p > held.partitions then -- the dataset has no partitions
        value = options.prepare(function() return nil end, p)
      else
        value = held.read(p, function(source) return options.prepare(open(source, p), p) end)
      end
      if value == nil then
        error(("prepare (%s) returned nothing (is a 'return' missing?)"):format(functions.where(options.prepare) or "C"), 0)
      end
      prepared[p] = value
    end
    local value = options.step(prepared[p], state, p, folded)
    if value == nil then
      error(("step (%s) returned nothing (is a 'return' missing?)"):format(functions.where(options.step)), 0)
    end
    return value
  end
  local function explained(p, state, folded)
    partition = p
    local ok, value = xpcall(contribution, explain, p, state, folded)
    if not ok then error(value, 0) end
    return value
  end
  return function(partitions, state)
    local made, folded = {}, nil
    for i, p in ipairs(partitions) do
      folded = explained(p, state, folded)
      if not options.fold then made[i], folded = { partitions = { p }, value = folded }, nil end
    end
    return options.fold and { { partitions = partitions, value = folded } } or made
  end
end

-- ---- both ----

local kinds = {
  state = "any", prepare = "function?", step = "function", merge = "function", steps = "number?", stop = "function?",
  barrier = "string|function|table?", fold = "boolean?", shared = "boolean?", checkpoint = "table|boolean?",
}

local function checked(options)
  check.options(options, kinds, "mapreduce.iterate")
  local travels, why = pcall(codec.encode, options.state)
  if not travels then check.fail("mapreduce.iterate: state cannot travel: %s", tostring(why):gsub("^[^:]*:%d+: ", "")) end
  if options.steps then check.integer(options.steps, "steps", "mapreduce.iterate", 0, 2 ^ 53) end
  if options.checkpoint == true then check.fail("mapreduce.iterate: checkpoint is a table with steps=, seconds= or dir=, or false") end
  if options.checkpoint then
    check.options(options.checkpoint, { steps = "number?", seconds = "number?", dir = "string?" }, "mapreduce.iterate, checkpoint")
  end
  local seconds = node.flags().seconds
  node.honour("seconds")
  if not options.steps and not options.stop and not seconds then
    check.fail("mapreduce.iterate: without steps= or stop= (or --seconds on the command line) it would never end")
  end
  local freeze = functions.freeze
  return {
    state = options.state, prepare = options.prepare and freeze(options.prepare) or array_of, step = freeze(options.step),
    merge = freeze(options.merge), steps = options.steps, stop = options.stop, seconds = seconds, barrier = options.barrier,
    fold = options.fold, shared = options.shared, checkpoint = options.checkpoint,
  }
end

-- Keys that shard 0 owns, so that contributions reach the VM that makes the states: one for the contributions, one for
-- a separate tensor.
local function keys_of_shard_0()
  local keys, i = {}, 0
  while #keys < 2 do
    i = i + 1
    local key = "mapreduce.iterate/" .. i
    if c.owner(key) == 0 then keys[#keys + 1] = key end
  end
  return { made = keys[1], tensor = keys[2] }
end

-- Makes a push. A single tensor is sent as a separate update, which avoids a copy of it.
local function pushed(keys, version, made)
  local beside = #made == 1 and tensor.is_tensor(made[1].value) and made[1].value or nil
  if beside then made[1].value = nil end
  return { { keys.made, { version = version, made = made, beside = beside ~= nil } }, beside and { keys.tensor, beside } }
end

-- The result is a separate action. Shard 0 records it before it notifies the workers of the end of the run, so the
-- workers find the action completed.
local RESULT = "mapreduce.iterate.result"

local count = 0 -- number of calls of iterate, the same in every run of a script; each call has its own checkpoint

local function record(master, reason)
  if master.keeper and master.keeper.dir then
    master:save() -- a later resumed run finds the iteration completed
    master.keeper:finish()
  end
  local summary = { steps = master.steps, updates = master.updates, seconds = master.seconds, first = master.first, reason = reason }
  local index = events.enter_action(RESULT)
  node.finish_action(index, compile.to_bytes({ state = master.state, summary = summary }))
end

---Repeats `step` on each partition and `merge` on their contributions until `steps`, `stop` or --seconds ends the
---iteration. Returns the last state, on all nodes. A worker that joins late takes over some partitions.
---```lua
---local state = actor.mapreduce.range(1, 100):iterate {
---  state = 0,
---  step = function(rows, state) -- the contribution of a partition to the next state
---    local sum = 0
---    for _, n in ipairs(rows) do sum = sum + n end
---    return sum
---  end,
---  merge = function(state, contributions)
---    local sum = 0
---    for _, part in ipairs(contributions) do sum = sum + part end
---    return sum
---  end,
---  steps = 3,
---}
---print(state)  --> 5050
---```
---@param options actor.mapreduce.Iterate
---@return any state
---@return actor.mapreduce.IterateSummary
function datasets.Dataset:iterate(options)
  datasets.check(self, "iterate")
  options = checked(options)
  local held = run.hold(self, "iterate", {
    kind = "rows", fn = options.step, merge = options.merge, prepare = options.prepare, stop = options.stop,
    signature = codec.hash({ options.state, options.steps or false, options.fold or false }),
  })
  local where = node.position()
  local made_of = worker(options, held, where)
  count = rounds.after(count)
  local master
  if node.role == "server" and node.shard == 0 then
    master = new_master(options, math.max(1, held.partitions))
    master.keys = keys_of_shard_0()
    if options.checkpoint ~= false then
      local plan = options.checkpoint or {}
      master.keeper = checkpoints.new { name = "iterate-" .. count, steps = plan.steps, seconds = plan.seconds, dir = plan.dir }
      master:resume()
    end
  end
  param.run {
    barrier = options.barrier,
    seconds = false,
    shared = options.shared,
    checkpoint = false, -- the master saves the state, which is not in the store
    schedule = function(ids) return master:schedule(ids) end,
    push = function(_, entries)
      local parts, state = entries[1][2], entries[2][2]
      return pushed(parts.keys, parts.version, made_of(parts.partitions, state))
    end,
    pull = function(_, updates)
      for _, update in ipairs(updates) do master:receive(update[4], update[1], update[2]) end
      return {}
    end,
    lost = function(id) master:remove_worker(id) end,
    stop = function(ctx)
      local reason = master:reason(ctx)
      if reason then record(master, reason) end
      return reason ~= nil
    end,
  }
  held.release()
  local _, _, bytes = events.enter_action(RESULT)
  local result = compile.from_bytes(bytes)
  return result.state, result.summary
end
